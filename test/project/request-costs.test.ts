import t from 'tap'
import { databaseKinds, seed } from '../support/program.ts'
import { type Case, requestCosts } from '../support/request-costs.ts'

/** Promises and statements of one request, from its arrival to its answer. They get fewer, not more. */
const MOST: Readonly<Record<string, Partial<Record<Case, readonly [promises: number, statements: number]>>>> =
  {
    postgres: {
      'log, known': [37, 1],
      'log, new': [37, 1],
      'create a page': [41, 1],
      groups: [30, 1],
      'read a page': [28, 1],
    },
    sqlite: {
      'log, known': [27, 7],
      'log, new': [27, 11],
      'create a page': [33, 9],
      groups: [17, 1],
      'read a page': [15, 5],
    },
  }
const skip = process.versions.node.startsWith('24.') ? false : 'Other versions of Node count differently'

for (const kind of databaseKinds())
  t.test(`what a request costs, on ${kind.name}`, { skip: skip || (kind.skip ?? false) }, async (t) => {
    t.teardown(kind.end)
    const { env } = await kind.open(t)
    const { apiKey } = await seed(env)
    const most = MOST[kind.name] ?? {}
    const cases = Object.keys(most) as Case[]
    const costs = await requestCosts(t, { env: { ...env, COUNTS_PROMISES: '1' }, apiKey, cases })
    for (const [name, { promises, statements }] of costs) {
      const [promisesMax = 0, statementsMax = 0] = most[name] ?? []
      t.comment(`${name}: ${promises} promises, ${statements} statements`)
      t.ok(promises <= promisesMax && statements <= statementsMax, name, { promises, statements })
    }
  })
