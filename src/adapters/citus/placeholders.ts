import { laterThan } from '../../core/engine/times.ts'
import type { Placeholders } from '../../core/ports/placeholders.ts'
import { columns, textArray } from '../postgres/sql.ts'
import type { Outbox } from './outbox.ts'
import type { Transact } from './transaction.ts'

const EMAIL = columns('email', 'hash, prospect_id, changes_at timestamptz')

/** The verbs that differ from those of one PostgreSQL. */
export const citusPlaceholders = (
  transact: Transact,
  outbox: Outbox,
): Pick<Placeholders, 'add' | 'releaseSome'> => ({
  /** Locks the prospect first, as every write does that changes where an identifier leads. */
  add: ({ tenantId, kind, hash, value }, joined, now) =>
    outbox.change(tenantId, [], async (send) => {
      const [tenants, unchanged] = await Promise.all([
        send`select 1 from tenants t where t.tenant_id = ${tenantId} and t.deleted_at is null`,
        joined &&
          send`
            select 1 from prospects p
            where p.tenant_id = ${tenantId} and p.prospect_id = ${joined.prospectId}
              and p.updated_at = ${joined.updatedAt} and p.erased_at is null and p.merged_into is null
            for update`,
      ])
      if (tenants.length === 0 || unchanged?.length === 0) return false
      const added = await send`
        insert into identifiers as i (tenant_id, kind, hash, value)
        values (${tenantId}, ${kind}, ${hash}, ${value})
        on conflict (tenant_id, kind, hash) do update
          set value = excluded.value, prospect_id = null, blocked_until = null, erasure_id = null
          where i.prospect_id is not distinct from ${joined?.prospectId ?? null}
            and (i.blocked_until is null or i.blocked_until <= ${now})
        returning i.hash`
      if (added.length === 0) return false
      if (joined !== null)
        send`
          update prospects p set updated_at = ${joined.changesAt}
          where p.tenant_id = ${tenantId} and p.prospect_id = ${joined.prospectId}`
      return true
    }),

  /** Citus refuses to add an interval to a column in an update, so times are worked out here. */
  releaseSome: ({ tenantId, domain, afterHash, max, now }) =>
    transact(tenantId, async (send) => {
      const emails = await send<Email>`
        select i.hash, i.value, i.prospect_id from identifiers i
        where i.tenant_id = ${tenantId} and i.kind = 'email' and i.hash > ${afterHash}
        order by i.hash limit ${max}`
      const ofDomain = emails.filter(({ value, prospectId }) => prospectId && value?.endsWith(`@${domain}`))
      const prospectIds = textArray(ofDomain.map(({ prospectId }) => prospectId))
      const prospects = await send<{ prospectId: string; updatedAt: string }>`
        select p.prospect_id, p.updated_at from prospects p
        where p.tenant_id = ${tenantId} and p.prospect_id = any (${prospectIds}::text[])
        order by p.prospect_id for update`
      const updatedAt = new Map(prospects.map((row) => [row.prospectId, row.updatedAt]))
      const changes = ofDomain.flatMap(({ hash, prospectId }) => {
        const last = updatedAt.get(prospectId ?? '')
        return last === undefined ? [] : { hash, prospectId, changesAt: laterThan(last, now) }
      })
      const lastHash = emails.length < max ? null : (emails.at(-1)?.hash ?? null)
      if (changes.length === 0) return { prospectIds: [], lastHash }
      const [, released] = await Promise.all([
        send`
          update prospects p set updated_at = email.changes_at from ${EMAIL.from(changes)}
          where p.tenant_id = ${tenantId} and p.prospect_id = email.prospect_id`,
        send<{ prospectId: string }>`
          delete from identifiers i using ${EMAIL.from(changes)}
          where i.tenant_id = ${tenantId} and i.kind = 'email' and i.hash = email.hash
            and i.prospect_id = email.prospect_id
          returning i.prospect_id`,
      ])
      return { prospectIds: released.map(({ prospectId }) => prospectId), lastHash }
    }),
})

type Email = { readonly hash: string; readonly value: string | null; readonly prospectId: string | null }
