import { keyOf, memoized } from '../../core/engine/keys.ts'
import type {
  Activities,
  KnownActivities,
  RememberedLog,
  StoredProspect,
  StoredReceipt,
} from '../../core/ports/activities.ts'
import type { StoredIdentifier } from '../../core/ports/identifiers.ts'
import { nameKeysOf } from '../../core/prospects/search-keys.ts'
import { columnsOf } from '../stores/columns.ts'
import { COLUMNS, PROSPECT_CHANGES } from '../stores/rows.ts'
import { logRow } from '../stores/timeline-key.ts'
import type { Outbox } from './events.ts'
import { addIdentifier, forgetFormer, IS_IDENTIFIER, isAsAssumed } from './identifiers.ts'
import { type Database, insertInto } from './open.ts'
import { later } from './prospects.ts'
import { IS_KEPT } from './tenants.ts'

const PROSPECT = `
  select tenant_id, prospect_id, email, external_id, name, updated_at, erased_at, merged_into from prospects
  where tenant_id = :tenantId and prospect_id = :prospectId`
const IDENTIFIER = `
  select tenant_id, kind, hash, prospect_id, blocked_until, erasure_id from identifiers where ${IS_IDENTIFIER}`
const RECEIPT = `
  select tenant_id, source, idempotency_key, request_hash, prospect_id, prospect_log_id, type, created_prospect,
    created_at
  from prospect_logs where tenant_id = :tenantId and source = :source and idempotency_key = :idempotencyKey`
const COUNTED = 'select tenant_id, closed_to as counted_id from counted_tenants where tenant_id = :tenantId'

const NAME_KEYS = columnsOf('name_key, last_name_key')
// Changes no row if the prospect was erased or merged, or has another email or external id.
const SAVE_PROSPECT = `
  ${insertInto('prospects as p', { ...PROSPECT_CHANGES, ...NAME_KEYS })} on conflict (tenant_id, prospect_id) do update set
    email = coalesce(p.email, excluded.email),
    external_id = coalesce(p.external_id, excluded.external_id),
    name = coalesce(p.name, excluded.name),
    name_key = iif(p.name is null, excluded.name_key, p.name_key),
    last_name_key = iif(p.name is null, excluded.last_name_key, p.last_name_key),
    updated_at = ${later('p.updated_at', 'excluded.updated_at')}
  where p.erased_at is null and p.merged_into is null
    and coalesce(p.email = excluded.email, true) and coalesce(p.external_id = excluded.external_id, true)`
const LIVING = `
  select 1 from prospects
  where tenant_id = :tenantId and prospect_id = :prospectId and erased_at is null and merged_into is null`
const UNCHANGED = `${LIVING} and updated_at = :prospectUpdatedAt`
const ADD_LOG = insertInto('prospect_logs', COLUMNS.prospect_logs)
const ADD_LOG_UNLESS_KNOWN = `
  ${ADD_LOG} on conflict (tenant_id, source, idempotency_key) where idempotency_key is not null do nothing`

export const sqliteActivities = (database: Database, outbox: Outbox): Activities => {
  const findCounted = (tenantId: string) =>
    database.get<KnownActivities['counted'][number]>(COUNTED, { tenantId })

  /** Whether the id of a log comes after everything that is counted. */
  const comesAfterCounted = () => {
    const countedId = memoized((tenantId: string) => findCounted(tenantId)?.countedId ?? '')
    return (log: Pick<RememberedLog, 'tenantId' | 'prospectLogId'>): boolean =>
      log.prospectLogId > countedId(log.tenantId)
  }

  return {
    recall: async ({ prospects, identifiers, keys, tenantIds }) => {
      const found = database.getEach<StoredIdentifier>(IDENTIFIER, identifiers)
      const owners = found.filter(({ prospectId }) => prospectId !== null)
      return {
        prospects: database.getEach<StoredProspect>(PROSPECT, [...prospects, ...owners]),
        identifiers: found,
        receipts: database
          .getEach<StoredReceipt>(RECEIPT, keys)
          .map((receipt) => ({ ...receipt, createdProspect: Boolean(receipt.createdProspect) })),
        counted: tenantIds.flatMap((tenantId) => findCounted(tenantId) ?? []),
      }
    },

    record: ({ prospects, identifiers, logs, assumed }, events) =>
      database.record(() => {
        const isKept = memoized((tenantId: string) => database.has(IS_KEPT, { tenantId }))
        if (!assumed.every((identifier) => isAsAssumed(database, identifier))) return 'overtaken'
        if (!logs.every(comesAfterCounted())) return 'overtaken'
        if (!prospects.every(({ tenantId }) => isKept(tenantId))) return 'overtaken'
        for (const prospect of prospects)
          if (database.run(SAVE_PROSPECT, { ...prospect, ...nameKeysOf(prospect.name) }) === 0)
            return 'overtaken'
        const isAdded = new Set(logs.flatMap((log) => (log.createdProspect ? [log.prospectId] : [])))
        for (const identifier of identifiers) {
          addIdentifier(database, identifier)
          if (!isAdded.has(identifier.prospectId)) forgetFormer(database, identifier)
        }
        const living = new Set(
          [...prospects, ...assumed].map(({ tenantId, prospectId }) => keyOf(tenantId, prospectId ?? '')),
        )
        for (const log of logs) {
          if (!living.has(keyOf(log.tenantId, log.prospectId)) && !database.has(LIVING, log))
            return 'overtaken'
          database.run(ADD_LOG, logRow(log))
        }
        outbox(events, logs)
        return 'recorded'
      }),

    recordLogs: (logs) =>
      database.write(() => {
        const isUncounted = comesAfterCounted()
        const added = logs.filter(
          (log) =>
            isUncounted(log) &&
            database.has(UNCHANGED, log) &&
            database.run(ADD_LOG_UNLESS_KNOWN, logRow(log)) === 1,
        )
        outbox([], added)
        return added.map(({ prospectLogId }) => prospectLogId)
      }),
  }
}
