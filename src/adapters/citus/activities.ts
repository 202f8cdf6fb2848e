import type { Activities, ActivityChanges, KnownActivities, NewLog } from '../../core/ports/activities.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { Columns } from '../stores/columns.ts'
import { COLUMNS, PROSPECT_CHANGES, without } from '../stores/rows.ts'
import { logRow } from '../stores/timeline-key.ts'
import type { Forms, Of } from './forms.ts'
import type { Outbox } from './outbox.ts'
import { columns, type Fragment, ifOvertaken, joined, later, nothing, type Query, sql } from './sql.ts'

type RecallRow =
  | (KnownActivities['prospects'][number] & { readonly prospectLogId: null })
  | (KnownActivities['receipts'][number] & { readonly prospectLogId: string })

const BY_ID = columns('want', 'tenant_id, prospect_id')
const BY_EMAIL = columns('want', 'tenant_id, email_hash')
const BY_EXTERNAL_ID = columns('want', 'tenant_id, external_id_hash')
const BY_KEY = columns('want', 'tenant_id, source, idempotency_key')
/** `named`: the columns of a list in which a row has an external id. `others`: of any other list, which nearly all are. */
const bothOf = (alias: string, list: Columns) => ({
  named: columns(alias, list),
  others: columns(alias, without(list, 'external_id', 'external_id_hash')),
})
const columnsFor = (rows: readonly { externalId: string | null }[], { named, others }: typeof LOGS) =>
  rows.some(({ externalId }) => externalId !== null) ? named : others
const PROSPECTS = bothOf('change', PROSPECT_CHANGES)
const LOGS = bothOf('log', COLUMNS.prospect_logs)

export const postgresActivities = (
  query: Query,
  { ofEach, inserted, insertedInOrder, derivesEvents }: Forms,
  outbox: Outbox,
): Activities => {
  /** The events of these logs that the statement makes, which costs less than to send them, and those that it is sent. */
  const derivedFrom = (logs: readonly NewLog[], events: readonly NewEvent[]) => {
    if (!derivesEvents || logs.some(({ hops }) => hops)) return [undefined, events] as const
    const sent = events.filter((event) => !isDerivable(event))
    const derivable = logs.reduce((sum, { createdProspect }) => sum + (createdProspect ? 2 : 1), 0)
    const isAll = derivable > 0 && events.length - sent.length === derivable
    return isAll ? ([eventsOf(logs), sent] as const) : ([undefined, events] as const)
  }
  const logRows = (logs: readonly NewLog[]) =>
    insertedInOrder(columnsFor(logs, LOGS), logs.map(logRow), IN_LOCK_ORDER)
  return {
    recall: async (wants) => {
      const rows = await ofEach(wants, ({ prospects, emails, externalIds, keys }, of) => {
        // Empty parts are left out: for a single caller, each would cost a tenth of the statement.
        const selects: Fragment[] = []
        if (prospects.length > 0) selects.push(prospectsBy(BY_ID.fromShortest(prospects), of, IS_WANTED_ID))
        if (emails.length > 0) selects.push(prospectsBy(BY_EMAIL.fromShortest(emails), of, IS_WANTED_EMAIL))
        if (externalIds.length > 0)
          selects.push(prospectsBy(BY_EXTERNAL_ID.fromShortest(externalIds), of, IS_WANTED_EXTERNAL_ID))
        if (keys.length > 0) selects.push(logsByKey(BY_KEY.fromShortest(keys), of))
        return selects.length === 0 ? [] : query(of.tenantId)<RecallRow>`${joined(selects, sql` union all `)}`
      })
      return {
        prospects: rows.filter((row) => row.prospectLogId === null),
        receipts: rows.filter((row) => row.prospectLogId !== null),
      }
    },

    record: (changes, events = []) => {
      const prospects = prospectsInLockOrder(changes)
      const all = [...changes.prospects, ...changes.logs]
      const parts = []
      if (prospects.length > 0) parts.push(savedPart(inserted(columnsFor(prospects, PROSPECTS), prospects)))
      const [derived, sent] = derivedFrom(changes.logs, events)
      if (changes.logs.length > 0)
        parts.push(sql`logged as (
          insert into prospect_logs ${logRows(changes.logs)} ${derived ? RETURNING : nothing})`)
      return outbox.record(all, sent, parts, undefined, derived)
    },

    recordLogs: (logs, events = []) => {
      const mayBeKnown = logs.some(({ idempotencyKey }) => idempotencyKey !== null)
      const logged = sql`logged as (
        insert into prospect_logs ${logRows(logs)} ${mayBeKnown ? UNLESS_KNOWN : nothing} ${RETURNING})`
      const areAll = sql`(select count(*) from logged) = ${logs.length}::int`
      const saved = { each: mayBeKnown ? IS_LOGGED : sql`true`, all: events.length > 0 ? areAll : sql`true` }
      const [derived, sent] = derivedFrom(logs, events)
      const written = outbox.write<{ id: string }>(logs, sent, [logged], ADDED, saved, derived)
      return written.then((added) => added.map(({ id }) => id), ifOvertaken([]))
    },
  }
}

const RETURNING = sql`returning tenant_id, prospect_log_id, prospect_id, created_prospect, created_at`
const ADDED = sql`prospect_log_id as id from logged`
const KEYS = columns('k', 'prospect_log_id, api_key_id')
/** The events of these logs and of the prospects that they created, with the ids that they have as `NewEvent`. */
const eventsOf = (logs: readonly NewLog[]) => {
  const keys = logs.map(({ prospectLogId, apiKeyId = null }) => ({ prospectLogId, apiKeyId }))
  const isOne = keys.every(({ apiKeyId }) => apiKeyId === keys[0]?.apiKeyId)
  const key = isOne
    ? sql`${keys[0]?.apiKeyId ?? null}::text`
    : sql`(
    select k.api_key_id from ${KEYS.from(keys)} where k.prospect_log_id = event.prospect_log_id)`
  return sql`
    select event.tenant_id, event.id, null, event.type, event.ids, ${key}, event.created_at from (
      select l.*, 'event' || substr(l.prospect_id, 9) as id, 'prospect.created' as type,
        json_build_object('prospectId', l.prospect_id) as ids from logged l where l.created_prospect
      union all
      select l.*, 'event' || substr(l.prospect_log_id, 12), 'prospect_log.created',
        json_build_object('prospectId', l.prospect_id, 'prospectLogId', l.prospect_log_id) from logged l
    ) as event`
}

/** Whether the statement would give this event of a log, or of a prospect that it created, the same id. */
const isDerivable = ({ eventId, type, ids: { prospectId = '', prospectLogId = '' } }: NewEvent) =>
  (type === 'prospect_log.created' && eventId.slice(6) === prospectLogId.slice(12)) ||
  (type === 'prospect.created' && eventId.slice(6) === prospectId.slice(9))

// Only if a log has a key: with `on conflict` PostgreSQL looks for each row in the index first, and confirms it after the insert.
const UNLESS_KNOWN = sql`
  on conflict (tenant_id, source, idempotency_key) where idempotency_key is not null do nothing`
const IN_LOCK_ORDER = ['tenant_id', 'source', 'idempotency_key', 'prospect_log_id']

/** Whether an event is of a saved log. A join would compare each event with each log. */
const IS_LOGGED = sql`(event.ids ->> 'prospectLogId' in (select prospect_log_id from logged)) is true`

const IS_WANTED_ID = sql`p.prospect_id = want.prospect_id`
const IS_WANTED_EMAIL = sql`p.email_hash = want.email_hash`
const IS_WANTED_EXTERNAL_ID = sql`p.external_id_hash = want.external_id_hash`

const prospectsBy = (wants: Fragment, of: Of, isWanted: Fragment) => sql`
  select p.*, null as prospect_log_id, null as source, null as idempotency_key, null as request_hash, null as type,
    null::boolean as created_prospect, null::timestamptz as created_at
  from ${wants}
    cross join lateral (
      select p.tenant_id, p.prospect_id, p.email_hash, p.external_id_hash, p.name, p.erased_at, p.merged_into
      from prospects p
      where p.tenant_id = ${of.tenant} and ${isWanted} ${of.once}
    ) p`

const logsByKey = (wants: Fragment, of: Of) => sql`
  select l.* from ${wants}
    cross join lateral (
      select l.tenant_id, l.prospect_id, null as email_hash, null as external_id_hash, null as name,
        null::timestamptz as erased_at, null as merged_into, l.prospect_log_id, l.source, l.idempotency_key,
        l.request_hash, l.type, l.created_prospect, l.created_at
      from prospect_logs l
      where l.tenant_id = ${of.tenant} and l.source = want.source
        and l.idempotency_key = want.idempotency_key ${of.once}
    ) l`

/**
 * An existing prospect keeps its values. If its email or external id was blank when this batch was decided and has
 * since become a different one, or if the prospect was erased or merged, the hash of the email is set to a value that
 * the constraint refuses: nothing is saved, and the batch is decided again.
 *
 * PostgreSQL does not define whether prospects or logs are inserted first, and need not: no foreign key joins them.
 */
const savedPart = (prospects: Fragment) => sql`
  saved as (
    insert into prospects as p ${prospects}
    on conflict (tenant_id, prospect_id) do update set
      email = coalesce(p.email, excluded.email),
      email_hash = case when p.erased_at is not null or p.merged_into is not null or p.email_hash <> excluded.email_hash
          or p.external_id_hash <> excluded.external_id_hash then ''
        else coalesce(p.email_hash, excluded.email_hash) end,
      external_id = coalesce(p.external_id, excluded.external_id),
      external_id_hash = coalesce(p.external_id_hash, excluded.external_id_hash),
      name = coalesce(p.name, excluded.name),
      updated_at = ${later(sql`p.updated_at`, sql`excluded.updated_at`)}
  )`

/**
 * Rows are locked in the order in which they are sent. Two batches that change the same prospects, or add the same
 * emails, do so in the same order, so that they cannot deadlock: first existing prospects by id, then new ones by
 * email. Batches without logs, which do not show who is new, can deadlock, and so can new prospects with the same
 * external ids but different emails: then one of the batches is decided again.
 */
const prospectsInLockOrder = ({ prospects, logs }: ActivityChanges) => {
  const isAll = logs.length === 0
  const added = new Set(logs.flatMap((log) => (log.createdProspect ? [log.prospectId] : [])))
  const rankOf = ({ prospectId, emailHash, externalIdHash }: (typeof prospects)[number]) =>
    isAll || added.has(prospectId) ? `2${emailHash ?? ''}${externalIdHash ?? ''}` : `1${prospectId}`
  return prospects.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))
}
