import { laterThan } from '../../core/engine/times.ts'
import type { Placeholder, Placeholders } from '../../core/ports/placeholders.ts'
import type { Timestamp } from '../../core/ports/world.ts'
import { IS_IDENTIFIER } from './identifiers.ts'
import type { Database } from './open.ts'
import { IS_KEPT } from './tenants.ts'

const OF_NO_ONE = 'prospect_id is null and value is not null'
const LIST = `
  select tenant_id, kind, hash, value from identifiers indexed by identifiers_of_no_one
  where tenant_id = :tenantId and ${OF_NO_ONE} order by kind, hash limit 1001`
const FIND = `select prospect_id, blocked_until from identifiers where ${IS_IDENTIFIER}`
const CHANGE = `
  update prospects set updated_at = :changesAt
  where tenant_id = :tenantId and prospect_id = :prospectId and updated_at = :updatedAt
    and erased_at is null and merged_into is null`
const ADD = `
  insert into identifiers (tenant_id, kind, hash, value) values (:tenantId, :kind, :hash, :value)
  on conflict (tenant_id, kind, hash) do update
    set value = excluded.value, prospect_id = null, blocked_until = null, erasure_id = null`
const REMOVE = `delete from identifiers where ${IS_IDENTIFIER} and ${OF_NO_ONE}`
const NEXT_EMAILS = `
  select i.hash, i.value, i.prospect_id, p.updated_at from identifiers i
  left join prospects p on p.tenant_id = i.tenant_id and p.prospect_id = i.prospect_id
  where i.tenant_id = :tenantId and i.kind = 'email' and i.hash > :afterHash order by i.hash limit :max`
const RELEASE = `delete from identifiers where ${IS_IDENTIFIER} and prospect_id = :prospectId`
type NextEmail = {
  readonly hash: string
  readonly value: string | null
  readonly prospectId: string | null
  readonly updatedAt: Timestamp | null
}

export const sqlitePlaceholders = (database: Database): Placeholders => ({
  list: async (tenantId) => database.all<Placeholder>(LIST, { tenantId }),

  add: (entry, joined, now) =>
    database.record(() => {
      const { tenantId } = entry
      const found = database.get<{ prospectId: string | null; blockedUntil: Timestamp | null }>(FIND, entry)
      const isAsAssumed = (found?.prospectId ?? null) === (joined?.prospectId ?? null)
      const isBlocked = (found?.blockedUntil ?? '') > now
      if (!isAsAssumed || isBlocked || !database.has(IS_KEPT, { tenantId })) return 'overtaken'
      if (joined !== null && database.run(CHANGE, { tenantId, ...joined }) === 0) return 'overtaken'
      database.run(ADD, entry)
      return 'recorded'
    }),

  remove: (entry) => database.write(() => database.run(REMOVE, entry) > 0),

  releaseSome: ({ tenantId, domain, afterHash, max, now }) =>
    database.write(() => {
      const emails = database.all<NextEmail>(NEXT_EMAILS, { tenantId, afterHash, max })
      const prospectIds: string[] = []
      for (const { hash, value, prospectId, updatedAt } of emails) {
        if (prospectId === null || updatedAt === null || !value?.endsWith(`@${domain}`)) continue
        database.run(CHANGE, { tenantId, prospectId, updatedAt, changesAt: laterThan(updatedAt, now) })
        database.run(RELEASE, { tenantId, kind: 'email', hash, prospectId })
        prospectIds.push(prospectId)
      }
      return { prospectIds, lastHash: emails.length < max ? null : (emails.at(-1)?.hash ?? null) }
    }),
})
