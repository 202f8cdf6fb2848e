import type { Ask } from './sql.ts'

/**
 * Where Citus keeps the rows of each table. A write to a table that is copied to every node needs every node, so tables
 * that change at any time are kept on the coordinator alone: a key can be revoked while a worker is away.
 */
type Place = 'every node' | 'the tenant' | 'the coordinator' | 'its key'

/** In the order in which tables are placed: first those that foreign keys refer to. */
export const PLACES: Readonly<Record<string, Place>> = {
  tenants: 'every node',
  // A starting process reads it.
  schema_migrations: 'every node',
  brands: 'the tenant',
  page_groups: 'the tenant',
  page_counts: 'the tenant',
  page_group_deletions: 'the tenant',
  pages: 'the tenant',
  page_versions: 'the tenant',
  prospects: 'the tenant',
  identifiers: 'the tenant',
  former_identifiers: 'the tenant',
  prospect_conflicts: 'the tenant',
  erasures: 'the tenant',
  merges: 'the tenant',
  prospect_logs: 'the tenant',
  searched_tenants: 'the tenant',
  counted_tenants: 'the tenant',
  prospect_log_counts: 'the tenant',
  prospect_counts: 'the tenant',
  prospect_days: 'the tenant',
  events: 'the tenant',
  event_counts: 'the tenant',
  webhook_endpoints: 'the tenant',
  webhook_deliveries: 'the tenant',
  api_keys: 'the coordinator',
  hooks: 'the coordinator',
  served: 'the coordinator',
  usage_counts: 'the coordinator',
  // Only a cluster has it: COPIES creates it.
  identity_copies: 'its key',
}

export const tablesPlacedBy = (place: Place): readonly string[] =>
  Object.keys(PLACES).filter((table) => PLACES[table] === place)

/** What `pg_dist_partition` says of a table in its place. */
const RECORDED: Readonly<Record<Place, readonly [method: string, replication: string]>> = {
  'every node': ['n', 't'],
  'the tenant': ['h', 's'],
  'the coordinator': ['n', 's'],
  'its key': ['h', 's'],
}

const EXPECTED = Object.entries(PLACES).map(([table, place], number) => {
  const [method, replication] = RECORDED[place]
  return `(${number}, '${table}', '${place}', '${method}', '${replication}')`
})
/** Tables that are not in their place. What Citus records of them is the same on every node. */
const SELECT_UNPLACED = `
  select name as "table", place, to_regclass(name) is not null as exists,
    (select groupid from pg_dist_local_group) <> 0 as is_worker,
    coalesce(pg_total_relation_size(to_regclass(name)), 0)::float8 as bytes
  from (values ${EXPECTED.join(', ')}) as expected (number, name, place, method, replication)
    left join pg_dist_partition p on p.logicalrelid = to_regclass(name)
  where (p.partmethod, p.repmodel) is distinct from (method::"char", replication::"char")
  order by number`

export type Misplaced = {
  readonly table: string
  readonly place: Place
  readonly exists: boolean
  /** Whether the node that was asked is a worker: it has no tables but those that Citus put there. */
  readonly isWorker: boolean
  readonly bytes: number
}

/**
 * The tables that Citus does not keep in their place, in the order in which they are placed; even tables that do not exist
 * yet.
 */
export const findUnplaced = (ask: Ask): Promise<readonly Misplaced[]> =>
  ask((sql) => sql.unsafe<Misplaced[]>(SELECT_UNPLACED))

/** Those that a migration created, or that exist only once Citus has them. */
export const findMisplaced = async (ask: Ask): Promise<readonly Misplaced[]> => {
  const unplaced = await findUnplaced(ask)
  const isMigrated = !unplaced.some(({ table, exists }) => table === 'schema_migrations' && !exists)
  return unplaced.filter(
    ({ place, exists, isWorker }) => exists || (isMigrated && (isWorker || place === 'its key')),
  )
}

/** A foreign key cannot lead from a table that is not distributed yet to one that is. */
const REFERRING = ['brands', 'page_groups']
const BRANDS_FIRST = 'alter table page_groups drop constraint if exists page_groups_tenant_id_brand_id_fkey'
const REFER_TO_BRANDS =
  'alter table page_groups add constraint page_groups_tenant_id_brand_id_fkey foreign key (tenant_id, brand_id) references brands'

/**
 * Copies that identify callers while the coordinator is away: for each API key and each hook a copy of its row, by the
 * hash of the key or the id of the hook. `row` is null after a hook was removed.
 */
export const COPIES = [
  `create table if not exists identity_copies (
    key text collate "C" primary key,
    tenant_id text collate "C" not null references tenants on delete cascade,
    row json,
    version text collate "C" not null
  )`,
  'create index if not exists identity_copies_of_tenant on identity_copies (tenant_id)',
  'alter table api_keys add column if not exists is_copied boolean not null default false',
  'alter table hooks add column if not exists is_copied boolean not null default false',
  'create index if not exists api_keys_not_copied on api_keys (key_hash) where not is_copied',
  'create index if not exists hooks_not_copied on hooks (hook_id) where not is_copied',
]
/** A step is one transaction. */
type Step = { readonly tables: readonly string[]; readonly statements: readonly string[] }

/** The next step that puts tables in their place, or null if every table is in its place. */
export const nextStep = (misplaced: readonly Misplaced[]): Step | null => {
  const [first] = misplaced
  if (first === undefined) return null
  if (!REFERRING.includes(first.table))
    return { tables: [first.table], statements: placing(first.table, first.place) }
  const tables = REFERRING.filter((table) => misplaced.some((other) => other.table === table))
  return { tables, statements: [BRANDS_FIRST, ...tables.map(distributing), REFER_TO_BRANDS] }
}

const placing = (table: string, place: Place): readonly string[] => {
  if (place === 'every node') return [`select create_reference_table('${table}')`]
  if (place === 'the tenant') return [distributing(table)]
  if (place === 'the coordinator') return [`select citus_add_local_table_to_metadata('${table}')`]
  return [...COPIES, `select create_distributed_table('${table}', 'key', colocate_with => 'none')`]
}

/** Rows of one tenant are on one machine in all tables. */
const distributing = (table: string): string => {
  const beside = table === 'brands' ? 'default' : 'brands'
  return `select create_distributed_table('${table}', 'tenant_id', colocate_with => '${beside}')`
}
