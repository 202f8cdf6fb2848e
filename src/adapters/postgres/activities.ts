import type { Activities, ActivityChanges, KnownActivities } from '../../core/ports/activities.ts'
import { COLUMNS } from '../rows.ts'
import { logRow } from '../timeline-key.ts'
import type { Ask } from './connect.ts'
import type { Sql } from './open.ts'
import { columns, ifOvertaken, recordedUnlessOvertaken } from './statements.ts'

type RecallRow =
  | (KnownActivities['prospects'][number] & { readonly prospectLogId: null })
  | (KnownActivities['receipts'][number] & { readonly prospectLogId: string })

const BY_ID = columns('want', 'tenant_id, prospect_id')
const BY_EMAIL = columns('want', 'tenant_id, email_hash')
const BY_KEY = columns('want', 'tenant_id, source, idempotency_key')
const PROSPECTS = columns('change', COLUMNS.prospects)
const LOGS = columns('log', COLUMNS.prospect_logs)

export const postgresActivities = (ask: Ask): Activities => ({
  recall: async ({ prospects, emails, keys }) => {
    if (prospects.length + emails.length + keys.length === 0) return { prospects: [], receipts: [] }
    const rows = await ask((sql) => {
      // Only what is wanted: for a single caller, an empty part would cost a tenth of the statement.
      const selects = [
        ...(prospects.length > 0
          ? [
              sql`${prospectsWanted(sql, BY_ID.fromShortest(sql, prospects))} and p.prospect_id = want.prospect_id`,
            ]
          : []),
        ...(emails.length > 0
          ? [
              sql`${prospectsWanted(sql, BY_EMAIL.fromShortest(sql, emails))} and p.email_hash = want.email_hash`,
            ]
          : []),
        ...(keys.length > 0 ? [logsByKey(sql, keys)] : []),
      ]
      return sql<RecallRow[]>`${selects.reduce((all, one) => sql`${all} union all ${one}`)}`
    })
    return {
      prospects: rows.filter((row) => row.prospectLogId === null),
      receipts: rows.filter((row) => row.prospectLogId !== null),
    }
  },

  record: (changes) => {
    const prospects = prospectsInLockOrder(changes)
    return recordedUnlessOvertaken(
      ask,
      (sql) => sql`
        ${prospects.length === 0 ? sql`` : withSaved(sql, prospects)}
        insert into prospect_logs ${LOGS.into(sql, changes.logs.map(logRow))} ${inLockOrder(sql)}`,
    )
  },

  recordLogs: async (logs) => {
    const added = await ask(
      (sql) => sql<{ prospectLogId: string }[]>`
        insert into prospect_logs ${LOGS.into(sql, logs.map(logRow))} ${inLockOrder(sql)}
        ${logs.some(({ idempotencyKey }) => idempotencyKey !== null) ? unlessKnown(sql) : sql``}
        returning prospect_log_id`,
    ).catch(ifOvertaken([]))
    return added.map(({ prospectLogId }) => prospectLogId)
  },
})

// Only where there are keys: PostgreSQL inserts every row twice over when it must be able to take it back.
const unlessKnown = (sql: Sql) => sql`
  on conflict (tenant_id, source, idempotency_key) where idempotency_key is not null do nothing`

const inLockOrder = (sql: Sql) => sql`order by tenant_id, source, idempotency_key, prospect_log_id`

const prospectsWanted = (sql: Sql, wants: ReturnType<typeof BY_ID.from>) => sql`
  select p.tenant_id, p.prospect_id, p.email_hash, p.name, null as prospect_log_id, null as source,
    null as idempotency_key, null as request_hash, null as type, null::boolean as created_prospect,
    null::timestamptz as created_at
  from ${wants}
    join prospects p on p.tenant_id = want.tenant_id`

const logsByKey = (sql: Sql, wants: readonly object[]) => sql`
  select l.tenant_id, l.prospect_id, null as email_hash, null as name, l.prospect_log_id, l.source,
    l.idempotency_key, l.request_hash, l.type, l.created_prospect, l.created_at
  from ${BY_KEY.fromShortest(sql, wants)}
    join prospect_logs l on l.tenant_id = want.tenant_id and l.source = want.source
      and l.idempotency_key = want.idempotency_key`

/**
 * An existing prospect keeps what it has. If its email was blank when this list was decided and is a different one by
 * now, the hash is set to what the constraint refuses: nothing is saved, and the list is decided again.
 *
 * PostgreSQL does not define which of the two inserts runs first, and neither depends on it: no foreign key joins them.
 */
const withSaved = (sql: Sql, prospects: readonly object[]) => sql`
  with saved as (
    insert into prospects as p ${PROSPECTS.into(sql, prospects)}
    on conflict (tenant_id, prospect_id) do update set
      email = coalesce(p.email, excluded.email),
      email_hash = case when p.email_hash <> excluded.email_hash then ''
        else coalesce(p.email_hash, excluded.email_hash) end,
      name = coalesce(p.name, excluded.name)
  )`

/**
 * Rows are locked in the order in which they are sent. Two lists that change the same prospects, or add the same
 * emails, do so in the same order, so that they cannot deadlock: first existing prospects by id, then new ones by email.
 */
const prospectsInLockOrder = ({ prospects, logs }: ActivityChanges) => {
  const added = new Set(logs.flatMap((log) => (log.createdProspect ? [log.prospectId] : [])))
  const rankOf = ({ prospectId, emailHash }: (typeof prospects)[number]) =>
    added.has(prospectId) ? `2${emailHash ?? ''}` : `1${prospectId}`
  return prospects.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))
}
