import {
  FORMER_OWNERS_READ_MAX,
  FORMER_TEXTS_MAX,
  LEADING_LISTED_MAX,
  type ProspectIdentifier,
  type ProspectKey,
  type Prospects,
} from '../../core/ports/prospects.ts'
import { IDENTIFIER_KINDS } from '../../core/prospects/identifiers.ts'
import { afterStart, begins, nameKeysOf, SEARCHED_MAX } from '../../core/prospects/search-keys.ts'
import { COLUMNS, foundProspect, type ProspectRow, without } from '../stores/rows.ts'
import { AFTER_ALL_IDS, scan } from '../stores/take-slice.ts'
import { ensureIdentifier, forgetIdentifier, IS_IDENTIFIER, releaseIdentifier } from './identifiers.ts'
import type { Database } from './open.ts'
import type { Outbox } from './outbox.ts'
import { BEFORE_ID } from './statements.ts'

const SHOWN = Object.keys(COLUMNS.prospects)
const OF_TENANT = `select ${SHOWN} from prospects where tenant_id = :tenantId`
const FIND = `${OF_TENANT} and prospect_id = :prospectId`
const WITHOUT_EMAIL = Object.keys(without(COLUMNS.prospects, 'email'))
const IS_KNOWN = 'where tenant_id = :tenantId and erased_at is null'
// Without statistics SQLite would scan all prospects of the tenant instead of this index; here and in other files.
const WITH_MERGED = `
  select ${WITHOUT_EMAIL}, email from prospects ${IS_KNOWN} and prospect_id = :prospectId and merged_into is null
  union all select ${WITHOUT_EMAIL}, null from prospects indexed by prospects_merged ${IS_KNOWN} and merged_into = :prospectId
  order by merged_into, prospect_id`
const BY_IDENTIFIER = `
  ${OF_TENANT} and prospect_id = (select prospect_id from identifiers where ${IS_IDENTIFIER}) and prospect_id < ${BEFORE_ID}`
const LIST = `${OF_TENANT} and prospect_id < ${BEFORE_ID} order by prospect_id desc`
const LIST_OLDEST = `${OF_TENANT} and prospect_id > :afterId order by prospect_id`
const startsOf = (column: string, start: string) => `
  select prospect_id from prospects indexed by prospects_${column === 'email' ? column : column.replace('_key', '')}_start
  where tenant_id = :tenantId and is_searched = 1 and ${column} >= :${start} and ${column} < :after limit ${SEARCHED_MAX}`
const STARTS = [
  [startsOf('email', 'emailStart'), 'emailStart'],
  [startsOf('name_key', 'nameStart'), 'nameStart'],
  [startsOf('last_name_key', 'nameStart'), 'nameStart'],
] as const
const NEWEST = `
  select prospect_id, email, name from prospects
  where tenant_id = :tenantId and prospect_id < '${AFTER_ALL_IDS}' order by prospect_id desc limit ${SEARCHED_MAX}`
type NewestRow = ProspectKey & Readonly<Record<'email' | 'name', string | null>>
const CORRECT = `
  update prospects set email = :email, external_id = :externalId, name = :name, name_key = :nameKey,
    last_name_key = :lastNameKey, attributes = :attributes, updated_at = :updatedAt
  where tenant_id = :tenantId and prospect_id = :prospectId`
// Sorted by the program: otherwise SQLite would walk along all hashes of the tenant.
const LEADING = `
  select kind, value, hash from identifiers indexed by identifiers_of_prospect
  where tenant_id = :tenantId and prospect_id = :prospectId and kind = :kind`
const FORMER = `
  select f.kind, f.value, f.hash, f.released_at from former_identifiers f indexed by former_identifiers_shown
  where f.tenant_id = :tenantId and f.prospect_id = :prospectId and f.kind = :kind and f.value is not null
  order by f.released_at desc limit ${FORMER_TEXTS_MAX}`
const MERGED_IDS = `
  select tenant_id, prospect_id from prospects indexed by prospects_merged
  where tenant_id = :tenantId and merged_into = :prospectId`
const FORMER_OWNERS = `
  with had as (
    select prospect_id, released_at from former_identifiers indexed by former_identifiers_by_hash
    where ${IS_IDENTIFIER} order by released_at desc limit ${FORMER_OWNERS_READ_MAX}
  )
  select coalesce(p.merged_into, p.prospect_id) as owner_id
  from had cross join prospects p on p.tenant_id = :tenantId and p.prospect_id = had.prospect_id
  where p.erased_at is null
  group by 1 order by max(had.released_at) desc, 1 desc limit :limit`
type IdentifierRow = Omit<ProspectIdentifier, 'isFormer'> & {
  readonly hash: string
  readonly releasedAt: string
}

/**
 * Whether a prospect is living and unchanged. A merge into it would have changed its `updated_at`, so the prospects
 * that were merged into it are the same, too.
 */
export const IS_UNCHANGED = `
  select 1 from prospects
  where tenant_id = :tenantId and prospect_id = :prospectId and erased_at is null and merged_into is null
    and updated_at = :updatedAt and email is :email and external_id is :externalId and name is :name`

export const sqliteProspects = (database: Database, outbox: Outbox): Prospects => ({
  find: async (lookup) => {
    const row = database.get<ProspectRow>(FIND, lookup)
    return row && foundProspect(row)
  },

  findWithMerged: async (lookup) => database.all<ProspectRow>(WITH_MERGED, lookup).map(foundProspect),

  list: async (lookup) => {
    const { identifier } = lookup
    if (identifier !== null) {
      const rows = database.all<ProspectRow>(BY_IDENTIFIER, { ...identifier, ...lookup })
      return { rows: rows.map(foundProspect), resume: null }
    }
    const isShown = ({ erasedAt, mergedInto }: ProspectRow) => erasedAt === null && mergedInto === null
    const scanSlice = (rows: Iterable<ProspectRow>) =>
      scan(rows, lookup.limit, isShown, ({ prospectId }) => prospectId)
    const { rows, resume } = database.iterate(scanSlice, LIST, lookup)
    return { rows: rows.map(foundProspect), resume }
  },

  search: async (lookup) => {
    // The newest may not be indexed yet.
    const isWanted = ({ email, name }: NewestRow) => {
      const { nameKey, lastNameKey } = nameKeysOf(name)
      return (
        begins(email, lookup.emailStart) ||
        begins(nameKey, lookup.nameStart) ||
        begins(lastNameKey, lookup.nameStart)
      )
    }
    const some: ProspectKey[] = database.all<NewestRow>(NEWEST, lookup).filter(isWanted)
    for (const [sql, start] of STARTS)
      if (lookup[start] !== '')
        some.push(...database.all<ProspectKey>(sql, { ...lookup, after: afterStart(lookup[start]) }))
    const ids = [...new Set(some.map(({ prospectId }) => prospectId))].sort().reverse().slice(0, lookup.limit)
    const lookups = ids.map((prospectId) => ({ ...lookup, prospectId }))
    const rows = database.getEach<ProspectRow>(FIND, lookups)
    return rows.filter(({ erasedAt }) => erasedAt === null).map(foundProspect)
  },

  // A slice reads one row more than its limit.
  listOldest: async (lookup) =>
    database.slice<ProspectRow>(LIST_OLDEST, { ...lookup, limit: lookup.limit - 1 }).map(foundProspect),

  identifiers: async (lookup) => {
    const identifiers: ProspectIdentifier[] = []
    for (const kind of IDENTIFIER_KINDS) {
      const leading = database.all<IdentifierRow>(LEADING, { ...lookup, kind }).sort(byHash)
      for (const { value } of leading.slice(0, LEADING_LISTED_MAX))
        identifiers.push({ kind, value, isFormer: false })
    }
    const person = [lookup, ...database.all<ProspectKey>(MERGED_IDS, lookup)]
    for (const kind of IDENTIFIER_KINDS) {
      const former = person.flatMap((key) => database.all<IdentifierRow>(FORMER, { ...key, kind }))
      for (const { value } of former.sort(byRelease).slice(0, FORMER_TEXTS_MAX))
        identifiers.push({ kind, value, isFormer: true })
    }
    return identifiers
  },

  formerOwners: async (lookup) =>
    database.all<{ readonly ownerId: string }>(FORMER_OWNERS, lookup).map(({ ownerId }) => ownerId),

  correct: ({ before, after, added, released, forgotten }, events) =>
    database.record(() => {
      if (!database.has(IS_UNCHANGED, before)) return 'overtaken'
      database.run(CORRECT, { ...after, ...nameKeysOf(after.name) })
      for (const identifier of released) releaseIdentifier(database, identifier, after.updatedAt)
      for (const identifier of forgotten) forgetIdentifier(database, identifier)
      for (const identifier of added) ensureIdentifier(database, identifier)
      outbox.add(events)
      return 'recorded'
    }),
})

const byHash = (a: IdentifierRow, b: IdentifierRow): number => (a.hash < b.hash ? -1 : 1)
/** Newest first. */
const byRelease = (a: IdentifierRow, b: IdentifierRow): number =>
  a.releasedAt === b.releasedAt ? byHash(a, b) : a.releasedAt < b.releasedAt ? 1 : -1
