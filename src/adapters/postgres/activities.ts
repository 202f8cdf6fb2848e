import type {
  Activities,
  ActivityChanges,
  ActivityWants,
  ProspectChange,
  StoredProspect,
  StoredReceipt,
} from '../../core/ports.ts'
import { plainArray, textArray } from './arrays.ts'
import type { Ask, Sql } from './connect.ts'
import { recordedUnlessOvertaken } from './error-codes.ts'

type RecallRow =
  | (StoredProspect & { readonly prospectLogId: null })
  | (StoredReceipt & { readonly prospectLogId: string })

export const postgresActivities = (ask: Ask): Activities => ({
  recall: async ({ prospects, emails, keys }) => {
    if (prospects.length + emails.length + keys.length === 0) return { prospects: [], receipts: [] }
    const rows = await ask((sql) => {
      const selects = [
        ...(prospects.length > 0 ? [prospectsById(sql, prospects)] : []),
        ...(emails.length > 0 ? [prospectsByEmail(sql, emails)] : []),
        ...(keys.length > 0 ? [logsByKey(sql, keys)] : []),
      ]
      return sql<RecallRow[]>`${selects.reduce((all, one) => sql`${all} union all ${one}`)}`
    })
    return {
      prospects: rows.filter((row) => row.prospectLogId === null),
      receipts: rows.filter((row) => row.prospectLogId !== null),
    }
  },

  record: async (changes) => {
    const { logs } = changes
    const prospects = inLockOrder(changes)
    return recordedUnlessOvertaken(
      ask(
        (sql) => sql`
        ${prospects.length === 0 ? sql`` : savedFirst(sql, prospects)}
        insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name,
          idempotency_key, request_hash, created_prospect, created_at)
        select tenant_id, prospect_log_id, prospect_id, source, type, payload::json, email, name,
          idempotency_key, request_hash, created_prospect, created_at
        from unnest(${textArray(logs.map((log) => log.tenantId))}::text[],
          ${textArray(logs.map((log) => log.prospectLogId))}::text[],
          ${textArray(logs.map((log) => log.prospectId))}::text[],
          ${textArray(logs.map((log) => log.source))}::text[],
          ${textArray(logs.map((log) => log.type))}::text[],
          ${textArray(logs.map((log) => log.payload.rawJson))}::text[],
          ${textArray(logs.map((log) => log.email))}::text[],
          ${textArray(logs.map((log) => log.name))}::text[],
          ${textArray(logs.map((log) => log.idempotencyKey))}::text[],
          ${textArray(logs.map((log) => log.requestHash))}::text[],
          ${plainArray(logs.map((log) => log.createdProspect))}::boolean[],
          ${textArray(logs.map((log) => log.createdAt))}::timestamptz[])
          as log (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name,
            idempotency_key, request_hash, created_prospect, created_at)
        order by tenant_id, source, idempotency_key, prospect_log_id`,
      ),
    )
  },
})

// Each list says just what it wants: for a caller alone, what is empty would cost a tenth of the statement.

const prospectsById = (sql: Sql, wants: ActivityWants['prospects']) => sql`
  ${prospectColumns(sql)}
  from unnest(${textArray(wants.map((want) => want.tenantId))}::text[],
      ${textArray(wants.map((want) => want.prospectId))}::text[]) as want (tenant_id, prospect_id)
    join prospects p on p.tenant_id = want.tenant_id and p.prospect_id = want.prospect_id`

const prospectsByEmail = (sql: Sql, wants: ActivityWants['emails']) => sql`
  ${prospectColumns(sql)}
  from unnest(${textArray(wants.map((want) => want.tenantId))}::text[],
      ${textArray(wants.map((want) => want.emailHash))}::text[]) as want (tenant_id, email_hash)
    join prospects p on p.tenant_id = want.tenant_id and p.email_hash = want.email_hash`

const prospectColumns = (sql: Sql) => sql`
  select p.tenant_id, p.prospect_id, p.email_hash, p.name, null as prospect_log_id, null as source,
    null as idempotency_key, null as request_hash, null as type, null::boolean as created_prospect,
    null::timestamptz as created_at`

const logsByKey = (sql: Sql, wants: ActivityWants['keys']) => sql`
  select l.tenant_id, l.prospect_id, null as email_hash, null as name, l.prospect_log_id, l.source,
    l.idempotency_key, l.request_hash, l.type, l.created_prospect, l.created_at
  from unnest(${textArray(wants.map((want) => want.tenantId))}::text[],
      ${textArray(wants.map((want) => want.source))}::text[],
      ${textArray(wants.map((want) => want.idempotencyKey))}::text[])
      as want (tenant_id, source, idempotency_key)
    join prospect_logs l on l.tenant_id = want.tenant_id and l.source = want.source
      and l.idempotency_key = want.idempotency_key`

/**
 * A prospect that is there already keeps what it has. Where its email was blank when this list was decided and is
 * another by now, the hash is set to what the constraint refuses: nothing is saved, and the list decides again.
 */
const savedFirst = (sql: Sql, prospects: readonly ProspectChange[]) => sql`
  with saved as (
    insert into prospects as p (tenant_id, prospect_id, email, email_hash, name, created_at)
    select tenant_id, prospect_id, email, email_hash, name, created_at
    from unnest(${textArray(prospects.map((p) => p.tenantId))}::text[],
      ${textArray(prospects.map((p) => p.prospectId))}::text[],
      ${textArray(prospects.map((p) => p.email))}::text[],
      ${textArray(prospects.map((p) => p.emailHash))}::text[],
      ${textArray(prospects.map((p) => p.name))}::text[],
      ${textArray(prospects.map((p) => p.createdAt))}::timestamptz[])
      as change (tenant_id, prospect_id, email, email_hash, name, created_at)
    on conflict (tenant_id, prospect_id) do update set
      email = coalesce(p.email, excluded.email),
      email_hash = case when p.email_hash <> excluded.email_hash then ''
        else coalesce(p.email_hash, excluded.email_hash) end,
      name = coalesce(p.name, excluded.name)
  )`

/**
 * Rows are locked in the order in which they are sent. Two lists that change the same prospects, or add the same
 * emails, do so in the same order, so that one waits for the other and not each for both: first those that are there,
 * by id, then the new ones, by email.
 */
const inLockOrder = ({ prospects, logs }: ActivityChanges): readonly ProspectChange[] => {
  const added = new Set(logs.flatMap((log) => (log.createdProspect ? [log.prospectId] : [])))
  const rankOf = ({ prospectId, emailHash }: ProspectChange) =>
    added.has(prospectId) ? `2${emailHash ?? ''}` : `1${prospectId}`
  return prospects.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))
}
