import type { Activities, ActivityChanges, KnownActivities, NewLog } from '../../core/ports/activities.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import { COLUMNS, PROSPECT_CHANGES } from '../stores/rows.ts'
import { logRow } from '../stores/timeline-key.ts'
import { EVENT, eventRow, type Outbox } from './outbox.ts'
import { ifOvertaken } from './overtaken.ts'
import { columns, type Query } from './sql.ts'

type RecallRow =
  | (KnownActivities['prospects'][number] & { readonly prospectLogId: null })
  | (KnownActivities['receipts'][number] & { readonly prospectLogId: string })

const BY_ID = columns('want', 'tenant_id, prospect_id')
const BY_EMAIL = columns('want', 'tenant_id, email_hash')
const BY_EXTERNAL_ID = columns('want', 'tenant_id, external_id_hash')
const BY_KEY = columns('want', 'tenant_id, source, idempotency_key')
const PROSPECT = columns('change', PROSPECT_CHANGES)
const LOG = columns('log', COLUMNS.prospect_logs)
/** A log and what only its events show, which the statement makes of it: to send them would cost more than the rest. */
const SENT_LOG = columns('log', { ...COLUMNS.prospect_logs, api_key_id: 'text', hops: 'int' })
const sentLog = (log: NewLog) => ({ ...logRow(log), apiKeyId: log.apiKeyId ?? null, hops: log.hops || null })
/** The event that a log or a prospect has when it is added has the same ULID. */
const isMade = ({ eventId, type, ids: { prospectId, prospectLogId } }: NewEvent) =>
  (type === 'prospect_log.created' && eventId.slice(-26) === prospectLogId?.slice(-26)) ||
  (type === 'prospect.created' && eventId.slice(-26) === prospectId?.slice(-26))
/** Whether the statement makes events of these logs, and the events that it must be sent. */
const eventsBeside = (logs: readonly NewLog[], events: readonly NewEvent[]) => {
  const sent = events.filter((event) => !isMade(event))
  const made = logs.reduce((sum, { createdProspect }) => sum + (createdProspect ? 2 : 1), 0)
  const makesEvents = made > 0 && events.length - sent.length === made
  return makesEvents ? { makesEvents, sent } : { makesEvents, sent: events }
}

export const postgresActivities = (
  query: Query,
  { write, record, newEvents, everyEvent }: Outbox,
): Activities => ({
  recall: async ({ prospects, emails, externalIds, keys }) => {
    const rows = await query()<RecallRow>`
      select p.tenant_id, p.prospect_id, p.email_hash, p.external_id_hash, p.name, p.erased_at, p.merged_into,
        null as prospect_log_id, null as source, null as idempotency_key, null as request_hash, null as type,
        null::boolean as created_prospect, null::timestamptz as created_at
      from ${BY_ID.from(prospects)}
        join prospects p on p.tenant_id = want.tenant_id and p.prospect_id = want.prospect_id
      union all
      select p.tenant_id, p.prospect_id, p.email_hash, p.external_id_hash, p.name, p.erased_at, p.merged_into,
        null, null, null, null, null, null, null
      from ${BY_EMAIL.from(emails)}
        join prospects p on p.tenant_id = want.tenant_id and p.email_hash = want.email_hash
      union all
      select p.tenant_id, p.prospect_id, p.email_hash, p.external_id_hash, p.name, p.erased_at, p.merged_into,
        null, null, null, null, null, null, null
      from ${BY_EXTERNAL_ID.from(externalIds)}
        join prospects p on p.tenant_id = want.tenant_id and p.external_id_hash = want.external_id_hash
      union all
      select l.tenant_id, l.prospect_id, null, null, null, null, null,
        l.prospect_log_id, l.source, l.idempotency_key, l.request_hash, l.type, l.created_prospect, l.created_at
      from ${BY_KEY.from(keys)}
        join prospect_logs l on l.tenant_id = want.tenant_id and l.source = want.source
          and l.idempotency_key = want.idempotency_key`
    return {
      prospects: rows.filter((row) => row.prospectLogId === null),
      receipts: rows.filter((row) => row.prospectLogId !== null),
    }
  },

  /**
   * An existing prospect keeps its values. If its email or external id was blank when this batch was decided and has
   * since become a different one, or if the prospect was erased or merged, the hash of the email is set to a value that
   * the constraint refuses: nothing is saved, and the batch is decided again.
   *
   * PostgreSQL does not define whether prospects or logs are inserted first, and need not: no foreign key joins them.
   */
  record: ({ prospects, logs }, events = []) => {
    const { makesEvents, sent } = eventsBeside(logs, events)
    return record(
      (sql, isInTime) => sql`
        with changed as (
          select 1
        ), saved as (
          insert into prospects as p (${PROSPECT.names})
          select ${PROSPECT.values} from ${PROSPECT.from(inLockOrder(prospects, logs))}
          on conflict (tenant_id, prospect_id) do update set
            email = coalesce(p.email, excluded.email),
            email_hash = case
              when p.erased_at is not null or p.merged_into is not null or p.email_hash <> excluded.email_hash
                or p.external_id_hash <> excluded.external_id_hash then ''
              else coalesce(p.email_hash, excluded.email_hash) end,
            external_id = coalesce(p.external_id, excluded.external_id),
            external_id_hash = coalesce(p.external_id_hash, excluded.external_id_hash),
            name = coalesce(p.name, excluded.name),
            updated_at = greatest(excluded.updated_at, p.updated_at + interval '1 ms')
        ), log as (
          select * from ${SENT_LOG.from(logs.map(sentLog))}
        ), logged as (
          insert into prospect_logs (${LOG.names})
          select ${LOG.values} from log
          order by log.tenant_id, log.source, log.idempotency_key, log.prospect_log_id
        ), log_events as (
          insert into events (${EVENT.names})
          select log.tenant_id, 'event' || right(made.about, 27), null, made.type, made.ids, log.api_key_id, log.created_at
          from log
            cross join lateral (
              values
                ('prospect_log.created', log.prospect_log_id, json_strip_nulls(json_build_object(
                  'prospectId', log.prospect_id, 'prospectLogId', log.prospect_log_id, 'hops', log.hops))),
                ('prospect.created', case when log.created_prospect then log.prospect_id end, json_strip_nulls(
                  json_build_object('prospectId', log.prospect_id, 'hops', log.hops)))
            ) made (type, about, ids)
          where made.about is not null and ${makesEvents} and (${everyEvent} or (
            select true from webhook_endpoints w
            where w.tenant_id = log.tenant_id and w.status = 'enabled' limit 1
          ))
          returning 1
        ), ${newEvents(sent)}
        select ((select count(*) from log_events) + (select count(*) from new_events))::int as events
        where ${isInTime}`,
    )
  },

  recordLogs: (logs, events = []) => {
    const { makesEvents, sent } = eventsBeside(logs, events)
    const added = write<{ id: string }>(
      (sql, isInTime) => sql`
        with log as (
          select * from ${SENT_LOG.from(logs.map(sentLog))}
        ), logged as (
          insert into prospect_logs (${LOG.names})
          select ${LOG.values} from log
          order by log.tenant_id, log.source, log.idempotency_key, log.prospect_log_id
          on conflict (tenant_id, source, idempotency_key) where idempotency_key is not null do nothing
          returning prospect_log_id
        ), log_events as (
          insert into events (${EVENT.names})
          select log.tenant_id, 'event' || right(log.prospect_log_id, 27), null, 'prospect_log.created',
            json_strip_nulls(json_build_object(
              'prospectId', log.prospect_id, 'prospectLogId', log.prospect_log_id, 'hops', log.hops)),
            log.api_key_id, log.created_at
          from log
          where (log.prospect_log_id in (select prospect_log_id from logged)) is true
            and ${makesEvents} and (${everyEvent} or (
              select true from webhook_endpoints w
              where w.tenant_id = log.tenant_id and w.status = 'enabled' limit 1
            ))
          returning 1
        ), new_events as (
          insert into events (${EVENT.names})
          select ${EVENT.values} from ${EVENT.from(sent.map(eventRow))}
          where (event.ids::json ->> 'prospectLogId' in (select prospect_log_id from logged)) is true
            and (${everyEvent} or (
              select true from webhook_endpoints w
              where w.tenant_id = event.tenant_id and w.status = 'enabled' limit 1
            ))
          returning 1
        )
        select prospect_log_id as id,
          ((select count(*) from log_events) + (select count(*) from new_events))::int as events
        from logged where ${isInTime}`,
    )
    return added.then((rows) => rows.map(({ id }) => id), ifOvertaken([]))
  },
})

/**
 * Rows are locked in the order in which they are sent. Two batches that change the same prospects, or add the same
 * emails, do so in the same order, so that they cannot deadlock: first existing prospects by id, then new ones by
 * email. Batches without logs, which do not show who is new, can deadlock, and so can new prospects with the same
 * external ids but different emails: then one of the batches is decided again.
 */
const inLockOrder = (prospects: ActivityChanges['prospects'], logs: ActivityChanges['logs']) => {
  const isAll = logs.length === 0
  const added = new Set(logs.flatMap((log) => (log.createdProspect ? [log.prospectId] : [])))
  const rankOf = ({ prospectId, emailHash, externalIdHash }: (typeof prospects)[number]) =>
    isAll || added.has(prospectId) ? `2${emailHash ?? ''}${externalIdHash ?? ''}` : `1${prospectId}`
  return prospects.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))
}
