import { sha256 } from '../../core/engine/keys.ts'
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
import { addIdentifier, forgetFormer, isAsAssumed } from './identifiers.ts'
import type { Database } from './open.ts'
import type { Outbox } from './outbox.ts'
import { insertInto } from './statements.ts'
import { IS_KEPT } from './tenants.ts'

const PROSPECT = `
  select tenant_id, prospect_id, email, external_id, name, updated_at, erased_at, merged_into from prospects
  where tenant_id = :tenantId and prospect_id = :prospectId`
/** Always one row. Whether the tenant has domains that identify no one is only looked up if the identifier has no row. */
const IDENTIFIER = `
  select i.hash, i.prospect_id, i.blocked_until, i.erasure_id,
    i.hash is null and exists (
      select 1 from identifiers where tenant_id = :tenantId and kind = 'emailDomain'
    ) as may_be_domain
  from (select 1) left join identifiers i on i.tenant_id = :tenantId and i.kind = :kind and i.hash = :hash`
const IS_DOMAIN_LISTED = `
  select 1 from identifiers where tenant_id = :tenantId and kind = 'emailDomain' and hash = :hash`
const RECEIPT = `
  select tenant_id, source, idempotency_key, request_hash, prospect_id, prospect_log_id, type, created_prospect,
    created_at
  from prospect_logs where tenant_id = :tenantId and source = :source and idempotency_key = :idempotencyKey
    and key_scope between :keyScope and :lastKeyScope
  order by key_scope desc limit 1`
const CLOSED_TO = 'select tenant_id, closed_to as counted_id from counted_tenants where tenant_id = :tenantId'

const ADD_PROSPECT = insertInto('prospects', PROSPECT_CHANGES)
const UNCHANGED = `
  tenant_id = :tenantId and prospect_id = :prospectId and updated_at = :unchangedSince
    and erased_at is null and merged_into is null`
const FILL_PROSPECT = `
  update prospects set email = :email, external_id = :externalId, name = :name, name_key = :nameKey,
    last_name_key = :lastNameKey, attributes = coalesce(:attributes, attributes), updated_at = :updatedAt
  where ${UNCHANGED}`
const IS_UNCHANGED = `select 1 from prospects where ${UNCHANGED}`
const ADD_LOG = `
  ${insertInto('prospect_logs', COLUMNS.prospect_logs)}
  on conflict (tenant_id, source, idempotency_key, key_scope) where idempotency_key is not null do nothing`

/** Changes that arrive together are saved in one transaction, each whole or not at all. */
export const sqliteActivities = (database: Database, outbox: Outbox, together: Together): Activities => {
  const findCounted = (tenantId: string): string | null =>
    database.get<{ countedId: string }>(CLOSED_TO, { tenantId })?.countedId ?? null

  /** Adds, fills, or only checks the prospect of a change. */
  const saveProspect = (
    { prospect, attributes, unchangedSince }: ActivityChange,
    isKept: IsKept,
  ): Recorded => {
    const { tenantId, prospectId, updatedAt } = prospect
    if (unchangedSince === null) {
      if (!isKept(tenantId)) return 'overtaken'
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
    const countedId = memoized((tenantId: string) => findCounted(tenantId) ?? '')
    const isKept = memoized((tenantId: string) => database.has(IS_KEPT, { tenantId }))
    const addEvents = outbox.ofTransaction()
    return ({ change, events }: Recording): Recorded => {
      const { log, identifiers, assumed, unchangedSince } = change
      if (!assumed.every((identifier) => isAsAssumed(database, identifier))) return 'overtaken'
      if (log !== null && log.prospectLogId <= countedId(log.tenantId)) return 'overtaken'
      if (saveProspect(change, isKept) === 'overtaken') return 'overtaken'
      for (const identifier of identifiers) {
        addIdentifier(database, identifier)
        if (unchangedSince !== null) forgetFormer(database, identifier)
      }
      if (log !== null && database.run(ADD_LOG, logRow(log)) === 0) return 'overtaken'
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
  const findIdentifier = ({ domain, ...identifier }: IdentifierLookup): StoredIdentifier | null => {
    const { tenantId } = identifier
    const found = database.get<FoundIdentifier>(IDENTIFIER, identifier)
    if (found === null) return null
    const { hash, mayBeDomain, ...leads } = found
    if (hash !== null) return { ...identifier, ...leads }
    const isListed =
      mayBeDomain === 1 &&
      domain !== undefined &&
      database.has(IS_DOMAIN_LISTED, { tenantId, hash: sha256(domain) })
    return isListed ? { ...identifier, ...leads } : null
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
        countedId: findCounted(tenantId),
      }
    },

    record: (change, events = []) => record({ change, events }),

    recordEach,
  }
}

type FoundIdentifier = Pick<StoredIdentifier, 'prospectId' | 'blockedUntil' | 'erasureId'> & {
  readonly hash: string | null
  readonly mayBeDomain: 0 | 1
}
type IsKept = (tenantId: string) => boolean
