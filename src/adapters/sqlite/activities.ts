import type { Activities, StoredProspect, StoredReceipt } from '../../core/ports/activities.ts'
import { nameKeysOf } from '../../core/prospects/search-keys.ts'
import { columnsOf } from '../stores/columns.ts'
import { COLUMNS, eventsOf, PROSPECT_CHANGES } from '../stores/rows.ts'
import { logRow } from '../stores/timeline-key.ts'
import type { Outbox } from './events.ts'
import { type Database, insertInto } from './open.ts'
import { later } from './prospects.ts'

const PROSPECT =
  'select tenant_id, prospect_id, email_hash, external_id_hash, name, erased_at, merged_into from prospects'
const PROSPECT_BY_ID = `${PROSPECT} where tenant_id = :tenantId and prospect_id = :prospectId`
const PROSPECT_BY_EMAIL = `${PROSPECT} where tenant_id = :tenantId and email_hash = :emailHash`
const PROSPECT_BY_EXTERNAL_ID = `
  ${PROSPECT} where tenant_id = :tenantId and external_id_hash = :externalIdHash`
const RECEIPT = `
  select tenant_id, source, idempotency_key, request_hash, prospect_id, prospect_log_id, type, created_prospect,
    created_at
  from prospect_logs where tenant_id = :tenantId and source = :source and idempotency_key = :idempotencyKey`

// The same statement on PostgreSQL explains why a hash is set to a value that its constraint refuses.
const NAME_KEYS = columnsOf('name_key, last_name_key')
const SAVE_PROSPECT = `
  ${insertInto('prospects as p', { ...PROSPECT_CHANGES, ...NAME_KEYS })} on conflict (tenant_id, prospect_id) do update set
    email = coalesce(p.email, excluded.email),
    email_hash = case when p.erased_at is not null or p.merged_into is not null or p.email_hash <> excluded.email_hash
        or p.external_id_hash <> excluded.external_id_hash then ''
      else coalesce(p.email_hash, excluded.email_hash) end,
    external_id = coalesce(p.external_id, excluded.external_id),
    external_id_hash = coalesce(p.external_id_hash, excluded.external_id_hash),
    name = coalesce(p.name, excluded.name),
    name_key = iif(p.name is null, excluded.name_key, p.name_key),
    last_name_key = iif(p.name is null, excluded.last_name_key, p.last_name_key),
    updated_at = ${later('p.updated_at', 'excluded.updated_at')}`
const ADD_LOG = insertInto('prospect_logs', COLUMNS.prospect_logs)
const ADD_LOG_UNLESS_KNOWN = `
  ${ADD_LOG} on conflict (tenant_id, source, idempotency_key) where idempotency_key is not null do nothing`

export const sqliteActivities = (database: Database, outbox: Outbox): Activities => ({
  recall: async ({ prospects, emails, externalIds, keys }) => ({
    prospects: [
      ...database.getEach<StoredProspect>(PROSPECT_BY_ID, prospects),
      ...database.getEach<StoredProspect>(PROSPECT_BY_EMAIL, emails),
      ...database.getEach<StoredProspect>(PROSPECT_BY_EXTERNAL_ID, externalIds),
    ],
    receipts: database
      .getEach<StoredReceipt>(RECEIPT, keys)
      .map((receipt) => ({ ...receipt, createdProspect: Boolean(receipt.createdProspect) })),
  }),

  record: ({ prospects, logs }, events) =>
    database.record(() => {
      for (const prospect of prospects)
        database.run(SAVE_PROSPECT, { ...prospect, ...nameKeysOf(prospect.name) })
      for (const log of logs) database.run(ADD_LOG, logRow(log))
      outbox(events)
      return 'recorded'
    }),

  recordLogs: (logs, events) =>
    database.write(() => {
      const added = logs
        .filter((log) => database.run(ADD_LOG_UNLESS_KNOWN, logRow(log)) === 1)
        .map(({ prospectLogId }) => prospectLogId)
      outbox(added.length === logs.length ? events : eventsOf(added, events))
      return added
    }),
})
