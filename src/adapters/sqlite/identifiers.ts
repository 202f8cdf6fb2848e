import { sha256 } from '../../core/engine/keys.ts'
import type {
  AssumedIdentifier,
  Identifier,
  IdentifierLookup,
  NewIdentifier,
} from '../../core/ports/identifiers.ts'
import { FORMER_TEXTS_MAX } from '../../core/ports/prospects.ts'
import type { Timestamp } from '../../core/ports/world.ts'
import { COLUMNS } from '../stores/rows.ts'
import type { Database } from './open.ts'
import { insertInto } from './statements.ts'

export const IS_IDENTIFIER = 'tenant_id = :tenantId and kind = :kind and hash = :hash'
/** A blocked identifier leads to the empty text, which is no id. */
const FIND_OWNER = `select coalesce(prospect_id, '') as leads_to from identifiers where ${IS_IDENTIFIER}`
const IS_DOMAIN_LISTED = `
  select 1 from identifiers where tenant_id = :tenantId and kind = 'emailDomain' and hash = :hash`
const ADD = insertInto('identifiers', COLUMNS.identifiers)
const RELEASE = `delete from identifiers where ${IS_IDENTIFIER} and prospect_id = :prospectId`
const OF_PROSPECT = 'tenant_id = :tenantId and prospect_id = :prospectId'
const ADD_FORMER = `
  ${insertInto('former_identifiers', COLUMNS.former_identifiers)}
  on conflict (tenant_id, prospect_id, kind, hash) do update set value = excluded.value, released_at = excluded.released_at`
const IS_FORMER = `where ${OF_PROSPECT} and kind = :kind and hash = :hash`
const REMOVE_FORMER = `delete from former_identifiers ${IS_FORMER}`
// Without statistics SQLite would read all former identifiers of the prospect instead of this index.
const CLEAR_OLDER = `
  update former_identifiers set value = null
  where (tenant_id, prospect_id, kind, hash) in (
    select tenant_id, prospect_id, kind, hash from former_identifiers indexed by former_identifiers_shown
    where ${OF_PROSPECT} and kind = :kind and value is not null
    order by released_at desc limit -1 offset ${FORMER_TEXTS_MAX}
  )`
const IN_PERSON = `
  prospect_id in (
    select :prospectId union all
    select prospect_id from prospects indexed by prospects_merged where tenant_id = :tenantId and merged_into = :prospectId
  )`
const FORGET_FORMER = `
  delete from former_identifiers where tenant_id = :tenantId and ${IN_PERSON} and kind = :kind and hash = :hash`
const forgetShown = (column: string) => `
  update prospects indexed by prospects_merged set ${column} = null
  where tenant_id = :tenantId and merged_into = :prospectId and ${column} = :value`
const FORGET_SHOWN = { email: forgetShown('email'), externalId: forgetShown('external_id') }

/** The prospect that an identifier leads to; null if it leads to no prospect, and the empty text if it is blocked. */
const leadsTo = (database: Database, identifier: Identifier): string | null =>
  database.get<{ leadsTo: string }>(FIND_OWNER, identifier)?.leadsTo ?? null

/** Whether the domain of an email is a placeholder of its tenant. */
export const isDomainListed = (database: Database, { tenantId, domain }: IdentifierLookup): boolean =>
  domain !== undefined && database.has(IS_DOMAIN_LISTED, { tenantId, hash: sha256(domain) })

export const isAsAssumed = (database: Database, assumed: AssumedIdentifier): boolean =>
  leadsTo(database, assumed) === assumed.prospectId &&
  (assumed.prospectId !== null || !isDomainListed(database, assumed))

/** Within `record`, adds an identifier. Overtaken if it exists. */
export const addIdentifier = (database: Database, identifier: NewIdentifier): void =>
  void database.run(ADD, { ...identifier, blockedUntil: null, erasureId: null })

/** Within `record`, an identifier that leads to a prospect is no longer a former one of it. */
export const forgetFormer = (database: Database, identifier: NewIdentifier): void =>
  void database.run(REMOVE_FORMER, identifier)

/** Within `record`, adds an identifier unless it leads to its prospect already. Overtaken if it leads elsewhere. */
export const ensureIdentifier = (database: Database, identifier: NewIdentifier): void => {
  if (leadsTo(database, identifier) !== identifier.prospectId) addIdentifier(database, identifier)
  forgetFormer(database, identifier)
}

/** Within `record`, makes an identifier a former one of its prospect. */
export const releaseIdentifier = (
  database: Database,
  identifier: NewIdentifier,
  releasedAt: Timestamp,
): void => {
  database.run(RELEASE, identifier)
  database.run(ADD_FORMER, { ...identifier, releasedAt })
  database.run(CLEAR_OLDER, identifier)
}

/** Within `record`, drops an identifier that never was that of its prospect, nor of those that were merged into it. */
export const forgetIdentifier = (database: Database, identifier: NewIdentifier): void => {
  database.run(RELEASE, identifier)
  database.run(FORGET_FORMER, identifier)
  database.run(FORGET_SHOWN[identifier.kind], identifier)
}
