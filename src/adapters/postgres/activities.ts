import type { Activities, KnownActivities, NewLog } from '../../core/ports/activities.ts'
import { COLUMNS, PROSPECT_CHANGES, sortedBy } from '../stores/rows.ts'
import { logRow } from '../stores/timeline-key.ts'
import { EVENT, type Events, type Outbox } from './outbox.ts'
import { ifOvertaken } from './overtaken.ts'
import { columns, type Query } from './sql.ts'

/** One row of `recall`: which of the lists it belongs to shows in `part`. */
type RecallRow =
  | ({ readonly part: 'prospect' } & KnownActivities['prospects'][number])
  | ({ readonly part: 'identifier' } & KnownActivities['identifiers'][number])
  | ({ readonly part: 'receipt' } & KnownActivities['receipts'][number])
  | ({ readonly part: 'counted' } & KnownActivities['counted'][number])

const TENANT = columns('want', 'tenant_id')
const BY_ID = columns('want', 'tenant_id, prospect_id')
const BY_IDENTIFIER = columns('want', 'tenant_id, kind, hash')
const BY_KEY = columns('want', 'tenant_id, source, idempotency_key')
const PROSPECT = columns('change', PROSPECT_CHANGES)
const IDENTIFIER = columns('identifier', 'tenant_id, kind, hash, value, prospect_id')
const ASSUMED = columns('assumed', 'tenant_id, kind, hash, prospect_id')
const LOG = columns('log', COLUMNS.prospect_logs)
/** A log, and what only its events show. */
const SENT_LOG = columns('log', { ...COLUMNS.prospect_logs, api_key_id: 'text', hops: 'int' })
const sentLog = (log: NewLog) => ({ ...logRow(log), apiKeyId: log.apiKeyId ?? null, hops: log.hops || null })
const REMEMBERED_LOG = columns('log', {
  ...COLUMNS.prospect_logs,
  api_key_id: 'text',
  hops: 'int',
  prospect_updated_at: 'timestamptz',
})

/** With its limit each look-up uses its whole key, whatever the planner assumes of the tables. */
export const postgresActivities = (
  query: Query,
  { rowsOf, recorded, newEvents, everyEvent }: Outbox,
): Activities => ({
  recall: async ({ prospects, identifiers, keys, tenantIds }) => {
    const tenants = tenantIds.map((tenantId) => ({ tenantId }))
    const rows = await query()<RecallRow>`
      select 'prospect' as part, p.tenant_id, p.prospect_id, p.email, p.external_id, p.name, p.updated_at, p.erased_at,
        p.merged_into,
        null as kind, null as hash, null::timestamptz as blocked_until, null as erasure_id, null as prospect_log_id,
        null as source, null as type, null as idempotency_key, null as request_hash, null::boolean as created_prospect,
        null::timestamptz as created_at, null as counted_id
      from ${BY_ID.from(prospects)}
        cross join lateral (
          select * from prospects p where p.tenant_id = want.tenant_id and p.prospect_id = want.prospect_id limit 1
        ) p
      union all
      select made.part, i.tenant_id, i.prospect_id, p.email, p.external_id, p.name, p.updated_at, null, null,
        i.kind, i.hash, i.blocked_until, i.erasure_id, null, null, null, null, null, null, null, null
      from ${BY_IDENTIFIER.from(identifiers)}
        cross join lateral (
          select * from identifiers i
          where i.tenant_id = want.tenant_id and i.kind = want.kind and i.hash = want.hash limit 1
        ) i
        left join lateral (
          select * from prospects p where p.tenant_id = i.tenant_id and p.prospect_id = i.prospect_id limit 1
        ) p on true
        cross join (values ('identifier'), ('prospect')) made (part)
      where made.part = 'identifier' or p.prospect_id is not null
      union all
      select 'receipt', l.tenant_id, l.prospect_id, null, null, null, null, null, null, null, null, null, null,
        l.prospect_log_id, l.source, l.type, l.idempotency_key, l.request_hash, l.created_prospect, l.created_at, null
      from ${BY_KEY.from(keys)}
        cross join lateral (
          select * from prospect_logs l
          where l.tenant_id = want.tenant_id and l.source = want.source
            and l.idempotency_key = want.idempotency_key limit 1
        ) l
      union all
      select 'counted', t.tenant_id, null, null, null, null, null, null, null, null, null, null, null,
        null, null, null, null, null, null, null, t.closed_to
      from ${TENANT.from(tenants)}
        cross join lateral (select * from counted_tenants t where t.tenant_id = want.tenant_id limit 1) t`
    return {
      prospects: rows.filter((row) => row.part === 'prospect'),
      identifiers: rows.filter((row) => row.part === 'identifier'),
      receipts: rows.filter((row) => row.part === 'receipt'),
      counted: rows
        .filter((row) => row.part === 'counted')
        .map(({ tenantId, countedId }) => ({ tenantId, countedId })),
    }
  },

  /**
   * An existing prospect keeps its values. If it was erased, merged or filled otherwise since this batch was decided, the
   * time of its last change becomes null, which the table refuses: then nothing is saved, and the batch is decided again.
   * An identifier that was added meanwhile is refused by its key. Everything else is compared first, in `changed`.
   *
   * An identifier that fills an existing prospect is no former one of it any more.
   *
   * Rows are locked in the order in which they are sent, so that two batches that change the same prospects, or add the
   * same identifiers, do not wait for each other.
   */
  record: ({ prospects, identifiers, logs, assumed }, events) => {
    const isAdded = new Set(logs.flatMap((log) => (log.createdProspect ? [log.prospectId] : [])))
    const filled = prospects.filter(({ prospectId }) => !isAdded.has(prospectId))
    const changes = [
      ...sortedBy(filled, 'tenantId', 'prospectId'),
      ...prospects.filter(({ prospectId }) => isAdded.has(prospectId)),
    ]
    const regained = identifiers.filter(({ prospectId }) => !isAdded.has(prospectId))
    return recorded(
      query()<Events>`
        with log as (
          select * from ${SENT_LOG.from(logs.map(sentLog))}
        ), change as (
          select * from ${PROSPECT.from(changes)}
        ), changed as (
          select 1
          where not exists (
            select 1 from ${ASSUMED.from(assumed)}
              left join lateral (
                select coalesce(i.prospect_id, 'blocked') as leads_to from identifiers i
                where i.tenant_id = assumed.tenant_id and i.kind = assumed.kind and i.hash = assumed.hash limit 1
              ) i on true
            where i.leads_to is distinct from assumed.prospect_id
          ) and not exists (
            select 1 from log
            where not exists (
              select 1 from change c where c.tenant_id = log.tenant_id and c.prospect_id = log.prospect_id
            ) and (
              select true from prospects p
              where p.tenant_id = log.tenant_id and p.prospect_id = log.prospect_id
                and p.erased_at is null and p.merged_into is null limit 1
            ) is null
          ) and not exists (
            select 1 from log
              cross join lateral (
                select * from counted_tenants t where t.tenant_id = log.tenant_id limit 1
              ) t
            where log.prospect_log_id <= t.closed_to
          ) and not exists (
            select 1 from change
            where (
              select true from tenants t where t.tenant_id = change.tenant_id and t.deleted_at is null limit 1
            ) is null
          )
        ), saved as (
          insert into prospects as p (${PROSPECT.names})
          select ${PROSPECT.values} from change where exists (select 1 from changed)
          on conflict (tenant_id, prospect_id) do update set
            email = coalesce(p.email, excluded.email),
            external_id = coalesce(p.external_id, excluded.external_id),
            name = coalesce(p.name, excluded.name),
            updated_at = case
              when p.erased_at is null and p.merged_into is null
                and (excluded.email is null or p.email is null or p.email = excluded.email)
                and (excluded.external_id is null or p.external_id is null or p.external_id = excluded.external_id)
              then greatest(excluded.updated_at, p.updated_at + interval '1 ms') end
        ), identified as (
          insert into identifiers (${IDENTIFIER.names})
          select ${IDENTIFIER.values}
          from ${IDENTIFIER.from(sortedBy(identifiers, 'tenantId', 'kind', 'hash'))}
          where exists (select 1 from changed)
        ), regained as (
          delete from former_identifiers f using ${IDENTIFIER.from(regained)}
          where f.tenant_id = identifier.tenant_id and f.prospect_id = identifier.prospect_id
            and f.kind = identifier.kind and f.hash = identifier.hash and exists (select 1 from changed)
        ), logged as (
          insert into prospect_logs (${LOG.names})
          select ${LOG.values} from log where exists (select 1 from changed)
          order by log.tenant_id, log.source, log.idempotency_key, log.prospect_log_id
        ), log_events as (
          insert into events (${EVENT.names})
          select log.tenant_id, 'event' || right(made.about, 27), null, made.type, made.ids, log.api_key_id, log.created_at
          from log
            cross join lateral (
              values
                ('prospect_log.created', log.prospect_log_id, json_strip_nulls(json_build_object(
                  'prospectId', log.prospect_id, 'prospectLogId', log.prospect_log_id, 'hops', log.hops))),
                ('prospect.created', case when log.created_prospect then log.prospect_id end,
                  json_strip_nulls(json_build_object('prospectId', log.prospect_id, 'hops', log.hops)))
            ) made (type, about, ids)
          where made.about is not null and exists (select 1 from changed) and (${everyEvent} or (
            select true from webhook_endpoints w
            where w.tenant_id = log.tenant_id and w.status = 'enabled' limit 1
          ))
          returning 1
        ), ${newEvents(events)}
        select ((select count(*) from log_events) + (select count(*) from new_events))::int as events from changed`,
    )
  },

  /** Without `is true` the planner may join all logs with those that were stored. */
  recordLogs: (logs) =>
    rowsOf(
      query()<Events & { readonly id: string }>`
        with log as (
          select * from ${REMEMBERED_LOG.from(logs.map(sentLog))}
        ), logged as (
          insert into prospect_logs (${LOG.names})
          select ${LOG.values} from log
          where log.prospect_updated_at = (
            select p.updated_at from prospects p
            where p.tenant_id = log.tenant_id and p.prospect_id = log.prospect_id
              and p.erased_at is null and p.merged_into is null limit 1
          ) and log.prospect_log_id > coalesce((
            select t.closed_to from counted_tenants t where t.tenant_id = log.tenant_id limit 1
          ), '')
          order by log.tenant_id, log.source, log.idempotency_key, log.prospect_log_id
          on conflict (tenant_id, source, idempotency_key) where idempotency_key is not null do nothing
          returning prospect_log_id
        ), new_events as (
          insert into events (${EVENT.names})
          select log.tenant_id, 'event' || right(log.prospect_log_id, 27), null, 'prospect_log.created',
            json_strip_nulls(json_build_object(
              'prospectId', log.prospect_id, 'prospectLogId', log.prospect_log_id, 'hops', log.hops)),
            log.api_key_id, log.created_at
          from log
          where (log.prospect_log_id in (select prospect_log_id from logged)) is true and (${everyEvent} or (
            select true from webhook_endpoints w
            where w.tenant_id = log.tenant_id and w.status = 'enabled' limit 1
          ))
          returning 1
        )
        select prospect_log_id as id, (select count(*)::int from new_events) as events from logged`,
    ).then((rows) => rows.map(({ id }) => id), ifOvertaken([])),
})
