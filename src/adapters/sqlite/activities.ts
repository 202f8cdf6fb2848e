import type { Activities, StoredProspect, StoredReceipt } from '../../core/ports.ts'
import { type Database, recordedUnlessOvertaken } from './open.ts'

const PROSPECT = 'select tenant_id, prospect_id, email_hash, name from prospects'
const PROSPECT_BY_ID = `${PROSPECT} where tenant_id = ? and prospect_id = ?`
const PROSPECT_BY_EMAIL = `${PROSPECT} where tenant_id = ? and email_hash = ?`
const RECEIPT = `
  select tenant_id, source, idempotency_key, request_hash, prospect_id, prospect_log_id, type, created_prospect,
    created_at
  from prospect_logs where tenant_id = ? and source = ? and idempotency_key = ?`

// See the same statement on PostgreSQL for why a hash is set to what its constraint refuses.
const SAVE_PROSPECT = `
  insert into prospects as p (tenant_id, prospect_id, email, email_hash, name, created_at)
  values (?, ?, ?, ?, ?, ?)
  on conflict (tenant_id, prospect_id) do update set
    email = coalesce(p.email, excluded.email),
    email_hash = case when p.email_hash <> excluded.email_hash then ''
      else coalesce(p.email_hash, excluded.email_hash) end,
    name = coalesce(p.name, excluded.name)`
const ADD_LOG = `
  insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name,
    idempotency_key, request_hash, created_prospect, created_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

export const sqliteActivities = (database: Database): Activities => ({
  recall: async ({ prospects, emails, keys }) => ({
    prospects: [
      ...prospects.flatMap(
        (want) => database.get<StoredProspect>(PROSPECT_BY_ID, want.tenantId, want.prospectId) ?? [],
      ),
      ...emails.flatMap(
        (want) => database.get<StoredProspect>(PROSPECT_BY_EMAIL, want.tenantId, want.emailHash) ?? [],
      ),
    ],
    receipts: keys
      .flatMap(
        (want) => database.get<StoredReceipt>(RECEIPT, want.tenantId, want.source, want.idempotencyKey) ?? [],
      )
      .map((receipt) => ({ ...receipt, createdProspect: Boolean(receipt.createdProspect) })),
  }),

  record: async ({ prospects, logs }) =>
    recordedUnlessOvertaken(database, () => {
      for (const p of prospects)
        database.run(SAVE_PROSPECT, p.tenantId, p.prospectId, p.email, p.emailHash, p.name, p.createdAt)
      for (const log of logs)
        database.run(
          ADD_LOG,
          log.tenantId,
          log.prospectLogId,
          log.prospectId,
          log.source,
          log.type,
          log.payload.rawJson,
          log.email,
          log.name,
          log.idempotencyKey,
          log.requestHash,
          Number(log.createdProspect),
          log.createdAt,
        )
    }),
})
