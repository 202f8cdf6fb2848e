-- Spreads an empty database over several machines, by tenant, with Citus. Run once, on the coordinator, between
-- `prospect-pages migrate` and the first write:
--
--   prospect-pages migrate && psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -1 -f sql/citus.sql
--
-- The extension must be there, in the database of the coordinator and of every worker, and the workers be known to the
-- coordinator (citus_add_node). Services go on talking to the coordinator alone, where NOTIFY is heard, too.
--
-- What of the schema makes this possible: every table below but the first three begins its primary key, its unique
-- indexes and its foreign keys with tenant_id, of one type and one collation, so that what must be unique or must
-- exist is found on the machine of its tenant; and every statement that serves a caller names the tenant of each table
-- that it reads. A migration that adds a table adds it here, and to a database that is spread already by hand.

-- On every machine: few rows, seldom written, and needed before the tenant is known or wherever one is referred to.
select create_reference_table('tenants');
select create_reference_table('api_keys');
select create_reference_table('schema_migrations');

-- All rows of one tenant on one machine: a statement about one tenant is sent there as it is, and its tables are
-- joined there. What is referred to comes before what refers to it.
select create_distributed_table('brands', 'tenant_id');
select create_distributed_table('page_groups', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('page_counts', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('pages', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('page_versions', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('prospects', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('prospect_logs', 'tenant_id', colocate_with => 'brands');
