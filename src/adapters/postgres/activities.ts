import { eventsOfLog } from '../../core/events/new-event.ts'
import type {
  Activities,
  ActivityLookup,
  KnownActivity,
  NewLog,
  Recording,
  StoredProspect,
  StoredReceipt,
} from '../../core/ports/activities.ts'
import type { StoredIdentifier } from '../../core/ports/identifiers.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { domainHasher } from '../stores/people-rows.ts'
import { COLUMNS, PROSPECT_CHANGES, sortedBy, without } from '../stores/rows.ts'
import { logRow, timelineKey } from '../stores/timeline-key.ts'
import { LOOKUPS_MAX, type Together, weightOfChange, weightOfLog } from '../stores/together.ts'
import { numbered, rowsOfEach } from './numbered.ts'
import { EVENT, type Events, eventRow, type Outbox } from './outbox.ts'
import { retriedThenHalved } from './overtaken.ts'
import { arrays, columns, LONG_LIST, piece, type Query } from './sql.ts'

/** One row of `recall`. Its part of the answer is `part`. */
export type RecallRow = { readonly number: number } & (
  | ({ readonly part: 'prospect' } & StoredProspect)
  | ({ readonly part: 'identifier' } & StoredIdentifier)
  | ({ readonly part: 'receipt' } & StoredReceipt)
  | { readonly part: 'counted'; readonly countedId: string }
)

/** A log to record for a prospect that must be unchanged since this time. */
export type PlainLog = {
  readonly log: NewLog
  readonly unchangedSince: string
  /** Of the row of the prospect, see `StoredProspect`. */
  readonly place: string | null
}

const BY_ID = columns('lookup', 'number int, tenant_id, prospect_id')
const BY_IDENTIFIER = columns('lookup', 'number int, tenant_id, kind, hash, domain_hash')
const BY_KEY = columns('lookup', 'number int, tenant_id, source, idempotency_key, key_scope, last_key_scope')
const OF_TENANT = columns('lookup', 'number int, tenant_id')
const CHANGE = columns('change', {
  number: 'int',
  ...PROSPECT_CHANGES,
  unchanged_since: 'timestamptz',
  prospect_log_id: 'text',
  source: 'text',
  idempotency_key: 'text',
  key_scope: 'text',
})
const PROSPECT = columns('change', PROSPECT_CHANGES)
const IDENTIFIER = columns('identifier', 'tenant_id, kind, hash, value, prospect_id')
const NEW_IDENTIFIER = columns('identifier', 'number int, tenant_id, kind, hash, value, prospect_id')
const ASSUMED = columns('assumed', 'number int, tenant_id, kind, hash, domain_hash, prospect_id')
const LOG = columns('log', COLUMNS.prospect_logs)
/** A log, and what only its events show. */
const SENT_LOG = columns('log', { number: 'int', ...COLUMNS.prospect_logs, api_key_id: 'text', hops: 'int' })
const UNCHANGED_LOG = columns('log', { ...COLUMNS.prospect_logs, unchanged_since: 'timestamptz' })
/** The columns of a plain log that differ from log to log. */
const PLAIN_COLUMNS = without(COLUMNS.prospect_logs, 'tenant_id')
const PLAIN_LOG = arrays('log', { ...PLAIN_COLUMNS, sender: 'int', unchanged_since: 'timestamptz' })
const PLAIN = columns('log', without(PLAIN_COLUMNS, 'created_prospect', 'occurred_at', 'key_scope'))
/** Sent once for all logs that share them. */
const SENDER = arrays('sender', 'number int, tenant_id, api_key_id, hops int')
/** The columns of a plain log that its event needs. */
const EVENT_LOG = arrays('log', 'prospect_log_id, prospect_id, created_at timestamptz, sender int')
const NEW_EVENT = columns('event', { number: 'int', ...COLUMNS.events })

/** Columns of `recall` in rows of other parts. */
const NO_PROSPECT = piece`null::text as email, null::text as external_id, null::text as name,
        null::timestamptz as updated_at, null::timestamptz as erased_at, null::text as merged_into, null::tid as place`
const NO_IDENTIFIER = piece`null::text as kind, null::text as hash,
        null::timestamptz as blocked_until, null::text as erasure_id`
const NO_RECEIPT = piece`null::text as prospect_log_id, null::text as source, null::text as type,
        null::text as idempotency_key, null::text as request_hash,
        null::boolean as created_prospect, null::timestamptz as created_at`
const NOT_COUNTED = piece`null::text as counted_id`

/** Stores prospects and their logs. A change that only logs takes a shorter statement than any other. */
export const postgresActivities = (
  query: Query,
  outbox: Outbox,
  together: Together,
): Required<Activities> => {
  const recordAllChanges = retriedThenHalved((recordings: readonly Recording[]) =>
    recordChanges(query, outbox, recordings),
  )
  const changeOptions = {
    tenantOf: ({ change }: Recording) => change.lookup.tenantId,
    weightOf: ({ change }: Recording) => weightOfChange(change),
    claimsOf,
  }
  const recordChange = together.write('activities.record', recordAllChanges, changeOptions)
  const recordChangeBatch = together.writeLists('activities.recordEach', recordAllChanges, {
    ...changeOptions,
    recordAlone: recordChange,
  })
  const recordAllPlain = retriedThenHalved((logs: readonly PlainLog[]) => {
    const [log] = logs
    return log === undefined || logs.length > 1
      ? recordPlainLogs(query, outbox, logs)
      : recordSinglePlainLog(query, outbox, log)
  })
  const plainOptions = {
    tenantOf: ({ log }: PlainLog) => log.tenantId,
    weightOf: ({ log }: PlainLog) => weightOfLog(log),
  }
  const recordPlainLog = together.write('activities.record', recordAllPlain, plainOptions)
  const recordPlainBatch = together.writeLists('activities.recordEach', recordAllPlain, {
    ...plainOptions,
    recordAlone: recordPlainLog,
  })

  return {
    recall: together.read(
      'activities.recall',
      (lookups: readonly ActivityLookup[]) => recallAll(query, lookups),
      { listLengthMax: LOOKUPS_MAX },
    ),

    record: (change, events = []) => {
      const recording = { change, events }
      const plainLog = plainLogIn(recording)
      return plainLog === null ? recordChange(recording) : recordPlainLog(plainLog)
    },

    recordEach: (recordings) => recordApart(recordings, recordPlainBatch, recordChangeBatch),
  }
}

type RecordEach<Change> = (changes: readonly Change[]) => Promise<readonly (Recorded | Error)[]>

/** Records the plain logs of a batch in one way, and its other changes in another. */
export const recordApart = async (
  recordings: readonly Recording[],
  recordPlain: RecordEach<PlainLog>,
  recordOthers: RecordEach<Recording>,
): Promise<readonly (Recorded | Error)[]> => {
  const plainLogs: PlainLog[] = []
  const others: Recording[] = []
  const isPlain = recordings.map((recording) => {
    const plainLog = plainLogIn(recording)
    if (plainLog === null) others.push(recording)
    else plainLogs.push(plainLog)
    return plainLog !== null
  })
  if (others.length === 0) return recordPlain(plainLogs)
  const [ofPlain, ofOthers] = await Promise.all([
    plainLogs.length === 0 ? [] : recordPlain(plainLogs),
    recordOthers(others),
  ])
  const outcomes = { plain: ofPlain.values(), others: ofOthers.values() }
  return isPlain.map((plain) => (plain ? outcomes.plain : outcomes.others).next().value as Recorded | Error)
}

/** What a change saves if that is only a log. */
export const plainLogIn = ({ change, events }: Recording): PlainLog | null => {
  const { log, prospect, unchangedSince, assumed } = change
  const isPlain = prospect.updatedAt === unchangedSince && assumed.length === 0 && events.length === 0
  return isPlain && log !== null ? { log, unchangedSince, place: prospect.place ?? null } : null
}

/** The identifiers and the key that a change adds, and the prospect that it fills. */
export const claimsOf = ({ change }: Pick<Recording, 'change'>): string[] => {
  const { prospect, unchangedSince, identifiers, log } = change
  const { tenantId, prospectId, updatedAt } = prospect
  const claims = identifiers.map(({ kind, hash }) => `${tenantId} ${kind} ${hash}`)
  if (unchangedSince !== null && updatedAt !== unchangedSince) claims.push(`${tenantId} ${prospectId}`)
  if (log?.idempotencyKey != null)
    claims.push(`${tenantId} ${log.source}\0${log.idempotencyKey}\0${log.keyScope}`)
  return claims
}

/** With its limit each look-up uses its whole key, whatever the planner assumes of the tables. */
const recallAll = async (query: Query, lookups: readonly ActivityLookup[]): Promise<KnownActivity[]> => {
  const all = numbered(lookups)
  const byId = all.filter(({ prospectId }) => prospectId !== undefined)
  const hashOfDomain = domainHasher()
  const identifiers = all.flatMap(({ number, identifiers }) =>
    identifiers.map((identifier) => ({ ...identifier, domainHash: hashOfDomain(identifier), number })),
  )
  const keys = all.flatMap(({ number, tenantId, key }) => (key ? [{ number, tenantId, ...key }] : []))
  const rows = await query()<RecallRow>`
    select lookup.number, 'prospect' as part, p.tenant_id, p.prospect_id,
      p.email, p.external_id, p.name, p.updated_at, p.erased_at, p.merged_into, p.ctid as place,
      ${NO_IDENTIFIER}, ${NO_RECEIPT}, ${NOT_COUNTED}
    from ${BY_ID.fromFew(byId)}
      cross join lateral (
        select *, p.ctid from prospects p
        where p.tenant_id = lookup.tenant_id and p.prospect_id = lookup.prospect_id limit 1
      ) p
    union all
    -- Two rows for each identifier: the identifier, and the prospect that it leads to, if there is one. A domain is looked up
    -- only if its email was not found.
    select lookup.number, parts.part, i.tenant_id, i.prospect_id,
      p.email, p.external_id, p.name, p.updated_at, null as erased_at, null as merged_into, p.ctid as place,
      lookup.kind, lookup.hash, i.blocked_until, i.erasure_id,
      ${NO_RECEIPT}, ${NOT_COUNTED}
    from ${BY_IDENTIFIER.fromFew(identifiers)}
      cross join lateral (
        (select * from identifiers i
        where i.tenant_id = lookup.tenant_id and i.kind = lookup.kind and i.hash = lookup.hash limit 1)
        union all
        (select * from identifiers i
        where i.tenant_id = lookup.tenant_id and i.kind = 'emailDomain' and i.hash = lookup.domain_hash limit 1)
        limit 1
      ) i
      left join lateral (
        select *, p.ctid from prospects p
        where p.tenant_id = i.tenant_id and p.prospect_id = i.prospect_id limit 1
      ) p on true
      cross join (values ('identifier'), ('prospect')) parts (part)
    where parts.part = 'identifier' or p.prospect_id is not null
    union all
    select lookup.number, 'receipt' as part, l.tenant_id, l.prospect_id,
      ${NO_PROSPECT}, ${NO_IDENTIFIER},
      l.prospect_log_id, l.source, l.type, l.idempotency_key, l.request_hash, l.created_prospect, l.created_at,
      ${NOT_COUNTED}
    from ${BY_KEY.fromFew(keys)}
      cross join lateral (
        select * from prospect_logs l
        where l.tenant_id = lookup.tenant_id and l.source = lookup.source
          and l.idempotency_key = lookup.idempotency_key
          and l.key_scope between lookup.key_scope and lookup.last_key_scope
        order by l.key_scope desc limit 1
      ) l
    union all
    select lookup.number, 'counted' as part, t.tenant_id, null as prospect_id,
      ${NO_PROSPECT}, ${NO_IDENTIFIER}, ${NO_RECEIPT},
      t.closed_to as counted_id
    from ${OF_TENANT.fromFew(all)}
      cross join lateral (select * from counted_tenants t where t.tenant_id = lookup.tenant_id limit 1) t`
  return rowsOfEach(lookups, rows).map(knownOf)
}

export const knownOf = (rows: readonly RecallRow[]): KnownActivity => {
  const counted = rows.find((row) => row.part === 'counted')
  return {
    prospects: rows.filter((row) => row.part === 'prospect'),
    identifiers: rows.filter((row) => row.part === 'identifier'),
    receipt: rows.find((row) => row.part === 'receipt') ?? null,
    countedId: counted?.countedId ?? null,
  }
}

/**
 * Saves each change whole or not at all. If another writer adds the same identifier or key at the same moment, the table
 * refuses the statement.
 *
 * Rows are locked in the order in which they are sent, so that two lists that change the same prospects, or add the
 * same identifiers, do not wait for each other.
 */
const recordChanges = async (
  query: Query,
  { announce, everyEvent }: Outbox,
  recordings: readonly Recording[],
): Promise<Recorded[]> => {
  const changes = sortedBy(
    recordings.map(({ change: { prospect, attributes, unchangedSince, log } }, number) => ({
      ...prospect,
      number,
      attributes,
      createdAt: prospect.updatedAt,
      unchangedSince,
      prospectLogId: log?.prospectLogId ?? null,
      source: log?.source ?? null,
      idempotencyKey: log?.idempotencyKey ?? null,
      keyScope: log?.keyScope ?? null,
    })),
    'tenantId',
    'prospectId',
  )
  const logs = inKeyOrder(
    numberedRows(recordings, ({ change: { log } }) => (log === null ? [] : [sentLog(log)])),
    (log) => log,
  )
  const identifiers = numberedRows(recordings, ({ change }) => change.identifiers)
  const filling = identifiers.filter(({ number }) => recordings[number]?.change.unchangedSince !== null)
  const hashOfDomain = domainHasher()
  const assumed = numberedRows(recordings, ({ change }) =>
    change.assumed.map((identifier) => ({ ...identifier, domainHash: hashOfDomain(identifier) })),
  )
  const newEvents = numberedRows(recordings, ({ events }) => events.map(eventRow))
  const from = recordings.length < LONG_LIST ? 'from' : 'fromArrays'
  const rows = await announce(
    query()<Events & { readonly number: number }>`
      with change as (
        select * from ${CHANGE[from](changes)}
      ),
      -- An identifier no longer leads where the decision saw it lead. One that leads to no one may be of a listed domain.
      broken as (
        select assumed.number from ${ASSUMED[from](assumed)}
          left join lateral (
            select coalesce(i.prospect_id, 'blocked') as leads_to from identifiers i
            where i.tenant_id = assumed.tenant_id and i.kind = assumed.kind and i.hash = assumed.hash limit 1
          ) i on true
        where i.leads_to is distinct from assumed.prospect_id or assumed.prospect_id is null and (
          select true from identifiers i
          where i.tenant_id = assumed.tenant_id and i.kind = 'emailDomain' and i.hash = assumed.domain_hash limit 1
        )
      ),
      -- The changes whose assumptions hold: the tenant or the prospect is unchanged, and the key is free.
      changed as (
        select change.* from change
        where (change.number in (select number from broken)) is not true
          and case
            when change.unchanged_since is null then (
              select true from tenants t where t.tenant_id = change.tenant_id and t.deleted_at is null limit 1
            )
            else change.unchanged_since = (
              select p.updated_at from prospects p
              where p.tenant_id = change.tenant_id and p.prospect_id = change.prospect_id
                and p.erased_at is null and p.merged_into is null limit 1
            )
          end
          and (change.prospect_log_id is null or change.prospect_log_id > coalesce((
            select t.closed_to from counted_tenants t where t.tenant_id = change.tenant_id limit 1
          ), ''))
          and (change.idempotency_key is null or (
            select true from prospect_logs l
            where l.tenant_id = change.tenant_id and l.source = change.source
              and l.idempotency_key = change.idempotency_key and l.key_scope = change.key_scope limit 1
          ) is null)
      ),
      -- A prospect that no decision has seen before.
      added as (
        insert into prospects (${PROSPECT.names})
        select ${PROSPECT.values} from changed change where change.unchanged_since is null
      ),
      -- Another writer may have changed the prospect since the check above, so it is checked again.
      filled as (
        update prospects p set email = change.email, external_id = change.external_id, name = change.name,
          attributes = coalesce(change.attributes::json, p.attributes), updated_at = change.updated_at
        from changed change
        where change.updated_at <> change.unchanged_since
          and p.tenant_id = change.tenant_id and p.prospect_id = change.prospect_id
          and p.updated_at = change.unchanged_since and p.erased_at is null and p.merged_into is null
        returning change.number
      ),
      -- All that follows is stored only for these changes.
      saved as (
        select number from changed where unchanged_since is null or updated_at = unchanged_since
        union all
        select number from filled
      ),
      -- A taken identifier makes the primary key refuse the whole statement.
      identified as (
        insert into identifiers (${IDENTIFIER.names})
        select ${IDENTIFIER.values}
        from ${NEW_IDENTIFIER[from](sortedBy(identifiers, 'tenantId', 'kind', 'hash'))}
        where (identifier.number in (select number from saved)) is true
      ),
      -- An identifier that fills an existing prospect is no longer a former one of it.
      regained as (
        delete from former_identifiers f using ${NEW_IDENTIFIER[from](filling)}
        where f.tenant_id = identifier.tenant_id and f.prospect_id = identifier.prospect_id
          and f.kind = identifier.kind and f.hash = identifier.hash
          and (identifier.number in (select number from saved)) is true
      ),
      -- A log whose change was not saved must leave no trace.
      log as (
        select * from ${SENT_LOG[from](logs)}
        where (log.number in (select number from saved)) is true
      ),
      logged as (
        insert into prospect_logs (${LOG.names})
        select ${LOG.values} from log
      ),
      -- A tenant without an enabled endpoint needs no events, unless every tenant has them.
      new_events as (
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
        where made.about is not null and (${everyEvent} or (
          select true from webhook_endpoints w
          where w.tenant_id = log.tenant_id and w.status = 'enabled' limit 1
        ))
        union all
        select ${EVENT.values} from ${NEW_EVENT[from](newEvents)}
        where (event.number in (select number from saved)) is true and (${everyEvent} or (
          select true from webhook_endpoints w
          where w.tenant_id = event.tenant_id and w.status = 'enabled' limit 1
        ))
        returning 1
      )
      select number, (select count(*)::int from new_events) as events from saved`,
  )
  const saved = new Set(rows.map(({ number }) => number))
  return recordings.map((_, number) => (saved.has(number) ? 'recorded' : 'overtaken'))
}

type Keyed = Pick<NewLog, 'tenantId' | 'source' | 'idempotencyKey'> & { readonly keyScope: string | null }
/**
 * Logs sorted by their keys, so that two lists with the same keys wait for each other in the same order. Most have none. A sort
 * in the statement would take a fifth of its time.
 */
export const inKeyOrder = <Row>(rows: readonly Row[], logOf: (row: Row) => Keyed): readonly Row[] => {
  const isKeyed = (row: Row) => logOf(row).idempotencyKey !== null
  if (!rows.some(isKeyed)) return rows
  const keyed = rows.filter(isKeyed).map((row) => {
    const { tenantId, source, idempotencyKey, keyScope } = logOf(row)
    return { row, tenantId, source, idempotencyKey, keyScope: keyScope ?? '' }
  })
  const sorted = sortedBy(keyed, 'tenantId', 'source', 'idempotencyKey', 'keyScope').map(({ row }) => row)
  return sorted.concat(rows.filter((row) => !isKeyed(row)))
}

/** The rows of each recording, with the number of their recording. */
const numberedRows = <Row extends object>(
  recordings: readonly Recording[],
  rowsOf: (recording: Recording) => readonly Row[],
) => recordings.flatMap((recording, number) => rowsOf(recording).map((row) => ({ ...row, number })))

/** `recordPlainLogs` for one log, which is sent as parameters: arrays would take PostgreSQL half as long again. */
const recordSinglePlainLog = async (
  query: Query,
  { announce, newEvents }: Outbox,
  { log, unchangedSince }: PlainLog,
): Promise<Recorded[]> => {
  const rows = await announce(
    query()<Events>`
      with changed as (
        insert into prospect_logs (${LOG.names})
        select ${LOG.values} from ${UNCHANGED_LOG.fromFew([{ ...logRow(log), unchangedSince }])}
        where log.unchanged_since = (
          select p.updated_at from prospects p
          where p.tenant_id = log.tenant_id and p.prospect_id = log.prospect_id
            and p.erased_at is null and p.merged_into is null limit 1
        ) and log.prospect_log_id > coalesce((
          select t.closed_to from counted_tenants t where t.tenant_id = log.tenant_id limit 1
        ), '')
        on conflict (tenant_id, source, idempotency_key, key_scope) where idempotency_key is not null do nothing
        returning 1
      ), ${newEvents(eventsOfLog(log))}
      select (select count(*)::int from new_events) as events from changed`,
  )
  return [rows.length > 0 ? 'recorded' : 'overtaken']
}

/**
 * Saves changes that only log, each for a prospect that all of its identifiers lead to. Most activities are such: the
 * statement only checks that their prospects are unchanged since they were recalled, and has no parts that write prospects
 * or identifiers. What it needs to know of a tenant, it looks up once for each sender. Without an enabled endpoint it skips
 * the events.
 */
const recordPlainLogs = async (
  query: Query,
  { announce, everyEvent }: Outbox,
  plainLogs: readonly PlainLog[],
): Promise<Recorded[]> => {
  const { logs, senders } = bySender(plainLogs)
  const [row] = await announce(
    query()<Events & { readonly stored: number; readonly storedIds: string | null }>`
      with sender as materialized (
        select sender.*,
          (select t.closed_to from counted_tenants t where t.tenant_id = sender.tenant_id limit 1) as closed_to,
          ${everyEvent} or (
            select true from webhook_endpoints w
            where w.tenant_id = sender.tenant_id and w.status = 'enabled' limit 1
          ) is true as has_events
        from ${SENDER.from(senders)}
      ),
      -- Arrays by the number of the sender, because a join would compare each log with each sender.
      senders as materialized (
        select array_agg(tenant_id order by number) as tenant_ids,
          array_agg(api_key_id order by number) as api_key_ids,
          array_agg(hops order by number) as hops,
          array_agg(coalesce(closed_to, '') order by number) as closed_to,
          array_agg(has_events order by number) as have_events,
          bool_or(has_events) as any_has_events
        from sender
      ),
      -- A log whose key another one has taken is not stored, and so is overtaken.
      logged as (
        insert into prospect_logs (${PLAIN.names}, tenant_id, created_prospect, occurred_at, key_scope)
        select ${PLAIN.values}, p.tenant_id, coalesce(log.created_prospect, false),
          coalesce(log.occurred_at, log.created_at), coalesce(log.key_scope, '')
        from ${PLAIN_LOG.from(logs)}
          join prospects p on p.tenant_id = (select tenant_ids from senders)[log.sender]
            and p.prospect_id = log.prospect_id
        where p.updated_at = log.unchanged_since and p.erased_at is null and p.merged_into is null
          and log.prospect_log_id > (select closed_to from senders)[log.sender]
        on conflict (tenant_id, source, idempotency_key, key_scope) where idempotency_key is not null do nothing
        returning prospect_log_id
      ),
      -- Each stored log has one event, if its tenant uses events.
      new_events as (
        insert into events (${EVENT.names})
        select (select tenant_ids from senders)[log.sender], 'event' || right(log.prospect_log_id, 27), null,
          'prospect_log.created', json_strip_nulls(json_build_object(
            'prospectId', log.prospect_id, 'prospectLogId', log.prospect_log_id,
            'hops', (select hops from senders)[log.sender])),
          (select api_key_ids from senders)[log.sender], log.created_at
        from ${EVENT_LOG.from(logs)}
        where (select any_has_events from senders) and (select have_events from senders)[log.sender]
          and (log.prospect_log_id in (select prospect_log_id from logged)) is true
        returning 1
      )
      select count(*)::int as stored, (select count(*)::int from new_events) as events,
        case when count(*) < ${logs.length}::int then string_agg(prospect_log_id, ' ') end as stored_ids
      from logged`,
  )
  if (row?.stored === logs.length) return logs.map(() => 'recorded')
  const stored = new Set(row?.storedIds?.split(' '))
  return plainLogs.map(({ log }) => (stored.has(log.prospectLogId) ? 'recorded' : 'overtaken'))
}

/** The rows of plain logs, and their senders. */
const bySender = (plainLogs: readonly PlainLog[]) => {
  const numbers = new Map<string, number>()
  const senders: object[] = []
  const logs = plainLogs.map(({ log, unchangedSince }) => {
    const { tenantId, apiKeyId = null, hops = null } = log
    const key = `${tenantId} ${apiKeyId} ${hops}`
    let sender = numbers.get(key)
    if (sender === undefined) {
      sender = senders.length + 1
      numbers.set(key, sender)
      senders.push({ number: sender, tenantId, apiKeyId, hops: hops || null })
    }
    // Null stands for the usual value, because a column of nulls takes no time.
    const createdProspect = log.createdProspect || null
    const occurredAt = log.occurredAt === log.createdAt ? null : log.occurredAt
    const keyScope = log.keyScope || null
    const timeline = timelineKey(log.prospectId, log.occurredAt)
    return { ...log, timelineKey: timeline, createdProspect, occurredAt, keyScope, sender, unchangedSince }
  })
  return { senders, logs: inKeyOrder(logs, (log) => log) }
}

const sentLog = (log: NewLog) => ({
  ...logRow(log),
  apiKeyId: log.apiKeyId ?? null,
  hops: log.hops || null,
})
