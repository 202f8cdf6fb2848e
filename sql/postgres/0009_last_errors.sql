-- Why the last attempt for an endpoint failed, as JSON: { at, reason, status }; null once one succeeds.
alter table webhook_endpoints add column last_error text;

-- How many of the counted logs created their prospect.
alter table prospect_log_counts add column new_prospects bigint not null default 0;
