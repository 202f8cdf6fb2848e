import t from 'tap'
import { createOutbox } from '../../../src/adapters/postgres/outbox.ts'
import { postgresProspectLogs } from '../../../src/adapters/postgres/prospect-logs.ts'
import { postgresProspects } from '../../../src/adapters/postgres/prospects.ts'
import type { Query } from '../../../src/adapters/postgres/sql.ts'
import { createTogether } from '../../../src/adapters/stores/together.ts'
import { unavailable } from '../../../src/core/engine/failures.ts'

const together = createTogether({ listsInFlightMax: 2 })
const away = unavailable('The database cannot answer now.')
/** Finds nothing, and cannot answer for one tenant. */
const query: Query = (tenantId) => async () => {
  if (tenantId === 'unavailable') throw away
  return []
}

t.test(
  'a list that fails for one tenant does not fail for another that is read at the same time',
  async (t) => {
    const queries = ['unavailable', 'other'].map((tenantId) => ({
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
    const logs = postgresProspectLogs(query, together)
    const nothing = { rows: [], resume: null }
    const resultsOf = (read: (query: (typeof queries)[number]) => Promise<unknown>) =>
      Promise.all(queries.map((query) => read(query).catch((error: unknown) => error)))
    t.strictSame(await resultsOf(logs.list), [away, nothing])
    t.strictSame(await resultsOf(logs.timeline), [away, 'prospect_not_found'])
    const outbox = createOutbox(false, () => {})
    const prospects = postgresProspects(query, outbox, together)
    for (const identifier of [null, { kind: 'email', hash: 'hash' } as const])
      t.strictSame(await resultsOf((query) => prospects.list({ ...query, identifier })), [away, nothing])
  },
)
