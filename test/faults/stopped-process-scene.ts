import { join } from 'node:path'
import type { Test } from 'tap'
import { placeOf } from '../support/place.ts'
import {
  caller,
  type DatabaseKind,
  type Environment,
  type Program,
  seed,
  startServer,
  until,
} from '../support/program.ts'
import { faultsRandom } from '../support/random.ts'
import { startHoldingProxy } from './holding-proxy.ts'
import { startReceiver } from './webhook-receiver.ts'

/** So many people are erased, so many merged, each into another survivor, and so many corrected. */
export const PEOPLE = 60
type Group = 'erased' | 'merged' | 'survivor' | 'corrected'
/** The prospect ids of each group. */
type People = Readonly<Record<Group, readonly string[]>>
type Server = Program & { readonly call: ReturnType<typeof caller> }
export type Scene = Awaited<ReturnType<typeof setUp>>

export const emailOf = (group: Group, number: number): string => `${group}-${number}@x.org`

/**
 * Servers on one database: `frozen`, which will be stopped, and `running`, which goes on. On PostgreSQL there is a third
 * one, `proxied`, whose statements the `proxy` will hold back.
 */
export const setUp = async (t: Test, kind: DatabaseKind) => {
  const random = faultsRandom(t)
  const { env: databaseEnv, rows } = await kind.open(t)
  const env = { ...databaseEnv, EVENTS: 'on', WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' }
  const { apiKey, pageGroupId } = await seed(env)
  const start = async (more: Environment = {}): Promise<Server> => {
    const server = await startServer(t, { ...env, ...more })
    return { ...server, call: caller(server.url, apiKey) }
  }

  const frozen = await start()
  const running = await start()
  const servers = [frozen, running]
  /** The servers that stand still for a while. */
  const overtaken = [frozen]
  const databaseUrl = databaseEnv['DATABASE_URL'] ?? ''
  const proxy = kind.name === 'postgres' ? await startHoldingProxy(t, socketOf(databaseUrl)) : null
  if (proxy !== null) {
    const { pathname } = new URL(databaseUrl)
    const proxied = await start({ DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}${pathname}` })
    servers.push(proxied)
    overtaken.push(proxied)
  }

  const receiver = await startReceiver(t)
  await running.call('POST', '/v0/webhook_endpoints', { url: receiver.url })
  const hook = { source: 'vendor', verify: { token: true }, map: { email: ['/email'] } }
  const { body: createdHook } = await running.call('POST', '/v0/hooks', hook)
  return {
    kind,
    random,
    rows,
    frozen,
    running,
    proxy,
    servers,
    overtaken,
    receiver,
    people: await createPeople(running),
    pagesPath: `/v0/page_groups/${pageGroupId}/pages`,
    hookPath: String(createdHook.path),
  }
}

const socketOf = (databaseUrl: string): string => join(placeOf(databaseUrl).folder, '.s.PGSQL.5432')

const createPeople = async ({ call }: Server): Promise<People> => {
  const createGroup = (group: Group): Promise<string[]> => {
    const created = Array.from({ length: PEOPLE }, (_, i) => {
      const person = { email: emailOf(group, i), name: `Secret ${i}` }
      // A busy server may refuse a request for the moment.
      const create = async (): Promise<string | undefined> =>
        (await call('POST', '/v0/prospects', person)).body.prospectId
      return until('the person is created', create)
    })
    return Promise.all(created)
  }
  return {
    erased: await createGroup('erased'),
    merged: await createGroup('merged'),
    survivor: await createGroup('survivor'),
    corrected: await createGroup('corrected'),
  }
}

type LoggedFor = { readonly group: Group; readonly number: number }
type Unavailable = { readonly server: string; readonly detail: string }

/** Traffic for the servers that will stand still: everything that could bring an erased or merged person back. */
export const startTraffic = ({ overtaken, people, pagesPath, hookPath, random }: Scene) => {
  /** For whom each acknowledged activity was logged, by the id of the activity. */
  const acknowledged = new Map<string, LoggedFor>()
  const statuses: Record<number, number> = {}
  const unavailable: Unavailable[] = []
  let isOver = false
  let activitiesSent = 0

  const newActivity = (person: object) => ({ source: 's', payload: { n: ++activitiesSent }, ...person })
  const logForPerson = async ({ url, call }: Server, loggedFor: LoggedFor, person: object) => {
    while (!isOver) {
      const answer = await call('POST', '/v0/prospect_logs', newActivity(person)).catch(() => null)
      const status = answer?.status ?? 0
      statuses[status] = (statuses[status] ?? 0) + 1
      if (status === 201) acknowledged.set(answer?.body.prospectLogId, loggedFor)
      if (status === 503) unavailable.push({ server: url, detail: String(answer?.body.detail) })
    }
  }
  const logForEveryone = (server: Server): Promise<void>[] => {
    const callers: Promise<void>[] = []
    for (const group of ['erased', 'merged', 'corrected'] as const)
      for (const [number, prospectId] of people[group].entries()) {
        const isById = group !== 'corrected' && number % 2 === 0
        const person = isById ? { prospectId } : { email: emailOf(group, number) }
        callers.push(logForPerson(server, { group, number }, person))
      }
    return callers
  }

  /** Repeats a call whose answer does not matter. */
  const repeat = async (send: () => Promise<unknown>) => {
    while (!isOver) await send().catch(() => {})
  }
  const anyErasedEmail = () => emailOf('erased', random.below(PEOPLE))
  const bringBackErased = ({ url, call }: Server): Promise<void>[] => {
    const create = () => call('POST', '/v0/prospects', { email: anyErasedEmail(), name: 'Again' })
    const logBatch = () => {
      const items = people.erased.map((_, i) => newActivity({ email: emailOf('erased', i) }))
      return call('POST', '/v0/prospect_logs/batch', { items })
    }
    const deliver = () =>
      fetch(url + hookPath, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: anyErasedEmail() }),
      })
    return [repeat(create), repeat(logBatch), repeat(deliver)]
  }
  const createPages = ({ call }: Server) => repeat(() => call('POST', pagesPath, { customName: 'A page' }))

  const callers = overtaken.flatMap((server) => [
    ...logForEveryone(server),
    ...bringBackErased(server),
    createPages(server),
  ])
  return {
    acknowledged,
    statuses,
    unavailable,
    /** Sends nothing new. Calls in flight go on. */
    stop: (): void => {
      isOver = true
    },
    /** Resolves once every call in flight has ended. */
    ended: async (): Promise<void> => {
      await Promise.all(callers)
    },
  }
}
