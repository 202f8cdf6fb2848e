-- Except in tenants, served and api_keys, every primary key, unique constraint and foreign key begins with tenant_id: statements
-- that serve a caller stay within its tenant. Ids are compared byte by byte (collate "C"), so every store sorts alike.

create table tenants (
  tenant_id text collate "C" primary key,
  name text not null,
  created_at timestamptz(3) not null,
  retention_days integer check (retention_days >= 0),
  suspended_at timestamptz(3),
  deleted_at timestamptz(3) check (deleted_at is null or suspended_at is not null)
);
create index tenants_deleted on tenants (tenant_id) where deleted_at is not null;

-- One row: when this database was last served, and since when nothing that has expired is deleted.
create table served (
  id integer primary key check (id = 1),
  served_at timestamptz(3) not null,
  paused_at timestamptz(3)
);

create table brands (
  tenant_id text collate "C" not null references tenants,
  brand_id text collate "C" not null,
  name text not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, brand_id)
);

-- Looked up by hash, before the tenant is known.
create table api_keys (
  api_key_id text collate "C" primary key,
  tenant_id text collate "C" not null references tenants,
  key_hash text collate "C" not null unique,
  start text not null,
  name text,
  scopes text[] not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  rotated_at timestamptz(3),
  last_used_at timestamptz(3)
);
create index api_keys_of_tenant on api_keys (tenant_id, api_key_id);

-- Where vendors send webhooks to. Looked up by id, before the tenant is known. The slot bounds the hooks of a tenant.
create table hooks (
  tenant_id text collate "C" not null references tenants,
  hook_id text collate "C" not null unique,
  source text not null,
  description text,
  status text not null check (status in ('enabled', 'disabled')),
  rules json not null,
  secret text not null,
  previous_secret text,
  previous_secret_until timestamptz(3),
  slot integer not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  last_received_at timestamptz(3),
  last_refused_at timestamptz(3),
  last_refusal text,
  primary key (tenant_id, hook_id),
  unique (tenant_id, slot)
);
create index hooks_refused on hooks (last_refused_at) where last_refused_at is not null;

-- One prospect per email, by its hash: a btree cannot hold a long email. An erased prospect stays as a tombstone: its id and
-- erased_at. A blocked email is a tombstone of its own, with the hash alone, so the look-up by email finds it.
create table prospects (
  tenant_id text collate "C" not null,
  prospect_id text collate "C" not null,
  email text,
  email_hash text collate "C" constraint prospects_email_hash_is_one check (length(email_hash) = 43),
  name text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  erased_at timestamptz(3) constraint prospects_erased_is_blank check (erased_at is null or (email is null and name is null)),
  blocked_until timestamptz(3),
  primary key (tenant_id, prospect_id)
);
create unique index prospects_email on prospects (tenant_id, email_hash) where email_hash is not null;
create index prospects_blocked on prospects (tenant_id, blocked_until) where blocked_until is not null;

-- payload is json, not jsonb, to keep the text as sent. There is no foreign key to prospects: no statement deletes one that
-- has logs, and the check would cost a lookup per row.
create table prospect_logs (
  tenant_id text collate "C" not null,
  prospect_log_id text collate "C" not null,
  prospect_id text collate "C" not null,
  source text not null,
  type text not null,
  payload json not null,
  email text,
  name text,
  idempotency_key text collate "C",
  request_hash text collate "C",
  created_prospect boolean not null,
  occurred_at timestamptz(3) not null,
  timeline_key bigint not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, prospect_log_id)
);
create unique index prospect_logs_idempotency_key on prospect_logs (tenant_id, source, idempotency_key)
  where idempotency_key is not null;
-- A prospect's timeline. The key is short: prospect and time, each roughly. It does not begin with the tenant:
-- comparing it would cost more than all else here, so statements name the tenant besides.
create index prospect_logs_timeline on prospect_logs (timeline_key);

-- How many logs arrived, by hour and by day, source and type: of tenants whose counts are read. Logs up to `position`, an id or
-- the beginning of one, are counted. An empty source and type stand for the rest.
create table counted_tenants (
  tenant_id text collate "C" primary key,
  position text collate "C" not null,
  read_at timestamptz(3) not null
);
create table prospect_log_counts (
  tenant_id text collate "C" not null,
  unit text collate "C" not null check (unit in ('hour', 'day')),
  at timestamptz(3) not null,
  source text collate "C" not null,
  type text collate "C" not null,
  count bigint not null,
  primary key (tenant_id, unit, at, source, type)
);

-- What each API key used in a minute, or each hook, whose id stands for that of a key. Kept for 48 hours.
create table usage_counts (
  tenant_id text collate "C" not null,
  at timestamptz(3) not null,
  api_key_id text collate "C" not null,
  requests bigint not null,
  activities bigint not null,
  bytes bigint not null,
  primary key (tenant_id, at, api_key_id)
);
-- Read and removed by time, for all tenants.
create index usage_counts_at on usage_counts (at);

create table page_groups (
  tenant_id text collate "C" not null,
  page_group_id text collate "C" not null,
  brand_id text collate "C" not null,
  name text not null,
  title text not null,
  page_context text,
  status text not null check (status in ('active', 'archived', 'deleted')),
  actions json not null,
  footer_links json not null,
  scripts json not null,
  header_action_id text,
  revision integer not null,
  idempotency_key text collate "C",
  request_hash text collate "C",
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  deleted_at timestamptz(3) check ((deleted_at is not null) = (status = 'deleted')),
  primary key (tenant_id, page_group_id),
  foreign key (tenant_id, brand_id) references brands
);
-- Lists are read along expressions, so that no plan uses the primary key and reads all groups that a list omits.
create index page_groups_not_deleted on page_groups
  (tenant_id, (case when status <> 'deleted' then page_group_id end) desc);
create index page_groups_by_status on page_groups
  (tenant_id, ((status || '/' || page_group_id) collate "C") desc);
create unique index page_groups_idempotency_key on page_groups (tenant_id, idempotency_key)
  where idempotency_key is not null;

-- The number of pages of a group, apart from the wide row of the group. Thousands of creations per second update this short
-- row in place: no index changes, and most of each block stays free for new versions of the row.
create table page_counts (
  tenant_id text collate "C" not null,
  page_group_id text collate "C" not null,
  pages_count bigint not null,
  changes bigint not null,
  primary key (tenant_id, page_group_id)
) with (fillfactor = 20);

-- The primary key is the only index by page. An index on page_id alone would sometimes be chosen for lists and read the
-- pages of other groups. `automatic_after` is the version that was the newest when somebody last published or unpublished by
-- hand: only later ones are published automatically.
create table pages (
  tenant_id text collate "C" not null,
  page_group_id text collate "C" not null,
  page_id text collate "C" not null,
  custom_name text,
  computed_name text not null check (computed_name <> ''),
  published_version_id text collate "C",
  automatic_after text collate "C",
  latest_version_id text collate "C" not null,
  revision integer not null,
  idempotency_key text collate "C",
  request_hash text collate "C",
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, page_group_id, page_id)
);
create unique index pages_idempotency_key on pages (tenant_id, page_group_id, idempotency_key)
  where idempotency_key is not null;

create table page_versions (
  tenant_id text collate "C" not null,
  page_id text collate "C" not null,
  version_id text collate "C" not null,
  page_group_id text collate "C" not null,
  version_number integer not null,
  supplementary_context text,
  computed_name text not null check (computed_name <> ''),
  content json,
  status text not null check (status in ('processing', 'ready', 'published', 'failed')),
  published_at timestamptz(3) check ((published_at is not null) = (status = 'published')),
  failure_reason text check ((failure_reason is not null) = (status = 'failed')),
  publish boolean not null,
  attempts integer not null,
  claimable_at timestamptz(3) not null,
  idempotency_key text collate "C",
  request_hash text collate "C",
  created_at timestamptz(3) not null,
  primary key (tenant_id, page_id, version_id)
);
create unique index page_versions_idempotency_key on page_versions (tenant_id, page_id, idempotency_key)
  where idempotency_key is not null;
-- What waits for a publisher: tenant by tenant, so that tenants take turns.
create index page_versions_waiting on page_versions (tenant_id, claimable_at) where status = 'processing';
create index page_versions_failed on page_versions (created_at) where status = 'failed';

-- Who was erased, by ids and counts only. The hash of the email is kept while the erasure is processing. `block_id` names the
-- tombstone that blocks the email, which may be gone. A person who is being erased has one erasure at a time. Logs are
-- searched in the passes 1 and 2; then only traces on disk are left.
create table erasures (
  tenant_id text collate "C" not null,
  erasure_id text collate "C" not null,
  prospect_id text collate "C",
  email_hash text collate "C" check (email_hash is null or status = 'processing'),
  status text not null check (status in ('processing', 'completed')),
  requested_at timestamptz(3) not null,
  completed_at timestamptz(3) check ((completed_at is not null) = (status = 'completed')),
  logs_erased integer not null,
  block_id text collate "C",
  pass integer not null check (pass in (1, 2, 3, 4)),
  position text collate "C" not null,
  attempts integer not null,
  claimable_at timestamptz(3) not null,
  primary key (tenant_id, erasure_id)
);
-- Their conditions differ from that of what waits, so that no look-up is planned along that.
create unique index erasures_of_prospect on erasures (tenant_id, prospect_id)
  where completed_at is null and prospect_id is not null;
create unique index erasures_of_email on erasures (tenant_id, email_hash, coalesce(prospect_id, ''))
  where email_hash is not null;
create index erasures_waiting on erasures (tenant_id, claimable_at) where status = 'processing';

-- What happened: ids only, nothing of a person. A row is written with its change and gets its number later, once it is
-- committed: writers commit in any order. Only tenants that use events have rows.
create table events (
  tenant_id text collate "C" not null,
  event_id text collate "C" not null,
  sequence bigint,
  type text not null,
  ids json not null,
  api_key_id text collate "C",
  created_at timestamptz(3) not null,
  primary key (tenant_id, event_id)
);
create unique index events_by_sequence on events (tenant_id, sequence) where sequence is not null;
create index events_waiting on events (tenant_id, event_id) where sequence is null;

-- The last number given: whoever gives the next ones changes this row.
create table event_counts (
  tenant_id text collate "C" primary key,
  sequence bigint not null
);

-- Where events are delivered. The slot bounds the endpoints of a tenant. `claims` proves which sender has an endpoint.
create table webhook_endpoints (
  tenant_id text collate "C" not null,
  webhook_endpoint_id text collate "C" not null,
  url text not null,
  types text[],
  description text,
  status text not null check (status in ('enabled', 'disabled', 'deleted')),
  disabled_reason text,
  secret text not null,
  previous_secret text,
  previous_secret_until timestamptz(3),
  failures integer not null,
  failing_since timestamptz(3),
  slot integer check ((slot is null) = (status = 'deleted')),
  claims integer not null,
  claimable_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, webhook_endpoint_id)
);
create unique index webhook_endpoints_slot on webhook_endpoints (tenant_id, slot) where slot is not null;
create index webhook_endpoints_enabled on webhook_endpoints (tenant_id) where status = 'enabled';
create index webhook_endpoints_deleted on webhook_endpoints (tenant_id) where status = 'deleted';
-- What needs attention, for `status`: here and in the other indexes of what has failed or was refused.
create index webhook_endpoints_failing on webhook_endpoints (tenant_id) where failing_since is not null;

create table webhook_deliveries (
  tenant_id text collate "C" not null,
  webhook_endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  status text not null check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null,
  next_attempt_at timestamptz(3) check ((next_attempt_at is not null) = (status = 'pending')),
  last_status integer,
  last_error text,
  delivered_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (tenant_id, webhook_endpoint_id, event_id)
);
create index webhook_deliveries_pending on webhook_deliveries (tenant_id, webhook_endpoint_id, next_attempt_at)
  where status = 'pending';
create index webhook_deliveries_failed on webhook_deliveries (tenant_id, webhook_endpoint_id, created_at)
  where status = 'failed';
