import { tablesPlacedBy } from './placement.ts'
import type { Ask } from './sql.ts'

/** A session sees the shards of its node with this. */
export const SHARDS_VISIBLE = { 'citus.override_table_visibility': 'off' } as const

export type LargeTenant = {
  readonly tenantId: string
  readonly bytes: number
  /** From 0 to 1, of the rows of all tenants on this node. */
  readonly part: number
}

const LARGEST_MAX = 3
/**
 * The common tenants of each shard, as the last `analyze` found them: the size of a shard is known, that of a tenant is
 * estimated. Reads no table of tenants, however large they are.
 */
const SELECT_LARGEST = `
  with shards as (
    select c.relname, c.relnamespace::regnamespace::text as schema, c.relpages * 8192.0 as bytes
    from pg_class c where c.relkind = 'r' and c.relpages > 0 and c.relname ~ '^(${tablesPlacedBy('the tenant').join('|')})_\\d+$'
  )
  select tenant_id, sum(shards.bytes * part)::float8 as bytes,
    (sum(shards.bytes * part) / (select sum(bytes) from shards))::float8 as part
  from shards join pg_stats s on s.schemaname = shards.schema and s.tablename = shards.relname and s.attname = 'tenant_id'
    cross join unnest(s.most_common_vals::text::text[], s.most_common_freqs) as common (tenant_id, part)
  group by 1 order by 2 desc limit ${LARGEST_MAX}`

/** The largest tenants of the node that is asked. */
export const findLargestTenants = (ask: Ask): Promise<readonly LargeTenant[]> =>
  ask((sql) => sql.unsafe<LargeTenant[]>(SELECT_LARGEST))
