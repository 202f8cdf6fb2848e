-- Distributes the tables by tenant with Citus. Run this once, as the owner of the tables, on the coordinator, after the
-- first `prospect-pages migrate`; then serve with DATABASE_CLUSTER=citus. docs/growing.md describes each step.
--
--   DATABASE_URL=$OWNER_URL DATABASE_CLUSTER=citus prospect-pages migrate
--   psql "$OWNER_URL" -v ON_ERROR_STOP=1 -1 -f sql/citus.sql
--
-- All rows of a tenant are on one machine, where its statements run. Only `tenants` is copied to every machine, because
-- foreign keys need it there. A write to it needs every machine, and so the tables that change at any time stay on the
-- coordinator alone, as `served` does: a key can be revoked while a worker is down, and `usage_counts` shows who floods it.

-- It would refer from a table that is not distributed yet to one that is.
alter table page_groups drop constraint page_groups_tenant_id_brand_id_fkey;

select create_reference_table('tenants');
select create_distributed_table('brands', 'tenant_id');
select create_distributed_table('page_groups', 'tenant_id', colocate_with => 'brands');
alter table page_groups add foreign key (tenant_id, brand_id) references brands;
select create_distributed_table('page_counts', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('pages', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('page_versions', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('prospects', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('erasures', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('merges', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('prospect_logs', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('counted_tenants', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('prospect_log_counts', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('events', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('event_counts', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('webhook_endpoints', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('webhook_deliveries', 'tenant_id', colocate_with => 'brands');
