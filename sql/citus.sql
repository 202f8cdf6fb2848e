-- A draft: distributes the tables by tenant with Citus. It does not work as it is: Citus refuses it because page_groups
-- refers to brands before both are distributed, and several statements of the service do not run on Citus yet.
--
-- The schema is prepared for it: the primary keys, unique indexes and foreign keys of all tables but the first three begin
-- with tenant_id, so uniqueness and references can be checked on the machine of the tenant.

-- Small tables, rarely written, that every machine needs.
select create_reference_table('tenants');
select create_reference_table('api_keys');
select create_reference_table('schema_migrations');

-- All rows of a tenant are on one machine, where its statements run and its tables are joined. Referenced tables come first.
select create_distributed_table('brands', 'tenant_id');
select create_distributed_table('page_groups', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('page_counts', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('pages', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('page_versions', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('prospects', 'tenant_id', colocate_with => 'brands');
select create_distributed_table('prospect_logs', 'tenant_id', colocate_with => 'brands');
