import type { NewLog, ProspectChange } from '../../core/ports/activities.ts'
import type { Timestamp } from '../../core/ports/world.ts'
import type { Outbox } from './events.ts'
import { indexBy, tableOf } from './table.ts'

/** A prospect or a tombstone. */
export type KeptProspect = ProspectChange & {
  readonly erasedAt: Timestamp | null
  readonly blockedUntil: Timestamp | null
}

export type People = ReturnType<typeof memoryPeople>

/** Prospects and their logs. */
export const memoryPeople = (outbox: Outbox) => ({
  outbox,
  prospects: outbox.own(
    'prospects',
    tableOf({
      byId: indexBy<KeptProspect>(['tenantId'], ['prospectId']),
      byEmail: indexBy<KeptProspect>(['tenantId', 'emailHash']),
    }),
  ),
  logs: outbox.own(
    'prospect_logs',
    tableOf({
      byId: indexBy<NewLog>(['tenantId'], ['prospectLogId']),
      byKey: indexBy<NewLog>(['tenantId', 'source', 'idempotencyKey']),
      timelines: indexBy<NewLog>(['tenantId', 'prospectId'], ['occurredAt', 'prospectLogId']),
    }),
  ),
})
