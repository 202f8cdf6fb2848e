import { eventsOfLog } from '../../core/events/new-event.ts'
import type {
  Activities,
  ActivityChange,
  ActivityLookup,
  KnownActivity,
} from '../../core/ports/activities.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { AssumedIdentifier } from '../../core/ports/identifiers.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { claimsOf, knownOf, type RecallRow } from '../postgres/activities.ts'
import { numbered, rowsOfEach } from '../postgres/numbered.ts'
import { retriedThenHalved } from '../postgres/overtaken.ts'
import { columns, piece, type Query, textArray } from '../postgres/sql.ts'
import { domainHasher } from '../stores/people-rows.ts'
import { COLUMNS, PROSPECT_CHANGES, sortedBy } from '../stores/rows.ts'
import { logRow } from '../stores/timeline-key.ts'
import { LOOKUPS_MAX, type Together, weightOfChange } from '../stores/together.ts'
import type { Outbox } from './outbox.ts'
import { readByTenant, tenantsOf } from './read-by-tenant.ts'
import type { Send, Transact } from './transaction.ts'

/** A change to record with its events. */
type Recording = { readonly change: ActivityChange; readonly events: readonly NewEvent[] }

const BY_ID = columns('lookup', 'number int, prospect_id')
const BY_IDENTIFIER = columns('lookup', 'number int, kind, hash, domain_hash')
const BY_KEY = columns('lookup', 'number int, source, idempotency_key, key_scope, last_key_scope')
const ALL = columns('lookup', 'number int')
const PROSPECT = columns('prospect', PROSPECT_CHANGES)
const FILLED = columns('change', { ...PROSPECT_CHANGES, unchanged_since: 'timestamptz' })
const IDENTIFIER = columns('identifier', 'tenant_id, kind, hash, value, prospect_id')
const LOG = columns('log', COLUMNS.prospect_logs)

/** Columns of `recall` in rows of other parts. */
const NO_PROSPECT = piece`null::text as email, null::text as external_id, null::text as name,
        null::timestamptz as updated_at, null::timestamptz as erased_at, null::text as merged_into`
const NO_IDENTIFIER = piece`null::text as kind, null::text as hash,
        null::timestamptz as blocked_until, null::text as erasure_id`
const NO_RECEIPT = piece`null::text as prospect_log_id, null::text as source, null::text as type,
        null::text as idempotency_key, null::text as request_hash,
        null::boolean as created_prospect, null::timestamptz as created_at`
const NOT_COUNTED = piece`null::text as counted_id`

/** Stores prospects and their logs. A list to record is for tenants of one node. */
export const citusActivities = (
  query: Query,
  transact: Transact,
  outbox: Outbox,
  together: Together,
): Activities => {
  const record = together.write(
    'activities.record',
    retriedThenHalved(async (recordings: readonly Recording[]) => {
      const [first] = recordings
      const saving = transact(first?.change.lookup.tenantId ?? '', (send) =>
        recordChanges(send, outbox, recordings),
      )
      return (await outbox.announce(saving)).results
    }),
    {
      tenantOf: ({ change }) => change.lookup.tenantId,
      weightOf: ({ change }) => weightOfChange(change),
      claimsOf,
    },
  )
  return {
    recall: together.read(
      'activities.recall',
      readByTenant((tenantId, lookups: readonly ActivityLookup[]) => recallAll(query, tenantId, lookups)),
      { listLengthMax: LOOKUPS_MAX },
    ),
    record: (change, events = []) => record({ change, events }),
  }
}

const isNew = ({ change }: Recording): boolean => change.unchangedSince === null
/** Whether a change writes a prospect that exists. */
const fills = ({ change: { prospect, unchangedSince } }: Recording): boolean =>
  unchangedSince !== null && prospect.updatedAt !== unchangedSince

/** With its limit each look-up uses its whole key, whatever the planner assumes of the tables. */
const recallAll = async (
  query: Query,
  tenantId: string,
  lookups: readonly ActivityLookup[],
): Promise<KnownActivity[]> => {
  const all = numbered(lookups)
  const byId = all.filter(({ prospectId }) => prospectId !== undefined)
  const hashOfDomain = domainHasher()
  const identifiers = all.flatMap(({ number, identifiers }) =>
    identifiers.map((identifier) => ({ ...identifier, domainHash: hashOfDomain(identifier), number })),
  )
  const keys = all.flatMap(({ number, key }) => (key ? [{ number, ...key }] : []))
  const rows = await query(tenantId)<RecallRow>`
    select lookup.number, 'prospect' as part, p.tenant_id, p.prospect_id,
      p.email, p.external_id, p.name, p.updated_at, p.erased_at, p.merged_into,
      ${NO_IDENTIFIER}, ${NO_RECEIPT}, ${NOT_COUNTED}
    from ${BY_ID.from(byId)}
      cross join lateral (
        select * from prospects p where p.tenant_id = ${tenantId} and p.prospect_id = lookup.prospect_id limit 1
      ) p
    union all
    -- Two rows for each identifier: the identifier, and the prospect that it leads to, if there is one. A domain is looked
    -- up only if its email was not found.
    select lookup.number, parts.part, i.tenant_id, i.prospect_id,
      p.email, p.external_id, p.name, p.updated_at, null as erased_at, null as merged_into,
      lookup.kind, lookup.hash, i.blocked_until, i.erasure_id,
      ${NO_RECEIPT}, ${NOT_COUNTED}
    from ${BY_IDENTIFIER.from(identifiers)}
      cross join lateral (
        (select * from identifiers i
        where i.tenant_id = ${tenantId} and i.kind = lookup.kind and i.hash = lookup.hash limit 1)
        union all
        (select * from identifiers i
        where i.tenant_id = ${tenantId} and i.kind = 'emailDomain' and i.hash = lookup.domain_hash limit 1)
        limit 1
      ) i
      left join lateral (
        select * from prospects p where p.tenant_id = ${tenantId} and p.prospect_id = i.prospect_id limit 1
      ) p on true
      cross join (values ('identifier'), ('prospect')) parts (part)
    where parts.part = 'identifier' or p.prospect_id is not null
    union all
    select lookup.number, 'receipt' as part, l.tenant_id, l.prospect_id,
      ${NO_PROSPECT}, ${NO_IDENTIFIER},
      l.prospect_log_id, l.source, l.type, l.idempotency_key, l.request_hash, l.created_prospect, l.created_at,
      ${NOT_COUNTED}
    from ${BY_KEY.from(keys)}
      cross join lateral (
        select * from prospect_logs l
        where l.tenant_id = ${tenantId} and l.source = lookup.source
          and l.idempotency_key = lookup.idempotency_key
          and l.key_scope between lookup.key_scope and lookup.last_key_scope
        order by l.key_scope desc limit 1
      ) l
    union all
    select lookup.number, 'counted' as part, t.tenant_id, null as prospect_id,
      ${NO_PROSPECT}, ${NO_IDENTIFIER}, ${NO_RECEIPT},
      t.closed_to as counted_id
    from ${ALL.from(all)}
      cross join lateral (select * from counted_tenants t where t.tenant_id = ${tenantId} limit 1) t`
  return rowsOfEach(lookups, rows).map(knownOf)
}

/**
 * Saves each change whole or not at all. If another writer adds the same identifier or key at the same moment, the table
 * refuses the statement.
 *
 * Rows are locked in the order in which they are sent, so that two lists that change the same prospects, or add the
 * same identifiers, do not wait for each other.
 */
const recordChanges = async (send: Send, outbox: Outbox, recordings: readonly Recording[]) => {
  const { isAsDecided, users } = await readAssumed(send, outbox, recordings)
  const decided = recordings.filter(isAsDecided)
  const filled = await fillProspects(send, decided.filter(fills))
  const saved = new Set(decided.filter((recording) => !fills(recording) || filled.has(recording)))
  const logs = [...saved].flatMap(({ change }) => change.log ?? [])
  const events = [...saved]
    .flatMap(({ change, events }) => [...(change.log === null ? [] : eventsOfLog(change.log)), ...events])
    .filter(({ tenantId }) => users.has(tenantId))

  const created = [...saved].filter(isNew).map(({ change: { prospect, attributes } }) => {
    return { ...prospect, attributes, createdAt: prospect.updatedAt }
  })
  const identifiers = sortedBy(
    [...saved].flatMap(({ change }) => change.identifiers),
    'tenantId',
    'kind',
    'hash',
  )
  const filling = [...saved].filter((recording) => !isNew(recording))
  if (created.length > 0)
    send`insert into prospects (${PROSPECT.names})
      select ${PROSPECT.values} from ${PROSPECT.from(sortedBy(created, 'tenantId', 'prospectId'))}`
  // A taken identifier makes the primary key refuse the whole statement.
  if (identifiers.length > 0)
    send`insert into identifiers (${IDENTIFIER.names})
      select ${IDENTIFIER.values} from ${IDENTIFIER.from(identifiers)}`
  forgetFormer(send, filling)
  // Sorted by the key, so that two lists with the same keys wait for each other in the same order.
  if (logs.length > 0)
    send`insert into prospect_logs (${LOG.names}) select ${LOG.values} from ${LOG.from(
      sortedBy(logs.map(logRow), 'tenantId', 'source', 'idempotencyKey', 'keyScope', 'prospectLogId'),
    )}`
  if (events.length > 0) outbox.add(send, events)
  const results = recordings.map((recording): Recorded => (saved.has(recording) ? 'recorded' : 'overtaken'))
  return { results, hasEvents: events.length > 0 }
}

/**
 * Reads what these changes assumed, and returns whether it holds for one of them: each identifier leads where the decision
 * saw it lead, the prospect is unchanged or the tenant still there, the key is free, and the log not counted already. Also
 * returns the tenants that use events. Most changes only log for a known prospect: then all of this is one statement. Each
 * of its tables names the tenants, or Citus would read all shards.
 */
const readAssumed = async (send: Send, outbox: Outbox, recordings: readonly Recording[]) => {
  const changes = recordings.map(({ change }) => change)
  const known = changes.filter(({ unchangedSince }) => unchangedSince !== null)
  const hashOfDomain = domainHasher()
  const assumed = changes.flatMap((change) => change.assumed)
  const domainHashes = assumed.flatMap((identifier) => hashOfDomain(identifier) ?? [])
  const keyed = changes.flatMap(({ log }) => (log?.idempotencyKey == null ? [] : log))
  const tenantIds = textArray(tenantsOf(changes.map(({ lookup }) => lookup)))
  const listed = (values: readonly (string | null)[]) => textArray([...new Set(values)])

  const tenantsOfNew = tenantsOf(
    changes.filter((change) => change.unchangedSince === null).map(({ lookup }) => lookup),
  )
  const [prospects, tenants, identifiers, keys, counted, usersOfNew] = await Promise.all([
    known.length === 0
      ? []
      : send<KnownRow>`
          select p.tenant_id, p.prospect_id, p.updated_at, t.closed_to, exists (
              select 1 from webhook_endpoints w
              where w.tenant_id = p.tenant_id and w.tenant_id = any (${tenantIds}::text[]) and w.status = 'enabled'
            ) as uses_events
          from prospects p
            left join counted_tenants t on t.tenant_id = p.tenant_id and t.tenant_id = any (${tenantIds}::text[])
          where p.tenant_id = any (${tenantIds}::text[])
            and p.prospect_id = any (${listed(known.map(({ prospect }) => prospect.prospectId))}::text[])
            and p.erased_at is null and p.merged_into is null`,
    tenantsOfNew.length === 0
      ? []
      : send<{ tenantId: string }>`
          select t.tenant_id from tenants t
          where t.tenant_id = any (${textArray(tenantsOfNew)}::text[]) and t.deleted_at is null`,
    assumed.length === 0
      ? []
      : send<{ tenantId: string; kind: string; hash: string; prospectId: string | null }>`
          select i.tenant_id, i.kind, i.hash, i.prospect_id from identifiers i
          where i.tenant_id = any (${tenantIds}::text[])
            and i.kind = any (${listed([...assumed.map(({ kind }) => kind), 'emailDomain'])}::text[])
            and i.hash = any (${listed([...assumed.map(({ hash }) => hash), ...domainHashes])}::text[])`,
    keyed.length === 0
      ? []
      : send<{ tenantId: string; source: string; idempotencyKey: string; keyScope: string }>`
          select l.tenant_id, l.source, l.idempotency_key, l.key_scope from prospect_logs l
          where l.tenant_id = any (${tenantIds}::text[])
            and l.source = any (${listed(keyed.map(({ source }) => source))}::text[])
            and l.idempotency_key = any (${listed(keyed.map(({ idempotencyKey }) => idempotencyKey))}::text[])
            and l.key_scope = any (${listed(keyed.map(({ keyScope }) => keyScope))}::text[])`,
    tenantsOfNew.length === 0
      ? []
      : send<Pick<KnownRow, 'tenantId' | 'closedTo'>>`
          select t.tenant_id, t.closed_to from counted_tenants t
          where t.tenant_id = any (${textArray(tenantsOfNew)}::text[])`,
    outbox.usersOf(send, tenantsOfNew),
  ])

  const updatedAt = new Map(prospects.map((row) => [`${row.tenantId} ${row.prospectId}`, row.updatedAt]))
  const kept = new Set(tenants.map(({ tenantId }) => tenantId))
  const leadsTo = new Map(
    identifiers.map((row) => [`${row.tenantId} ${row.kind} ${row.hash}`, row.prospectId ?? BLOCKED]),
  )
  const taken = new Set(keys.map(nameOfKey))
  const closedTo = new Map([...prospects, ...counted].map((row) => [row.tenantId, row.closedTo]))
  const usersOfKnown = prospects
    .filter((row) => outbox.everyEvent || row.usesEvents)
    .map((row) => row.tenantId)
  const users = new Set([...usersOfNew, ...usersOfKnown])
  const isAsDecided = ({ change: { prospect, unchangedSince, assumed, log } }: Recording): boolean => {
    const { tenantId, prospectId } = prospect
    const isUnchanged =
      unchangedSince === null
        ? kept.has(tenantId)
        : updatedAt.get(`${tenantId} ${prospectId}`) === unchangedSince
    const isDomainListed = (identifier: AssumedIdentifier) =>
      leadsTo.has(`${tenantId} emailDomain ${hashOfDomain(identifier)}`)
    const leadAsAssumed = assumed.every((identifier) => {
      const { kind, hash, prospectId } = identifier
      const leadsToId = leadsTo.get(`${tenantId} ${kind} ${hash}`) ?? null
      return leadsToId === prospectId && (prospectId !== null || !isDomainListed(identifier))
    })
    const canBeAdded =
      log === null ||
      (log.prospectLogId > (closedTo.get(tenantId) ?? '') &&
        (log.idempotencyKey === null || !taken.has(nameOfKey(log))))
    return isUnchanged && leadAsAssumed && canBeAdded
  }
  return { isAsDecided, users }
}

/** A prospect that is unchanged, and what concerns its tenant. */
type KnownRow = {
  readonly tenantId: string
  readonly prospectId: string
  readonly updatedAt: string
  readonly closedTo: string | null
  readonly usesEvents: boolean
}

/** What an identifier leads to that leads to no prospect. */
const BLOCKED = 'blocked'
const nameOfKey = (key: {
  readonly tenantId: string
  readonly source: string
  readonly idempotencyKey: string | null
  readonly keyScope: string
}): string => [key.tenantId, key.source, key.idempotencyKey, key.keyScope].join('\0')

/** Writes prospects that exist, and returns the changes whose prospect was still the same. */
const fillProspects = async (
  send: Send,
  recordings: readonly Recording[],
): Promise<ReadonlySet<Recording>> => {
  const byProspect = new Map(recordings.map((recording) => [recording.change.prospect.prospectId, recording]))
  const changes = sortedBy(
    recordings.map(({ change: { prospect, attributes, unchangedSince } }) => ({
      ...prospect,
      attributes,
      createdAt: prospect.updatedAt,
      unchangedSince,
    })),
    'tenantId',
    'prospectId',
  )
  const written = [...Map.groupBy(changes, ({ tenantId }) => tenantId)].map(
    ([tenantId, changes]) => send<{ prospectId: string }>`
      update prospects p set email = change.email, external_id = change.external_id, name = change.name,
        attributes = coalesce(change.attributes::json, p.attributes), updated_at = change.updated_at
      from ${FILLED.from(changes)}
      where p.tenant_id = ${tenantId} and p.prospect_id = change.prospect_id
        and p.updated_at = change.unchanged_since and p.erased_at is null and p.merged_into is null
      returning p.prospect_id`,
  )
  const rows = (await Promise.all(written)).flat()
  return new Set(rows.flatMap(({ prospectId }) => byProspect.get(prospectId) ?? []))
}

/** An identifier that fills an existing prospect is no longer a former one of it. */
const forgetFormer = (send: Send, recordings: readonly Recording[]): void => {
  const identifiers = recordings.flatMap(({ change }) => change.identifiers)
  for (const [tenantId, added] of Map.groupBy(identifiers, ({ tenantId }) => tenantId))
    send`
      delete from former_identifiers f using ${IDENTIFIER.from(added)}
      where f.tenant_id = ${tenantId} and f.prospect_id = identifier.prospect_id
        and f.kind = identifier.kind and f.hash = identifier.hash`
}
