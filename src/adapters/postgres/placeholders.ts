import type { Placeholder, Placeholders } from '../../core/ports/placeholders.ts'
import type { Query } from './sql.ts'

/** The placeholders of tenants: identifiers with a text and without a prospect. */
export const postgresPlaceholders = (query: Query): Placeholders => ({
  list: (tenantId) => query(tenantId)<Placeholder>`
    select i.tenant_id, i.kind, i.hash, i.value from identifiers i
    where i.tenant_id = ${tenantId} and i.prospect_id is null and i.value is not null
    order by i.kind, i.hash limit 1001`,

  /** Locks the prospect first, as every write does that changes where an identifier leads. */
  add: async ({ tenantId, kind, hash, value }, joined, now) => {
    const prospectId = joined?.prospectId ?? null
    const added = await query(tenantId)<{ hash: string }>`
      with changed as (
        update prospects p set updated_at = ${joined?.changesAt ?? null}
        where p.tenant_id = ${tenantId} and p.prospect_id = ${prospectId} and p.updated_at = ${joined?.updatedAt ?? null}
          and p.erased_at is null and p.merged_into is null
        returning 1
      )
      insert into identifiers as i (tenant_id, kind, hash, value)
      select ${tenantId}, ${kind}, ${hash}, ${value}
      where (select true from tenants t where t.tenant_id = ${tenantId} and t.deleted_at is null limit 1)
        and (${joined === null} or exists (select 1 from changed))
      on conflict (tenant_id, kind, hash) do update
        set value = excluded.value, prospect_id = null, blocked_until = null, erasure_id = null
        where i.prospect_id is not distinct from ${prospectId} and (i.blocked_until is null or i.blocked_until <= ${now})
      returning i.hash`
    return added.length > 0 ? 'recorded' : 'overtaken'
  },

  remove: async ({ tenantId, kind, hash }) => {
    const removed = await query(tenantId)<{ hash: string }>`
      delete from identifiers i
      where i.tenant_id = ${tenantId} and i.kind = ${kind} and i.hash = ${hash}
        and i.prospect_id is null and i.value is not null
      returning i.hash`
    return removed.length > 0
  },

  /** A write that adds an email of this domain in the meantime looked it up before the domain was listed. */
  releaseSome: async ({ tenantId, domain, afterHash, max, now }) => {
    const [slice] = await query(tenantId)<{
      count: number
      lastHash: string | null
      prospectIds: readonly string[]
    }>`
      with emails as materialized (
        select i.hash, i.value, i.prospect_id from identifiers i
        where i.tenant_id = ${tenantId} and i.kind = 'email' and i.hash > ${afterHash}
        order by i.hash limit ${max}
      ), changed as (
        update prospects p set updated_at = greatest(p.updated_at + interval '1 millisecond', ${now})
        from emails
        where p.tenant_id = ${tenantId} and p.prospect_id = emails.prospect_id
          and right(emails.value, ${domain.length + 1}) = ${`@${domain}`}
        returning p.prospect_id
      ), released as (
        delete from identifiers i using emails
        where i.tenant_id = ${tenantId} and i.kind = 'email' and i.hash = emails.hash
          and i.prospect_id = emails.prospect_id and i.prospect_id in (select c.prospect_id from changed c)
          and right(emails.value, ${domain.length + 1}) = ${`@${domain}`}
        returning i.prospect_id
      )
      select count(*)::int as count, max(emails.hash) as last_hash,
        (select coalesce(json_agg(r.prospect_id), '[]'::json) from released r) as prospect_ids
      from emails`
    const { count = 0, lastHash = null, prospectIds = [] } = slice ?? {}
    return { prospectIds, lastHash: count < max ? null : lastHash }
  },
})
