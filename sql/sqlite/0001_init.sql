-- The schema on SQLite: the tables and columns of sql/postgres/0001_init.sql, which explains them. Times are ISO 8601 texts, JSON
-- is text, lists are words separated by spaces, booleans are 0 and 1. `without rowid` stores a table in the order of its primary
-- key. Comments stand outside the statements, because SQLite stores the text of each statement in the file.

create table tenants (
  tenant_id text primary key,
  name text not null,
  created_at text not null,
  retention_days integer check (retention_days >= 0),
  suspended_at text,
  deleted_at text check (deleted_at is null or suspended_at is not null)
) strict, without rowid;
create index tenants_deleted on tenants (tenant_id) where deleted_at is not null;

-- One row.
create table served (
  id integer primary key check (id = 1),
  served_at text not null,
  paused_at text
) strict, without rowid;

create table brands (
  tenant_id text not null references tenants,
  brand_id text not null,
  name text not null,
  created_at text not null,
  primary key (tenant_id, brand_id)
) strict, without rowid;

create table api_keys (
  api_key_id text primary key,
  tenant_id text not null references tenants,
  key_hash text not null unique,
  start text not null,
  name text,
  scopes text not null,
  created_at text not null,
  expires_at text,
  revoked_at text,
  rotated_at text,
  last_used_at text
) strict, without rowid;
create index api_keys_of_tenant on api_keys (tenant_id, api_key_id);

create table hooks (
  tenant_id text not null references tenants,
  hook_id text not null unique,
  source text not null,
  description text,
  status text not null check (status in ('enabled', 'disabled')),
  rules text not null,
  secret text not null,
  previous_secret text,
  previous_secret_until text,
  slot integer not null,
  created_at text not null,
  updated_at text not null,
  last_received_at text,
  last_refused_at text,
  last_refusal text,
  last_warned_at text,
  last_warning text,
  idempotency_key text,
  request_hash text,
  primary key (tenant_id, hook_id),
  unique (tenant_id, slot)
) strict, without rowid;
create unique index hooks_idempotency_key on hooks (tenant_id, idempotency_key) where idempotency_key is not null;
create index hooks_refused on hooks (last_refused_at) where last_refused_at is not null;
create index hooks_warned on hooks (last_warned_at) where last_warned_at is not null;

-- SQLite has no function that removes accents. So the name and its last word as the search compares them are columns here, which
-- the program fills, and not expressions of an index: any other program can then still read and write this file. They are filled
-- when a person is added to the indexes.
create table prospects (
  tenant_id text not null,
  prospect_id text not null,
  email text,
  external_id text,
  name text,
  name_key text,
  last_name_key text,
  attributes text,
  created_at text not null,
  updated_at text not null,
  merged_into text,
  is_searched integer not null default 0 check (is_searched in (0, 1)),
  erased_at text
    constraint prospects_erased_is_blank check (
      erased_at is null or (email is null and external_id is null and name is null and attributes is null)),
  primary key (tenant_id, prospect_id)
) strict, without rowid;
create index prospects_merged on prospects (tenant_id, merged_into) where merged_into is not null;
create index prospects_email_start on prospects (tenant_id, email) where is_searched = 1 and email is not null;
create index prospects_name_start on prospects (tenant_id, name_key) where is_searched = 1 and name_key is not null;
create index prospects_last_name_start on prospects (tenant_id, last_name_key) where is_searched = 1 and last_name_key is not null;

create table searched_tenants (
  tenant_id text primary key,
  position text not null default '',
  checked text not null default '',
  searched_at text not null
) strict, without rowid;

create table identifiers (
  tenant_id text not null,
  kind text not null check (kind in ('email', 'externalId', 'emailDomain')),
  hash text not null check (length(hash) = 43),
  value text,
  prospect_id text,
  blocked_until text check ((blocked_until is null) = (value is not null)),
  erasure_id text check ((erasure_id is null) = (value is not null)),
  primary key (tenant_id, kind, hash),
  check (prospect_id is null or value is not null),
  check (kind <> 'emailDomain' or (prospect_id is null and value is not null))
) strict, without rowid;
create index identifiers_of_no_one on identifiers (tenant_id) where prospect_id is null and value is not null;
create index identifiers_of_prospect on identifiers (tenant_id, prospect_id) where prospect_id is not null;
create index identifiers_blocked on identifiers (tenant_id, blocked_until) where blocked_until is not null;
create index identifiers_of_erasure on identifiers (tenant_id, erasure_id) where erasure_id is not null;

create table former_identifiers (
  tenant_id text not null,
  prospect_id text not null,
  kind text not null check (kind in ('email', 'externalId')),
  hash text not null,
  value text,
  released_at text not null,
  primary key (tenant_id, prospect_id, kind, hash)
) strict, without rowid;
create index former_identifiers_by_hash on former_identifiers (tenant_id, kind, hash, released_at);
create index former_identifiers_shown on former_identifiers (tenant_id, prospect_id, kind, released_at) where value is not null;

create table prospect_conflicts (
  tenant_id text not null,
  prospect_id text not null,
  other_id text not null check (other_id > prospect_id),
  field text not null check (field in ('email', 'externalId')),
  at text not null,
  primary key (tenant_id, prospect_id, other_id)
) strict, without rowid;
create index prospect_conflicts_of_other on prospect_conflicts (tenant_id, other_id);
create index prospect_conflicts_by_time on prospect_conflicts (tenant_id, at, prospect_id, other_id);

-- SQLite reads a row from its start. The payload is the last column, so the other columns are read without it.
create table prospect_logs (
  tenant_id text not null,
  prospect_log_id text not null,
  prospect_id text not null,
  source text not null,
  type text not null,
  email text,
  external_id text,
  name text,
  idempotency_key text,
  key_scope text not null default '',
  request_hash text,
  created_prospect integer not null check (created_prospect in (0, 1)),
  occurred_at text not null,
  timeline_key integer not null,
  created_at text not null,
  payload text not null,
  primary key (tenant_id, prospect_log_id)
) strict;
create unique index prospect_logs_idempotency_key on prospect_logs (tenant_id, source, idempotency_key, key_scope)
  where idempotency_key is not null;
create index prospect_logs_timeline on prospect_logs (timeline_key);

create table merges (
  tenant_id text not null,
  merge_id text not null,
  prospect_id text not null,
  into_id text not null,
  api_key_id text,
  status text not null check (status in ('processing', 'completed')),
  requested_at text not null,
  completed_at text check ((completed_at is not null) = (status = 'completed')),
  pass integer not null,
  settles_after text,
  attempts integer not null,
  claimable_at text not null,
  primary key (tenant_id, merge_id),
  unique (tenant_id, prospect_id)
) strict, without rowid;
create index merges_into on merges (tenant_id, into_id) where status = 'processing';
create index merges_waiting on merges (tenant_id, claimable_at) where status = 'processing';

create table erasures (
  tenant_id text not null,
  erasure_id text not null,
  part_of text,
  prospect_id text,
  status text not null check (status in ('processing', 'completed')),
  requested_at text not null,
  completed_at text check ((completed_at is not null) = (status = 'completed')),
  logs_erased integer not null,
  pass integer not null check (pass in (1, 2, 3, 4)),
  settles_after text,
  position text not null,
  attempts integer not null,
  claimable_at text not null,
  formerly_of text not null default '[]',
  still_leads_to text not null default '[]',
  primary key (tenant_id, erasure_id)
) strict, without rowid;
create unique index erasures_of_prospect on erasures (tenant_id, prospect_id)
  where completed_at is null and prospect_id is not null;
create index erasures_by_prospect on erasures (tenant_id, prospect_id) where prospect_id is not null;
create index erasures_parts on erasures (tenant_id, part_of) where part_of is not null;
create index erasures_waiting on erasures (tenant_id, claimable_at) where status = 'processing';

create table counted_tenants (
  tenant_id text primary key,
  position text not null,
  closed_to text not null,
  read_at text not null
) strict, without rowid;
create table prospect_log_counts (
  tenant_id text not null,
  unit text not null check (unit in ('hour', 'day')),
  at text not null,
  source text not null,
  type text not null,
  count integer not null,
  new_prospects integer not null default 0,
  primary key (tenant_id, unit, at, source, type)
) strict, without rowid;

create table prospect_counts (
  tenant_id text not null,
  kind text not null check (kind in ('page', 'source')),
  day integer not null,
  name text not null,
  days_since integer not null check (days_since >= 0),
  count integer not null,
  new_prospects integer not null,
  primary key (tenant_id, kind, day, name, days_since)
) strict, without rowid;
create table prospect_days (
  tenant_id text not null,
  prospect_id text not null,
  kind text not null check (kind in ('page', 'source')),
  name text not null,
  day integer not null,
  primary key (tenant_id, prospect_id, kind, name, day)
) strict, without rowid;
create index prospect_days_by_day on prospect_days (tenant_id, day);

create table usage_counts (
  tenant_id text not null,
  at text not null,
  api_key_id text not null,
  requests integer not null,
  activities integer not null,
  bytes integer not null,
  primary key (tenant_id, at, api_key_id)
) strict, without rowid;
create index usage_counts_at on usage_counts (at);

create table page_groups (
  tenant_id text not null,
  page_group_id text not null,
  brand_id text not null,
  name text not null,
  title text not null,
  page_context text,
  status text not null check (status in ('active', 'archived', 'deleted')),
  actions text not null,
  footer_links text not null,
  scripts text not null,
  header_action_id text,
  revision integer not null,
  idempotency_key text,
  request_hash text,
  created_at text not null,
  updated_at text not null,
  deleted_at text check ((deleted_at is not null) = (status = 'deleted')),
  primary key (tenant_id, page_group_id),
  foreign key (tenant_id, brand_id) references brands
) strict;
create index page_groups_not_deleted on page_groups (tenant_id, page_group_id desc) where status <> 'deleted';
create index page_groups_by_status on page_groups (tenant_id, status, page_group_id desc);
create unique index page_groups_idempotency_key on page_groups (tenant_id, idempotency_key)
  where idempotency_key is not null;

-- The number of pages of a group, in a short row because it is written often.
create table page_counts (
  tenant_id text not null,
  page_group_id text not null,
  pages_count integer not null,
  changes integer not null,
  primary key (tenant_id, page_group_id)
) strict, without rowid;

-- Deleted page groups whose published pages are unpublished in the background, in the order of their ids.
create table page_group_deletions (
  tenant_id text not null,
  page_group_id text not null,
  api_key_id text,
  after_page_id text not null,
  after_event_id text not null,
  primary key (tenant_id, page_group_id)
) strict, without rowid;

create table pages (
  tenant_id text not null,
  page_group_id text not null,
  page_id text not null,
  page_number integer,
  slug text,
  custom_name text,
  computed_name text not null check (computed_name <> ''),
  published_version_id text,
  published_at text check ((published_at is null) = (published_version_id is null)),
  unpublish_at text,
  automatic_after text,
  latest_version_id text not null,
  revision integer not null,
  idempotency_key text,
  request_hash text,
  created_at text not null,
  updated_at text not null,
  primary key (tenant_id, page_group_id, page_id)
) strict;
create unique index pages_idempotency_key on pages (tenant_id, page_group_id, idempotency_key)
  where idempotency_key is not null;
create unique index pages_slug on pages (tenant_id, page_group_id, slug) where slug is not null;
create index pages_published on pages (tenant_id, published_at desc, page_id desc) where published_at is not null;
create index pages_scheduled on pages (tenant_id, unpublish_at) where unpublish_at is not null;

-- The content is the last column, like the payload of a log.
create table page_versions (
  tenant_id text not null,
  page_id text not null,
  version_id text not null,
  page_group_id text not null,
  version_number integer not null,
  supplementary_context text,
  computed_name text not null check (computed_name <> ''),
  status text not null check (status in ('processing', 'ready', 'published', 'failed')),
  published_at text check ((published_at is not null) = (status = 'published')),
  failure_reason text check ((failure_reason is not null) = (status = 'failed')),
  publish integer not null check (publish in (0, 1)),
  publish_at text,
  unpublish_at text,
  schedule_note text,
  attempts integer not null,
  claimable_at text not null,
  idempotency_key text,
  request_hash text,
  created_at text not null,
  content text,
  primary key (tenant_id, page_id, version_id)
) strict;
create unique index page_versions_idempotency_key on page_versions (tenant_id, page_id, idempotency_key)
  where idempotency_key is not null;
create index page_versions_waiting on page_versions (tenant_id, claimable_at) where status = 'processing';
create index page_versions_failed on page_versions (created_at) where status = 'failed';
create index page_versions_scheduled on page_versions (tenant_id, publish_at)
  where publish_at is not null and status in ('ready', 'published');
create index page_versions_scheduled_of_page on page_versions (tenant_id, page_id, publish_at, version_id)
  where publish_at is not null;

create table events (
  tenant_id text not null,
  event_id text not null,
  sequence integer,
  type text not null,
  ids text not null,
  api_key_id text,
  created_at text not null,
  primary key (tenant_id, event_id)
) strict, without rowid;
create unique index events_by_sequence on events (tenant_id, sequence) where sequence is not null;
create index events_waiting on events (tenant_id, event_id) where sequence is null;

create table event_counts (
  tenant_id text primary key,
  sequence integer not null
) strict, without rowid;

create table webhook_endpoints (
  tenant_id text not null,
  webhook_endpoint_id text not null,
  url text not null,
  method text not null default 'POST',
  body text,
  headers text,
  types text,
  sources text,
  log_types text,
  description text,
  status text not null check (status in ('enabled', 'disabled', 'deleted')),
  disabled_reason text,
  secret text not null,
  previous_secret text,
  previous_secret_until text,
  failures integer not null,
  failing_since text,
  last_error text,
  slot integer check ((slot is null) = (status = 'deleted')),
  claims integer not null,
  claimable_at text not null,
  created_at text not null,
  updated_at text not null,
  idempotency_key text,
  request_hash text,
  primary key (tenant_id, webhook_endpoint_id)
) strict, without rowid;
create unique index webhook_endpoints_slot on webhook_endpoints (tenant_id, slot) where slot is not null;
create unique index webhook_endpoints_idempotency_key on webhook_endpoints (tenant_id, idempotency_key)
  where idempotency_key is not null and slot is not null;
create index webhook_endpoints_enabled on webhook_endpoints (tenant_id) where status = 'enabled';
create index webhook_endpoints_deleted on webhook_endpoints (tenant_id) where status = 'deleted';
create index webhook_endpoints_failing on webhook_endpoints (tenant_id) where failing_since is not null;

create table webhook_deliveries (
  tenant_id text not null,
  webhook_endpoint_id text not null,
  event_id text not null,
  status text not null check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null,
  next_attempt_at text check ((next_attempt_at is not null) = (status = 'pending')),
  last_status integer,
  last_error text,
  last_attempts text not null default '[]',
  delivered_at text,
  created_at text not null,
  primary key (tenant_id, webhook_endpoint_id, event_id)
) strict, without rowid;
create index webhook_deliveries_pending on webhook_deliveries (tenant_id, webhook_endpoint_id, next_attempt_at)
  where status = 'pending';
create index webhook_deliveries_failed on webhook_deliveries (tenant_id, webhook_endpoint_id, created_at)
  where status = 'failed';

-- The same views as on PostgreSQL. DuckDB reads their text as its own SQL, so they use nothing that only SQLite has.

create view v_prospect_logs as
  select l.tenant_id, l.prospect_log_id, coalesce(p.merged_into, l.prospect_id) as prospect_id, l.source, l.type, l.email,
    l.external_id, l.name, l.idempotency_key, l.created_prospect, l.occurred_at, l.created_at, l.payload
  from prospect_logs l
    left join prospects p on p.tenant_id = l.tenant_id and p.prospect_id = l.prospect_id
  where p.erased_at is null;

create view v_prospects as
  select p.tenant_id, p.prospect_id, p.email, p.external_id, p.name, p.created_at, p.updated_at, p.attributes
  from prospects p
  where p.erased_at is null and p.merged_into is null;

create view v_pages as
  select p.tenant_id, p.page_group_id, g.name as page_group_name, g.title as page_group_title, g.status as page_group_status,
    p.page_id, case when trim(p.custom_name) <> '' then p.custom_name else p.computed_name end as effective_name,
    v.version_id as published_version_id, v.version_number as published_version_number, v.published_at,
    p.created_at, p.updated_at
  from pages p
    join page_groups g on g.tenant_id = p.tenant_id and g.page_group_id = p.page_group_id and g.status <> 'deleted'
    left join page_versions v
      on v.tenant_id = p.tenant_id and v.page_id = p.page_id and v.version_id = p.published_version_id;
