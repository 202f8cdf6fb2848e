import type { NewLog, ProspectChange } from '../../core/ports/activities.ts'
import type { KnownProspect } from '../../core/ports/prospects.ts'
import type { Timestamp } from '../../core/ports/world.ts'
import { nameKeysOf } from '../../core/prospects/search-keys.ts'
import type { newMergeRow } from '../stores/people-rows.ts'
import type { Outbox } from './events.ts'
import { indexBy, tableOf } from './table.ts'

/** A prospect or a tombstone. */
export type KeptProspect = ProspectChange & {
  readonly erasedAt: Timestamp | null
  readonly blockedUntil: Timestamp | null
  readonly mergedInto: string | null
}

type KeptMerge = ReturnType<typeof newMergeRow>

export type People = ReturnType<typeof memoryPeople>

/** Whether a prospect is unchanged, along with all prospects that were merged into it. */
export const isUnchanged = (now: KeptProspect | undefined, before: KnownProspect): boolean =>
  (['erasedAt', 'mergedInto', 'updatedAt', 'emailHash', 'externalIdHash', 'name'] as const).every(
    (name) => now?.[name] === before[name],
  )

/** Rows are never changed in place, so what is computed from one is kept. */
const starts = new WeakMap<KeptProspect, ReturnType<typeof nameKeysOf>>()
const startsOf = (row: KeptProspect) => {
  const keys = starts.get(row) ?? nameKeysOf(row.name)
  starts.set(row, keys)
  return { email: row.email, ...keys }
}
/** Places in the order of these texts: the id makes each a different one. */
const startOf = (name: keyof ReturnType<typeof startsOf>) => (row: KeptProspect) => {
  const start = startsOf(row)[name]
  return start === null ? '' : `${start}\0${row.prospectId}`
}

/** Prospects and their logs. */
export const memoryPeople = (outbox: Outbox) => ({
  outbox,
  prospects: outbox.own(
    'prospects',
    tableOf({
      byId: indexBy<KeptProspect>(['tenantId'], ['prospectId']),
      byEmail: indexBy<KeptProspect>(['tenantId', 'emailHash']),
      byMergedInto: indexBy<KeptProspect>(['tenantId', 'mergedInto'], ['prospectId']),
      byExternalId: indexBy<KeptProspect>(['tenantId', 'externalIdHash']),
      byEmailStart: indexBy(['tenantId'], startOf('email')),
      byNameStart: indexBy(['tenantId'], startOf('nameKey')),
      byLastNameStart: indexBy(['tenantId'], startOf('lastNameKey')),
    }),
  ),
  merges: outbox.own(
    'merges',
    tableOf({
      byId: indexBy<KeptMerge>(['tenantId'], ['mergeId']),
      byStatus: indexBy<KeptMerge>(['status'], ['mergeId']),
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
