import type { Activities, LogChange, Recording } from '../../core/ports/activities.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { COLUMNS, sortedBy } from '../stores/rows.ts'
import { logRow } from '../stores/timeline-key.ts'
import { type Together, weightOfChange, weightOfLog } from '../stores/together.ts'
import { claimsOf, type PlainLog, plainLogIn, recordApart } from './activities.ts'
import { retriedThenHalved } from './overtaken.ts'
import { recordQuietLogsOfTenant } from './quiet-logs-of-tenant.ts'
import { newPersonIn, recordQuietPeople } from './quiet-people.ts'
import { columns, type Query } from './sql.ts'
import {
  type NoteEvents,
  orTenantsWithEvents,
  rememberTenantsWithEvents,
  type StoredRow,
  storedIn,
} from './tenants-with-events.ts'

const STORED = columns('log', COLUMNS.prospect_logs)
const QUIET_LOG = columns('log', { ...COLUMNS.prospect_logs, unchanged_since: 'timestamptz' })

/**
 * Activities that store a plain log, or a new person with a log, by a statement without events: the first takes PostgreSQL
 * two thirds, the second half of the time of the one with events. They store nothing of a tenant that uses events, nor what
 * is overtaken: that goes to the other statement. Which tenants had events is remembered, to save the first of the two
 * statements.
 */
export const skippingUnusedEvents = (
  activities: Required<Activities>,
  query: Query,
  together: Together,
): Activities => {
  const { hasEvents, noteEvents, countDown } = rememberTenantsWithEvents()
  const plainOptions = {
    tenantOf: ({ log }: PlainLog) => log.tenantId,
    weightOf: ({ log }: PlainLog) => weightOfLog(log),
  }
  const recordQuietLog = together.write(
    'activities.record',
    retriedThenHalved((logs: readonly PlainLog[]) =>
      areManyOfOneTenant(logs)
        ? recordQuietLogsOfTenant(query, noteEvents, logs)
        : recordQuietLogs(query, noteEvents, logs),
    ),
    plainOptions,
  )
  const recordQuietLists = together.writeLists(
    'activities.recordEach',
    retriedThenHalved((logs: readonly PlainLog[]) => recordQuietLogsOfTenant(query, noteEvents, logs)),
    { ...plainOptions, recordAlone: recordQuietLog },
  )
  const recordQuietPerson = together.write(
    'activities.record',
    retriedThenHalved((changes: readonly LogChange[]) => recordQuietPeople(query, noteEvents, changes)),
    {
      tenantOf: ({ log }) => log.tenantId,
      weightOf: weightOfChange,
      claimsOf: (change) => claimsOf({ change }),
    },
  )
  /** Null if neither statement stores the change. */
  const recordQuietly = (recording: Recording): Promise<Recorded> | null => {
    const plainLog = plainLogIn(recording)
    if (plainLog !== null) return recordQuietLog(plainLog)
    const newPerson = newPersonIn(recording)
    return newPerson && recordQuietPerson(newPerson)
  }

  return {
    ...activities,
    record: (change, events = []) => {
      const { tenantId } = change.lookup
      countDown(tenantId)
      const recorded = hasEvents(tenantId) ? null : recordQuietly({ change, events })
      if (recorded === null) return activities.record(change, events)
      return recorded.then((outcome) =>
        outcome === 'overtaken' && hasEvents(tenantId) ? activities.record(change, events) : outcome,
      )
    },
    recordEach: async (recordings) => {
      const tenantId = recordings[0]?.change.lookup.tenantId ?? ''
      const isOfTenant = recordings.every(({ change }) => change.lookup.tenantId === tenantId)
      countDown(tenantId)
      if (!isOfTenant || hasEvents(tenantId)) return activities.recordEach(recordings)
      const outcomes = await recordApart(recordings, recordQuietLists, activities.recordEach)
      if (!outcomes.includes('overtaken') || !hasEvents(tenantId)) return outcomes
      const overtaken = recordings.filter((_, i) => outcomes[i] === 'overtaken')
      const later = (await activities.recordEach(overtaken)).values()
      return outcomes.map((outcome) => (outcome === 'overtaken' ? (later.next().value ?? outcome) : outcome))
    },
  }
}

/** The statement for logs of one tenant takes PostgreSQL less time: for 32 of them three quarters. */
const LOGS_OF_TENANT_MIN = 8
const areManyOfOneTenant = (logs: readonly PlainLog[]): boolean => {
  const tenantId = logs[0]?.log.tenantId
  return logs.length >= LOGS_OF_TENANT_MIN && logs.every(({ log }) => log.tenantId === tenantId)
}

/**
 * Calls `noteEvents` for tenants that use events. Logs are sorted by their keys before they are sent, so that two lists with
 * the same keys wait for each other in the same order; a sort in the statement takes a fifth of its time.
 */
const recordQuietLogs = async (
  query: Query,
  noteEvents: NoteEvents,
  plainLogs: readonly PlainLog[],
): Promise<Recorded[]> => {
  const logs = plainLogs.map(({ log, unchangedSince }) => ({ ...logRow(log), unchangedSince }))
  const sorted = logs.some(({ idempotencyKey }) => idempotencyKey !== null)
    ? sortedBy(logs, 'tenantId', 'source', 'idempotencyKey', 'keyScope')
    : logs
  const rows = await query()<StoredRow>`
    with stored as (
      insert into prospect_logs (${STORED.names})
      select ${STORED.values} from ${QUIET_LOG.fromAny(sorted)}
      where log.unchanged_since = (
        select p.updated_at from prospects p
        where p.tenant_id = log.tenant_id and p.prospect_id = log.prospect_id
          and p.erased_at is null and p.merged_into is null limit 1
      ) and log.prospect_log_id > coalesce((
        select t.closed_to from counted_tenants t where t.tenant_id = log.tenant_id limit 1
      ), '') and (
        select true from webhook_endpoints w where w.tenant_id = log.tenant_id and w.status = 'enabled' limit 1
      ) is null
      on conflict (tenant_id, source, idempotency_key, key_scope) where idempotency_key is not null do nothing
      returning prospect_log_id
    )
    select prospect_log_id, null as tenant_id from stored
    ${orTenantsWithEvents(logs)}`
  const stored = storedIn(rows, noteEvents)
  return logs.map(({ prospectLogId }) => (stored.has(prospectLogId) ? 'recorded' : 'overtaken'))
}
