import t from 'tap'
import { createOutbox } from '../../../src/adapters/postgres/outbox.ts'
import { postgresProspectLogs } from '../../../src/adapters/postgres/prospect-logs.ts'
import { postgresProspects } from '../../../src/adapters/postgres/prospects.ts'
import type { Query } from '../../../src/adapters/postgres/sql.ts'
import { unavailable } from '../../../src/core/engine/failures.ts'

const away = unavailable('The database cannot answer now.')
/** Finds nothing, and cannot answer for one tenant. */
const query: Query = (tenantId) => async () => {
  if (tenantId === 'slow') throw away
  return []
}

t.test('a tenant whose statement fails fails no other tenant that is read with it', async (t) => {
  const wants = ['slow', 'other'].map((tenantId) => ({
    tenantId,
    prospectId: 'prospect',
    limit: 5,
    source: null,
    type: null,
    since: null,
    before: null,
    fromId: null,
    beforeId: null,
    idempotencyKey: null,
  }))
  const logs = postgresProspectLogs(query)
  const nothing = { rows: [], resume: null }
  t.strictSame(await logs.list(wants), [away, nothing])
  t.strictSame(await logs.timeline(wants), [away, 'prospect_not_found'])
  const prospects = postgresProspects(
    query,
    createOutbox(false, () => {}),
  )
  for (const identifier of [null, { kind: 'email', hash: 'hash' } as const])
    t.strictSame(await prospects.list(wants.map((want) => ({ ...want, identifier }))), [away, nothing])
})
