-- Distributes the tables by tenant with Citus. Run this as the owner of the tables, on the coordinator, after every
-- `prospect-pages migrate`; it can be run again. Then serve with DATABASE_CLUSTER=citus. docs/citus.md describes each step.
--
--   DATABASE_URL=$OWNER_URL DATABASE_CLUSTER=citus prospect-pages migrate
--   psql "$OWNER_URL" -v ON_ERROR_STOP=1 -1 -f sql/citus.sql
--
-- All that a tenant has is on one machine, where its statements run. Copied to every machine are `tenants`, to which foreign
-- keys refer, and `schema_migrations`, which a starting process reads. A write to them needs every machine, and so tables
-- that change at any time stay on the coordinator alone: a key can be revoked while a worker is down.

set local citus.multi_shard_modify_mode = 'sequential';

-- It would refer from a table that is not distributed yet to one that is.
do $$ begin if not exists (select 1 from pg_dist_partition where logicalrelid = 'page_groups'::regclass) then
  alter table page_groups drop constraint page_groups_tenant_id_brand_id_fkey; end if; end $$;

select create_reference_table(name) from (values ('tenants'), ('schema_migrations')) as missing (name)
where not exists (select 1 from pg_dist_partition where logicalrelid = name::regclass and partmethod = 'n' and repmodel = 't');

select create_distributed_table(name, 'tenant_id', colocate_with => case name when 'brands' then 'default' else 'brands' end)
from (values ('brands'), ('page_groups'), ('page_counts'), ('page_group_deletions'), ('pages'), ('page_versions'), ('prospects'),
  ('identifiers'), ('former_identifiers'), ('prospect_conflicts'), ('erasures'), ('merges'),
  ('prospect_logs'), ('counted_tenants'), ('prospect_log_counts'), ('events'), ('event_counts'), ('webhook_endpoints'),
  ('webhook_deliveries')) as missing (name)
where not exists (select 1 from pg_dist_partition where logicalrelid = name::regclass and partmethod = 'h');

do $$ begin if not exists (select 1 from pg_constraint where conname = 'page_groups_tenant_id_brand_id_fkey') then
  alter table page_groups add foreign key (tenant_id, brand_id) references brands; end if; end $$;

-- Known to every machine, kept on the coordinator.
select citus_add_local_table_to_metadata(name) from (values ('api_keys'), ('hooks'), ('served'), ('usage_counts')) as missing (name)
where not exists (select 1 from pg_dist_partition where logicalrelid = name::regclass);

-- Copies that identify callers while the coordinator is away: for each API key and each hook a copy of its row, by
-- the hash of the key or the id of the hook. `row` is null after a hook was removed.
create table if not exists identity_copies (
  key text collate "C" primary key,
  tenant_id text collate "C" not null references tenants on delete cascade,
  row json,
  version text collate "C" not null
);
create index if not exists identity_copies_of_tenant on identity_copies (tenant_id);
select create_distributed_table(name, 'key', colocate_with => 'none') from (values ('identity_copies')) as missing (name)
where not exists (select 1 from pg_dist_partition where logicalrelid = name::regclass and partmethod = 'h');
alter table api_keys add column if not exists is_copied boolean not null default false;
alter table hooks add column if not exists is_copied boolean not null default false;
create index if not exists api_keys_not_copied on api_keys (key_hash) where not is_copied;
create index if not exists hooks_not_copied on hooks (hook_id) where not is_copied;
