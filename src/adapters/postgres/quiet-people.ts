import type { LogChange, Recording } from '../../core/ports/activities.ts'
import type { IdentifierKind } from '../../core/ports/identifiers.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { domainHasher } from '../stores/people-rows.ts'
import { COLUMNS, sortedBy } from '../stores/rows.ts'
import { logRow } from '../stores/timeline-key.ts'
import { columns, type Query } from './sql.ts'
import { type NoteEvents, orTenantsWithEvents, type StoredRow, storedIn } from './tenants-with-events.ts'

const LOG = columns('log', COLUMNS.prospect_logs)
/** A log, and what it does not contain of the person whom it adds. */
const LOG_OF_NEW_PERSON = columns('log', {
  ...COLUMNS.prospect_logs,
  person_email: 'text',
  person_external_id: 'text',
  person_name: 'text',
  attributes: 'json',
  email_hash: 'text',
  external_id_hash: 'text',
  domain_hash: 'text',
})

/** A recording that only adds a person with a log, if the person takes all identifiers that were looked up; else null. */
export const newPersonIn = ({ change, events }: Recording): LogChange | null => {
  const { log, prospect, unchangedSince, identifiers, assumed } = change
  if (log === null || unchangedSince !== null || events.length > 0) return null
  const takesEach = assumed.every(
    ({ kind, hash, prospectId }) => prospectId === null && hashOf(identifiers, kind) === hash,
  )
  const hasEach = identifiers.every(({ kind, value }) => prospect[kind] === value)
  const isFirst = prospect.updatedAt === log.createdAt
  return takesEach && hasEach && isFirst ? { ...change, log } : null
}

/**
 * Saves each person whole or not at all. An identifier or a key that another writer adds at the same moment makes the table refuse
 * the statement. Logs are sorted by their keys before they are sent, and identifiers by the statement, so that two lists do not
 * wait for each other.
 */
export const recordQuietPeople = async (
  query: Query,
  noteEvents: NoteEvents,
  changes: readonly LogChange[],
): Promise<Recorded[]> => {
  const hashOfDomain = domainHasher()
  const logs = changes.map((change) => ({
    ...rowOf(change),
    domainHash: hashOfDomain(change.assumed.find(({ kind }) => kind === 'email')),
  }))
  const sorted = logs.some(({ idempotencyKey }) => idempotencyKey !== null)
    ? sortedBy(logs, 'tenantId', 'source', 'idempotencyKey', 'keyScope')
    : logs
  const rows = await query()<StoredRow>`
    with log as (
      select * from ${LOG_OF_NEW_PERSON.fromAny(sorted)}
      where (
        select true from tenants t where t.tenant_id = log.tenant_id and t.deleted_at is null limit 1
      ) and (
        select true from webhook_endpoints w where w.tenant_id = log.tenant_id and w.status = 'enabled' limit 1
      ) is null and log.prospect_log_id > coalesce((
        select t.closed_to from counted_tenants t where t.tenant_id = log.tenant_id limit 1
      ), '') and (log.email_hash is null or (
        select true from identifiers i
        where i.tenant_id = log.tenant_id and i.kind = 'email' and i.hash = log.email_hash limit 1
      ) is null) and (log.external_id_hash is null or (
        select true from identifiers i
        where i.tenant_id = log.tenant_id and i.kind = 'externalId' and i.hash = log.external_id_hash limit 1
      ) is null) and (log.domain_hash is null or (
        select true from identifiers i
        where i.tenant_id = log.tenant_id and i.kind = 'emailDomain' and i.hash = log.domain_hash limit 1
      ) is null) and (log.idempotency_key is null or (
        select true from prospect_logs l
        where l.tenant_id = log.tenant_id and l.source = log.source
          and l.idempotency_key = log.idempotency_key and l.key_scope = log.key_scope limit 1
      ) is null)
    ),
    identified as (
      insert into identifiers (tenant_id, kind, hash, value, prospect_id)
      select log.tenant_id, 'email' as kind, log.email_hash as hash, log.person_email, log.prospect_id
      from log where log.email_hash is not null
      union all
      select log.tenant_id, 'externalId', log.external_id_hash, log.person_external_id, log.prospect_id
      from log where log.external_id_hash is not null
      order by tenant_id, kind, hash
    ),
    added as (
      insert into prospects (tenant_id, prospect_id, email, external_id, name, attributes, created_at, updated_at)
      select log.tenant_id, log.prospect_id, log.person_email, log.person_external_id, log.person_name,
        log.attributes::json, log.created_at, log.created_at
      from log
    ),
    logged as (
      insert into prospect_logs (${LOG.names}) select ${LOG.values} from log
    )
    select prospect_log_id, null as tenant_id from log
    ${orTenantsWithEvents(logs)}`
  const stored = storedIn(rows, noteEvents)
  return logs.map(({ prospectLogId }) => (stored.has(prospectLogId) ? 'recorded' : 'overtaken'))
}

const rowOf = ({ log, prospect, attributes, identifiers }: LogChange) => ({
  ...logRow(log),
  personEmail: prospect.email,
  personExternalId: prospect.externalId,
  personName: prospect.name,
  attributes,
  emailHash: hashOf(identifiers, 'email'),
  externalIdHash: hashOf(identifiers, 'externalId'),
})
const hashOf = (identifiers: LogChange['identifiers'], kind: IdentifierKind): string | null =>
  identifiers.find((identifier) => identifier.kind === kind)?.hash ?? null
