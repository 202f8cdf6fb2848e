import type { AssumedIdentifier, Identifier, NewIdentifier } from '../../core/ports/identifiers.ts'
import type { Timestamp } from '../../core/ports/world.ts'
import { COLUMNS } from '../stores/rows.ts'
import type { Database } from './open.ts'
import { insertInto } from './statements.ts'

/** Former identifiers of a kind that keep their text; older ones keep only the hash. */
const FORMER_VALUES_MAX = 20

export const IS_IDENTIFIER = 'tenant_id = :tenantId and kind = :kind and hash = :hash'
/** A blocked identifier leads to the empty text, which is no id. */
const FIND_OWNER = `select coalesce(prospect_id, '') as leads_to from identifiers where ${IS_IDENTIFIER}`
const ADD = insertInto('identifiers', COLUMNS.identifiers)
const RELEASE = `delete from identifiers where ${IS_IDENTIFIER} and prospect_id = :prospectId`
const OF_PROSPECT = 'tenant_id = :tenantId and prospect_id = :prospectId'
const ADD_FORMER = `
  ${insertInto('former_identifiers', COLUMNS.former_identifiers)}
  on conflict (tenant_id, prospect_id, kind, hash) do update set value = excluded.value, released_at = excluded.released_at`
const IS_FORMER = `where ${OF_PROSPECT} and kind = :kind and hash = :hash`
const REMOVE_FORMER = `delete from former_identifiers ${IS_FORMER}`
const CLEAR_FORMER = `update former_identifiers set value = null ${IS_FORMER}`
// Sorted by the program: without an index on the time SQLite would build one.
const LIST_FORMER = `
  select hash, released_at from former_identifiers where ${OF_PROSPECT} and kind = :kind and value is not null`

/** The prospect that an identifier leads to; null if it leads to none, and the empty text if it is blocked. */
const leadsTo = (database: Database, identifier: Identifier): string | null =>
  database.get<{ leadsTo: string }>(FIND_OWNER, identifier)?.leadsTo ?? null

export const isAsAssumed = (database: Database, assumed: AssumedIdentifier): boolean =>
  leadsTo(database, assumed) === assumed.prospectId

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
  const newestFirst = database
    .all<{ hash: string; releasedAt: Timestamp }>(LIST_FORMER, identifier)
    .sort((a, b) => (a.releasedAt < b.releasedAt ? 1 : -1))
  for (const { hash } of newestFirst.slice(FORMER_VALUES_MAX)) {
    database.run(CLEAR_FORMER, { ...identifier, hash })
  }
}
