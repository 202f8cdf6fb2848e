import { memoized } from '../../core/engine/memoized.ts'
import type {
  Activities,
  ActivityChange,
  Recording,
  StoredProspect,
  StoredReceipt,
} from '../../core/ports/activities.ts'
import type { IdentifierLookup, StoredIdentifier } from '../../core/ports/identifiers.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { nameKeysOf } from '../../core/prospects/search-keys.ts'
import { COLUMNS, PROSPECT_CHANGES } from '../stores/rows.ts'
import { logRow } from '../stores/timeline-key.ts'
import { type Together, weightOfChange } from '../stores/together.ts'
import { addIdentifier, forgetFormer, IS_IDENTIFIER, isAsAssumed, isDomainListed } from './identifiers.ts'
import type { Database } from './open.ts'
import type { Outbox } from './outbox.ts'
import { insertInto, valuesFor } from './statements.ts'

const PROSPECT = `
  select tenant_id, prospect_id, email, external_id, name, updated_at, erased_at, merged_into from prospects
  where tenant_id = :tenantId and prospect_id = :prospectId`
const IDENTIFIER = `select prospect_id, blocked_until, erasure_id from identifiers where ${IS_IDENTIFIER}`
const RECEIPT = `
  select tenant_id, source, idempotency_key, request_hash, prospect_id, prospect_log_id, type, created_prospect,
    created_at
  from prospect_logs where tenant_id = :tenantId and source = :source and idempotency_key = :idempotencyKey
    and key_scope between :keyScope and :lastKeyScope
  order by key_scope desc limit 1`
const CLOSED_TO = 'select closed_to as counted_id from counted_tenants where tenant_id = :tenantId'
const TENANT = `select deleted_at is null as is_kept, (${CLOSED_TO}) as counted_id from tenants where tenant_id = :tenantId`

const ADD_PROSPECT = insertInto('prospects', PROSPECT_CHANGES)
const UNCHANGED = `
  tenant_id = :tenantId and prospect_id = :prospectId and updated_at = :unchangedSince
    and erased_at is null and merged_into is null`
const FILL_PROSPECT = `
  update prospects set email = :email, external_id = :externalId, name = :name, name_key = :nameKey,
    last_name_key = :lastNameKey, attributes = coalesce(:attributes, attributes), updated_at = :updatedAt
  where ${UNCHANGED}`
const IS_UNCHANGED = `select 1 from prospects where ${UNCHANGED}`
const LOG_COLUMNS = Object.keys(COLUMNS.prospect_logs)
const UNLESS_KEY_EXISTS = `
  on conflict (tenant_id, source, idempotency_key, key_scope) where idempotency_key is not null do nothing`
const ADD_LOG = insertInto('prospect_logs', COLUMNS.prospect_logs) + UNLESS_KEY_EXISTS
const ADD_LOG_OF_UNCHANGED = `
  insert into prospect_logs (${LOG_COLUMNS}) select ${valuesFor(LOG_COLUMNS)} from prospects where ${UNCHANGED}
  ${UNLESS_KEY_EXISTS}`

/** Changes that arrive together are saved in one transaction, each whole or not at all. */
export const sqliteActivities = (database: Database, outbox: Outbox, together: Together): Activities => {
  /** Adds, fills, or only checks the prospect of a change. */
  const saveProspect = (
    { prospect, attributes, unchangedSince }: ActivityChange,
    findTenant: FindTenant,
  ): Recorded => {
    const { tenantId, prospectId, updatedAt } = prospect
    if (unchangedSince === null) {
      if (findTenant(tenantId)?.isKept !== 1) return 'overtaken'
      database.run(ADD_PROSPECT, { ...prospect, attributes, createdAt: updatedAt })
      return 'recorded'
    }
    const isSaved =
      updatedAt === unchangedSince
        ? database.has(IS_UNCHANGED, { tenantId, prospectId, unchangedSince })
        : database.run(FILL_PROSPECT, {
            ...prospect,
            attributes,
            ...nameKeysOf(prospect.name),
            unchangedSince,
          }) === 1
    return isSaved ? 'recorded' : 'overtaken'
  }

  /** Saves changes of one transaction, for which each tenant is looked up once. */
  const createRecorder = () => {
    const findTenant: FindTenant = memoized((tenantId) => database.get<Tenant>(TENANT, { tenantId }))
    const addEvents = outbox.ofTransaction()
    return ({ change, events }: Recording): Recorded => {
      const { log, identifiers, assumed, unchangedSince } = change
      if (!assumed.every((identifier) => isAsAssumed(database, identifier))) return 'overtaken'
      if (log !== null && log.prospectLogId <= (findTenant(log.tenantId)?.countedId ?? '')) return 'overtaken'
      const isLogOnly = log !== null && change.prospect.updatedAt === unchangedSince
      if (!isLogOnly && saveProspect(change, findTenant) === 'overtaken') return 'overtaken'
      for (const identifier of identifiers) {
        addIdentifier(database, identifier)
        if (unchangedSince !== null) forgetFormer(database, identifier)
      }
      const addLog = isLogOnly ? ADD_LOG_OF_UNCHANGED : ADD_LOG
      if (log !== null && database.run(addLog, { ...logRow(log), unchangedSince }) === 0) return 'overtaken'
      addEvents(events, log === null ? [] : [log])
      return 'recorded'
    }
  }

  const recordAll = (list: readonly Recording[]) => database.recordEach(list, createRecorder)
  const options = {
    weightOf: ({ change }: Recording) => weightOfChange(change),
    tenantOf: ({ change }: Recording) => change.lookup.tenantId,
  }
  const record = together.write('activities.record', recordAll, options)
  const recordEach = together.writeLists('activities.recordEach', recordAll, {
    ...options,
    recordAlone: record,
  })

  /** The row of an identifier; one that leads nowhere for an email whose domain identifies no one. */
  const findIdentifier = (lookup: IdentifierLookup): StoredIdentifier | null => {
    const { domain, ...identifier } = lookup
    const found = database.get<Leads>(IDENTIFIER, identifier)
    if (found !== null) return { ...identifier, ...found }
    if (!isDomainListed(database, lookup)) return null
    return { ...identifier, prospectId: null, blockedUntil: null, erasureId: null }
  }

  return {
    recall: async ({ tenantId, prospectId, identifiers, key }) => {
      const found = identifiers.flatMap((identifier) => findIdentifier(identifier) ?? [])
      const prospectIds = [prospectId, ...found.map((identifier) => identifier.prospectId)].filter(Boolean)
      const receipt = key && database.get<StoredReceipt>(RECEIPT, { tenantId, ...key })
      return {
        prospects: database.getEach<StoredProspect>(
          PROSPECT,
          prospectIds.map((id) => ({ tenantId, prospectId: id })),
        ),
        identifiers: found,
        receipt: receipt ? { ...receipt, createdProspect: Boolean(receipt.createdProspect) } : null,
        countedId: database.get<{ countedId: string }>(CLOSED_TO, { tenantId })?.countedId ?? null,
      }
    },

    record: (change, events = []) => record({ change, events }),

    recordEach,
  }
}

type Leads = Pick<StoredIdentifier, 'prospectId' | 'blockedUntil' | 'erasureId'>
type Tenant = { readonly isKept: 0 | 1; readonly countedId: string | null }
type FindTenant = (tenantId: string) => Tenant | null
