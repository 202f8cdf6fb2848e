import { eachInTurn } from '../../core/engine/in-order.ts'
import type { FoundProspect, KnownProspect, Prospects, ProspectWant } from '../../core/ports/prospects.ts'
import { NO_IDENTIFIERS } from '../../core/prospects/identifiers.ts'
import { afterStart, begins, nameKeysOf, SEARCHED_MAX } from '../../core/prospects/search-keys.ts'
import { KNOWN_PROSPECT, SHOWN_PROSPECT, without } from '../stores/rows.ts'
import { AFTER_ALL_IDS, scan } from '../stores/take-slice.ts'
import type { Outbox } from './events.ts'
import { BEFORE_ID, type Database } from './open.ts'

const SHOWN = Object.keys(SHOWN_PROSPECT)
const OF_TENANT = `select ${SHOWN} from prospects where tenant_id = :tenantId`
const FIND = `${OF_TENANT} and prospect_id = :prospectId`
const KNOWN = Object.keys(without(KNOWN_PROSPECT, 'email'))
const IS_KNOWN = 'where tenant_id = :tenantId and erased_at is null'
// Without statistics SQLite would scan all prospects of the tenant instead of this index; here and in other files.
const WITH_MERGED = `
  select ${KNOWN}, email from prospects ${IS_KNOWN} and prospect_id = :prospectId and merged_into is null
  union all select ${KNOWN}, null from prospects indexed by prospects_merged ${IS_KNOWN} and merged_into = :prospectId
  order by merged_into, prospect_id`
const IS_LISTED = `prospect_id < ${BEFORE_ID} and erased_at is null`
const BY_EMAIL = `${OF_TENANT} and email_hash = :emailHash and ${IS_LISTED}`
const BY_EXTERNAL_ID = `${OF_TENANT} and external_id_hash = :externalIdHash and ${IS_LISTED}`
const LIST = `${OF_TENANT} and prospect_id < ${BEFORE_ID} order by prospect_id desc`
const LIST_OLDEST = `${OF_TENANT} and prospect_id > :afterId order by prospect_id`
const startsOf = (column: string, start: string) => `
  select prospect_id from prospects indexed by prospects_${column === 'email' ? column : column.replace('_key', '')}_start
  where tenant_id = :tenantId and ${column} >= :${start} and ${column} < :after limit ${SEARCHED_MAX}`
const STARTS = [
  [startsOf('email', 'emailStart'), 'emailStart'],
  [startsOf('name_key', 'nameStart'), 'nameStart'],
  [startsOf('last_name_key', 'nameStart'), 'nameStart'],
] as const
const NEWEST = `
  select prospect_id, email, name_key, last_name_key from prospects
  where tenant_id = :tenantId and prospect_id < '${AFTER_ALL_IDS}' order by prospect_id desc limit ${SEARCHED_MAX}`
type SearchRow = ProspectWant & Readonly<Record<'email' | 'nameKey' | 'lastNameKey', string | null>>
/** Prospects that were merged into this one give up the values that it will have. */
const GIVE_UP = `
  update prospects indexed by prospects_merged set
    email = iif(email_hash = :emailHash, null, email), email_hash = nullif(email_hash, :emailHash),
    external_id = iif(external_id_hash = :externalIdHash, null, external_id),
    external_id_hash = nullif(external_id_hash, :externalIdHash)
  where tenant_id = :tenantId and merged_into = :prospectId
    and (email_hash = :emailHash or external_id_hash = :externalIdHash)`
/** `laterThan` for expressions. */
export const later = (last: string, now: string): string =>
  `max(${now}, strftime('%Y-%m-%dT%H:%M:%fZ', ${last}, '+0.001 seconds'))`
const UPDATE = `
  update prospects set
    email = case when :setsEmail then :email else email end,
    email_hash = case when :setsEmail then :emailHash else email_hash end,
    external_id = case when :setsExternalId then :externalId else external_id end,
    external_id_hash = case when :setsExternalId then :externalIdHash else external_id_hash end,
    name = case when :setsName then :name else name end,
    name_key = case when :setsName then :nameKey else name_key end,
    last_name_key = case when :setsName then :lastNameKey else last_name_key end,
    updated_at = ${later('updated_at', ':updatedAt')}
  where tenant_id = :tenantId and prospect_id = :prospectId and erased_at is null and merged_into is null
  returning ${SHOWN}`

/** Whether a prospect is unchanged, along with all prospects that were merged into it. */
export const IS_UNCHANGED = `
  select 1 from prospects
  where tenant_id = :tenantId and prospect_id = :prospectId and erased_at is null and merged_into is null
    and updated_at = :updatedAt and email_hash is :emailHash and external_id_hash is :externalIdHash and name is :name`

/** Calls `changed` after a prospect was updated. */
export const sqliteProspects = (
  database: Database,
  outbox: Outbox,
  changed: (tenantId: string) => () => void,
): Prospects => ({
  find: (wants) => eachInTurn(wants, (want) => database.get<FoundProspect>(FIND, want)),

  findWithMerged: async (want) => database.all<KnownProspect>(WITH_MERGED, want),

  list: (wants) =>
    eachInTurn(wants, (want) => {
      const by = want.emailHash !== null ? BY_EMAIL : want.externalIdHash !== null ? BY_EXTERNAL_ID : null
      if (by !== null) return { rows: database.all<FoundProspect>(by, want), resume: null }
      const isShown = ({ erasedAt, mergedInto }: FoundProspect) => erasedAt === null && mergedInto === null
      const look = (rows: Iterable<FoundProspect>) =>
        scan(rows, want.limit, isShown, ({ prospectId }) => prospectId)
      return database.from(look, LIST, want)
    }),

  search: async (want) => {
    const isWanted = ({ email, nameKey, lastNameKey }: SearchRow) =>
      begins(email, want.emailStart) || begins(nameKey, want.nameStart) || begins(lastNameKey, want.nameStart)
    const some = database.all<SearchRow>(NEWEST, want).filter(isWanted)
    for (const [sql, start] of STARTS)
      if (want[start] !== '')
        some.push(...database.all<SearchRow>(sql, { ...want, after: afterStart(want[start]) }))
    const ids = [...new Set(some.map(({ prospectId }) => prospectId))].sort().reverse().slice(0, want.limit)
    const wants = ids.map((prospectId) => ({ ...want, prospectId }))
    return database.getEach<FoundProspect>(FIND, wants).filter(({ erasedAt }) => erasedAt === null)
  },

  // A slice reads one row more than its limit.
  listOldest: async (want) => database.slice<FoundProspect>(LIST_OLDEST, { ...want, limit: want.limit - 1 }),

  update: async ({ email, externalId, name, ...prospect }, events) => {
    const sets = {
      setsEmail: email !== undefined,
      setsExternalId: externalId !== undefined,
      setsName: name !== undefined,
    }
    const row = {
      ...prospect,
      ...sets,
      ...NO_IDENTIFIERS,
      ...email,
      ...externalId,
      name: name ?? null,
      ...nameKeysOf(name ?? null),
    }
    return database.record(() => {
      database.run(GIVE_UP, row)
      const updated = database.get<FoundProspect>(UPDATE, row)
      if (updated) outbox(events)
      return updated
    }, changed(prospect.tenantId))
  },
})
