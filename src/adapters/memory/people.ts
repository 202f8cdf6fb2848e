import type { NewLog, StoredProspect } from '../../core/ports/activities.ts'
import type { CountedTenant } from '../../core/ports/counts.ts'
import type { Identifier, IdentifierKind, StoredIdentifier } from '../../core/ports/identifiers.ts'
import type { FoundProspect } from '../../core/ports/prospects.ts'
import type { Timestamp } from '../../core/ports/world.ts'
import { nameKeysOf } from '../../core/prospects/search-keys.ts'
import type { newMergeRow } from '../stores/people-rows.ts'
import type { Outbox } from './events.ts'
import { indexBy, tableOf } from './table.ts'

/** An identifier that leads to a prospect, or a placeholder of its tenant, with its text; or a blocked one, without. */
export type KeptIdentifier = Omit<StoredIdentifier, 'kind'> & {
  readonly kind: IdentifierKind | 'emailDomain'
  readonly value: string | null
}
/** An identifier that a prospect had. */
type FormerIdentifier = Identifier & {
  readonly prospectId: string
  readonly value: string | null
  readonly releasedAt: Timestamp
}
type KeptMerge = ReturnType<typeof newMergeRow>
type KeptCount = Omit<CountedTenant, 'nextId'> & { readonly tenantId: string }

export type People = ReturnType<typeof memoryPeople>

/**
 * Whether a prospect is unchanged. A merge into it would have changed its `updatedAt`, so the prospects that were
 * merged into it are the same, too.
 */
export const isUnchanged = (now: FoundProspect | undefined, before: StoredProspect): boolean =>
  (['erasedAt', 'mergedInto', 'updatedAt', 'email', 'externalId', 'name'] as const).every(
    (name) => now?.[name] === before[name],
  )

export const isLiving = ({ erasedAt, mergedInto }: FoundProspect): boolean =>
  erasedAt === null && mergedInto === null

/** Whether an identifier is a placeholder of its tenant. */
export const isOfNoOne = ({ prospectId, value }: KeptIdentifier): boolean =>
  prospectId === null && value !== null

/** Rows are never changed in place, so what is computed from one is kept. */
const starts = new WeakMap<FoundProspect, ReturnType<typeof nameKeysOf>>()
const startsOf = (row: FoundProspect) => {
  const keys = starts.get(row) ?? nameKeysOf(row.name)
  starts.set(row, keys)
  return { email: row.email, ...keys }
}
/** Places in the order of these texts: the id makes each a different one. */
const startOf = (name: keyof ReturnType<typeof startsOf>) => (row: FoundProspect) => {
  const start = startsOf(row)[name]
  return start === null ? '' : `${start}\0${row.prospectId}`
}

/** Places in the order of scopes; never empty. */
export const placeOfScope = ({ keyScope }: Pick<NewLog, 'keyScope'>): string => `=${keyScope}`

/** Prospects, what identifies them, and their logs. */
export const memoryPeople = (outbox: Outbox) => ({
  outbox,
  prospects: outbox.registerTable(
    'prospects',
    tableOf({
      byId: indexBy<FoundProspect>(['tenantId'], ['prospectId']),
      byMergedInto: indexBy<FoundProspect>(['tenantId', 'mergedInto'], ['prospectId']),
      byEmailStart: indexBy(['tenantId'], startOf('email')),
      byNameStart: indexBy(['tenantId'], startOf('nameKey')),
      byLastNameStart: indexBy(['tenantId'], startOf('lastNameKey')),
    }),
  ),
  identifiers: outbox.registerTable(
    'identifiers',
    tableOf({
      byHash: indexBy<KeptIdentifier>(['tenantId', 'kind', 'hash']),
      byProspect: indexBy<KeptIdentifier>(['tenantId', 'prospectId'], ['kind', 'hash']),
      byErasure: indexBy<KeptIdentifier>(['tenantId', 'erasureId'], ['kind', 'hash']),
      byBlockedUntil: indexBy<KeptIdentifier>(['tenantId'], ['blockedUntil', 'kind', 'hash']),
    }),
  ),
  formerIdentifiers: outbox.registerTable(
    'former_identifiers',
    tableOf({
      byProspect: indexBy<FormerIdentifier>(['tenantId', 'prospectId'], ['kind', 'hash']),
      byRelease: indexBy<FormerIdentifier>(['tenantId', 'prospectId', 'kind'], ['releasedAt', 'hash']),
      byHash: indexBy<FormerIdentifier>(['tenantId', 'kind', 'hash'], ['releasedAt', 'prospectId']),
    }),
  ),
  merges: outbox.registerTable(
    'merges',
    tableOf({
      byId: indexBy<KeptMerge>(['tenantId'], ['mergeId']),
      byStatus: indexBy<KeptMerge>(['status'], ['mergeId']),
    }),
  ),
  logs: outbox.registerTable(
    'prospect_logs',
    tableOf({
      byId: indexBy<NewLog>(['tenantId'], ['prospectLogId']),
      byKey: indexBy<NewLog>(['tenantId', 'source', 'idempotencyKey'], placeOfScope),
      timelines: indexBy<NewLog>(['tenantId', 'prospectId'], ['occurredAt', 'prospectLogId']),
    }),
  ),
  counted: outbox.registerTable('counted_tenants', tableOf({ byId: indexBy<KeptCount>([], ['tenantId']) })),
})
