import t from 'tap'
import { askByNode } from '../../../src/adapters/postgres/by-node.ts'
import type { Ask } from '../../../src/adapters/postgres/connect.ts'
import { ALL_TENANTS, queryOver } from '../../../src/adapters/postgres/sql.ts'
import { NO_ANSWER_IN_TIME } from '../../../src/adapters/postgres/with-timeout.ts'
import { unavailable } from '../../../src/core/engine/failures.ts'
import { noOf } from '../../core/scene.ts'

const SETTINGS = {
  url: '',
  connectionsMax: 10,
  statementMsMax: 5_000,
  lockMsMax: 2_000,
  waitingMax: 1_000,
  waitMsMax: 1,
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Two machines, of which the second one is silent: tenants named `silent …` live there. */
const setting = () => {
  const silent: PromiseWithResolvers<never>[] = []
  const answered: string[] = []
  const ask: Ask = async (statement) => {
    const sent = { text: '', parameters: [] as readonly unknown[] }
    const unsafe = (text: string, parameters: readonly unknown[]) => Object.assign(sent, { text, parameters })
    statement({ unsafe } as never)
    const [tenantId] = sent.parameters.map(String)
    if (sent.text.includes('pg_dist_placement'))
      return [{ node: tenantId?.startsWith('silent') ? 2 : 1 }] as never
    if (tenantId === undefined || tenantId.startsWith('silent')) {
      const never = Promise.withResolvers<never>()
      silent.push(never)
      return never.promise
    }
    answered.push(tenantId)
    return [] as never
  }
  const query = queryOver(askByNode(ask, SETTINGS))
  return {
    silent,
    answered,
    /** Every statement that has no answer yet is given up. */
    giveUp: () => {
      for (const { reject } of silent.splice(0)) reject(unavailable(NO_ANSWER_IN_TIME))
    },
    read: (tenantId: string) => query(tenantId)`select 1 from pages where tenant_id = ${tenantId}`,
    readAll: () => query(ALL_TENANTS)`select 1 from pages`,
  }
}

t.test('a machine that is silent leaves a fifth of the connections to others', async (t) => {
  const { silent, answered, read, readAll } = setting()
  for (let n = 0; n < 20; n++) read(`silent ${n % 3}`).catch(() => {})
  for (let n = 0; n < 5; n++) readAll().catch(() => {})
  await settled()
  t.equal(silent.length, 8)
  await read('other')
  t.strictSame(answered, ['other'])
})

t.test('once it was silent, only one statement at a time tries it', async (t) => {
  const { silent, giveUp, read } = setting()
  const first = read('silent').catch((error) => error.message)
  await settled()
  giveUp()
  t.equal(await first, NO_ANSWER_IN_TIME)
  void read('silent')
  await settled()
  t.match(await noOf(read('silent')), { kind: 'unavailable' })
  t.equal(silent.length, 1)
})
