import type { Recorded } from '../../core/ports/world.ts'
import { memberOf } from '../stores/columns.ts'
import { COLUMNS, without } from '../stores/rows.ts'
import { timelineKey } from '../stores/timeline-key.ts'
import { inKeyOrder, type PlainLog } from './activities.ts'
import { arrays, columns, type Query } from './sql.ts'
import type { NoteEvents } from './tenants-with-events.ts'

/** The columns of the logs of one tenant. */
const OF_TENANT = without(COLUMNS.prospect_logs, 'tenant_id')
const LOG = arrays('log', { ...OF_TENANT, unchanged_since: 'timestamptz', place: 'tid' })
const STORED = columns('log', without(OF_TENANT, 'created_prospect', 'occurred_at', 'key_scope'))

/**
 * Stores many logs of one tenant, unless the tenant uses events: then it calls `noteEvents`. A prospect that is where it was
 * when it was recalled is read there, without its index: to look up people who are spread over a large table would take a
 * third of the time of this statement.
 */
export const recordQuietLogsOfTenant = async (
  query: Query,
  noteEvents: NoteEvents,
  plainLogs: readonly PlainLog[],
): Promise<Recorded[]> => {
  const tenantId = plainLogs[0]?.log.tenantId ?? ''
  const [row] = await query()<Stored>`
    with stored as (
      insert into prospect_logs (${STORED.names}, tenant_id, created_prospect, occurred_at, key_scope)
      select ${STORED.values}, ${tenantId}, coalesce(log.created_prospect, false),
        coalesce(log.occurred_at, log.created_at), coalesce(log.key_scope, '')
      from ${LOG.fromColumns(columnsOf(inKeyOrder(plainLogs, ({ log }) => log)))}
      where log.unchanged_since = coalesce((
        select p.updated_at from prospects p
        where p.ctid = log.place and p.tenant_id = ${tenantId} and p.prospect_id = log.prospect_id
          and p.erased_at is null and p.merged_into is null
      ), (
        select p.updated_at from prospects p
        where p.tenant_id = ${tenantId} and p.prospect_id = log.prospect_id
          and p.erased_at is null and p.merged_into is null limit 1
      )) and log.prospect_log_id > coalesce((
        select t.closed_to from counted_tenants t where t.tenant_id = ${tenantId} limit 1
      ), '') and (
        select true from webhook_endpoints w where w.tenant_id = ${tenantId} and w.status = 'enabled' limit 1
      ) is null
      on conflict (tenant_id, source, idempotency_key, key_scope) where idempotency_key is not null do nothing
      returning prospect_log_id
    )
    select count(*)::int as count,
      case when count(*) < ${plainLogs.length}::int then string_agg(prospect_log_id, ' ') end as ids,
      (select true from webhook_endpoints w where w.tenant_id = ${tenantId} and w.status = 'enabled' limit 1) as has_events
    from stored`
  if (row?.hasEvents) noteEvents(tenantId)
  if (row?.count === plainLogs.length) return plainLogs.map(() => 'recorded')
  const stored = new Set(row?.ids?.split(' '))
  return plainLogs.map(({ log }) => (stored.has(log.prospectLogId) ? 'recorded' : 'overtaken'))
}

/** Returns the values of a column. Null stands for the usual value, because a column of nulls takes no time. */
const columnsOf = (plainLogs: readonly PlainLog[]) => {
  const logs = plainLogs.map(({ log }) => log)
  const computed: Readonly<Record<string, readonly (string | number | boolean | null)[]>> = {
    createdProspect: logs.map(({ createdProspect }) => createdProspect || null),
    occurredAt: logs.map(({ occurredAt, createdAt }) => (occurredAt === createdAt ? null : occurredAt)),
    keyScope: logs.map(({ keyScope }) => keyScope || null),
    timelineKey: logs.map(({ prospectId, occurredAt }) => timelineKey(prospectId, occurredAt)),
    unchangedSince: plainLogs.map(({ unchangedSince }) => unchangedSince),
    place: plainLogs.map(({ place }) => place),
  }
  return (member: string) => computed[member] ?? logs.map((log) => memberOf(log, member))
}

type Stored = {
  readonly count: number
  /** Unless all were stored. */
  readonly ids: string | null
  readonly hasEvents: true | null
}
