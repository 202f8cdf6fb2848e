-- The last error of an endpoint, and new prospects among counted logs: see the same on PostgreSQL.
alter table webhook_endpoints add column last_error text;
alter table prospect_log_counts add column new_prospects integer not null default 0;
