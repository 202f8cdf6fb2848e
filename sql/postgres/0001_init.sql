-- The schema on PostgreSQL 14 or newer. sql/sqlite/0001_init.sql has the same tables and columns.
--
-- Every primary key, unique constraint and foreign key begins with tenant_id, so a statement for a caller stays within its tenant,
-- and the tables can be distributed by tenant. The exceptions are `tenants` itself, `served`, and the keys that find an API key or
-- a hook before its tenant is known.
-- IDs are compared byte by byte (collate "C"), so that every store sorts alike. Times have milliseconds, as in the API.

create table tenants (
  tenant_id text collate "C" primary key,
  name text not null,
  created_at timestamptz(3) not null,
  -- How long activities are kept: 0 is forever, null is the setting of the service.
  retention_days integer check (retention_days >= 0),
  suspended_at timestamptz(3),
  -- When its deletion was ordered. It stays suspended while its rows are removed in the background.
  deleted_at timestamptz(3) check (deleted_at is null or suspended_at is not null)
);
create index tenants_deleted on tenants (tenant_id) where deleted_at is not null;

-- One row: when this database was last served and, after the clock jumped ahead, since when the deletion of expired rows is paused.
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

-- A key is found by its hash, before the tenant is known. `start` is its beginning, which people recognize it by.
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

-- Addresses that vendors send their webhooks to. A hook is found by its ID, before the tenant is known.
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
  -- From 1 to a maximum, and unique: this limits how many hooks a tenant has.
  slot integer not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  last_received_at timestamptz(3),
  last_refused_at timestamptz(3),
  last_refusal text,
  -- How a body differed from what its headers announced, as a sentence for people.
  last_warned_at timestamptz(3),
  last_warning text,
  idempotency_key text collate "C",
  -- The hash of the request, encrypted like the secret: the request may contain one.
  request_hash text collate "C",
  primary key (tenant_id, hook_id),
  unique (tenant_id, slot)
);
create unique index hooks_idempotency_key on hooks (tenant_id, idempotency_key) where idempotency_key is not null;
-- Read by `status`, as are the other indexes of failures and refusals.
create index hooks_refused on hooks (last_refused_at) where last_refused_at is not null;
create index hooks_warned on hooks (last_warned_at) where last_warned_at is not null;

-- `email` and `external_id` are what a prospect is shown with: who is whom stands in `identifiers`. An erased prospect stays as a
-- tombstone: its ID and erased_at.
create table prospects (
  tenant_id text collate "C" not null,
  prospect_id text collate "C" not null,
  email text,
  -- The ID that another system has for this person, exactly as sent.
  external_id text,
  name text,
  -- An object of texts, numbers and booleans, or null. It is json, not jsonb, to keep each number as sent.
  attributes json,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- The prospect that this one was merged into. That one was not merged itself: a later merge updates this column.
  merged_into text collate "C",
  -- Whether it is in the indexes of the search.
  is_searched boolean not null default false,
  erased_at timestamptz(3)
    constraint prospects_erased_is_blank check (
      erased_at is null or (email is null and external_id is null and name is null and attributes is null)),
  primary key (tenant_id, prospect_id)
);
create index prospects_merged on prospects (tenant_id, merged_into) where merged_into is not null;
-- The search finds people by the beginning of their email, of their name, or of the last word of their name: in lower case and
-- without accents. Most names are ASCII and need no more than `lower`. The statement of the search repeats these expressions.
-- These indexes cost as much as half of everything else that a new person costs. So people are added to them in the background,
-- and only those of tenants that are searched.
create index prospects_email_start on prospects (tenant_id, (left(email, 100) collate "C")) where is_searched and email is not null;
create index prospects_name_start on prospects (tenant_id, (left(btrim(case when octet_length(name) = char_length(name)
    then lower(name) else lower(regexp_replace(normalize(name, NFKD), '[\u0300-\u036f]', '', 'g')) end), 100) collate "C"))
  where is_searched and name is not null;
create index prospects_last_name_start on prospects (tenant_id, (left(split_part(btrim(case when octet_length(name) = char_length(name)
    then lower(name) else lower(regexp_replace(normalize(name, NFKD), '[\u0300-\u036f]', '', 'g')) end), ' ', -1), 100) collate "C"))
  where is_searched and name like '% %';

-- The tenants that are searched. Their people are indexed up to `position`, and were looked at again up to `checked`: each is an ID
-- or the beginning of one.
create table searched_tenants (
  tenant_id text collate "C" primary key,
  position text collate "C" not null default '',
  checked text collate "C" not null default '',
  searched_at timestamptz(3) not null
);

-- Who is whom: an email or external ID leads to one prospect, which is neither erased nor merged. The primary key makes two
-- strangers with one address impossible. The hash stands for the text, because a btree cannot hold a long one.
--
-- An identifier without a prospect is blocked after an erasure: only its hash is left. Or, with its text, it identifies no one by
-- order of the tenant: an email, or all emails of a domain.
create table identifiers (
  tenant_id text collate "C" not null,
  kind text collate "C" not null check (kind in ('email', 'externalId', 'emailDomain')),
  hash text collate "C" not null check (length(hash) = 43),
  value text,
  prospect_id text collate "C",
  blocked_until timestamptz(3),
  erasure_id text collate "C",
  primary key (tenant_id, kind, hash),
  constraint identifiers_lead_or_are_blocked check (
    case when prospect_id is null and value is null then kind <> 'emailDomain' and blocked_until is not null and erasure_id is not null
      else value is not null and blocked_until is null and erasure_id is null and (kind <> 'emailDomain' or prospect_id is null) end)
);
create index identifiers_of_no_one on identifiers (tenant_id) where prospect_id is null and value is not null;
create index identifiers_of_prospect on identifiers (tenant_id, prospect_id) where prospect_id is not null;
create index identifiers_blocked on identifiers (tenant_id, blocked_until) where blocked_until is not null;
create index identifiers_of_erasure on identifiers (erasure_id, blocked_until) where erasure_id is not null;

-- Identifiers that a prospect had. They lead to no one, and need not be unique. The text is kept of the newest twenty of each kind.
create table former_identifiers (
  tenant_id text collate "C" not null,
  prospect_id text collate "C" not null,
  kind text collate "C" not null check (kind in ('email', 'externalId')),
  hash text collate "C" not null,
  value text,
  released_at timestamptz(3) not null,
  primary key (tenant_id, prospect_id, kind, hash)
);
create index former_identifiers_by_hash on former_identifiers (tenant_id, kind, hash, released_at);
create index former_identifiers_shown on former_identifiers (tenant_id, prospect_id, kind, released_at) where value is not null;

-- Pairs of prospects whom one activity named, by IDs: they may be one person. The lesser ID comes first. A pair is removed in the
-- background once either prospect was erased or merged.
create table prospect_conflicts (
  tenant_id text collate "C" not null,
  prospect_id text collate "C" not null,
  other_id text collate "C" not null check (other_id > prospect_id),
  field text not null check (field in ('email', 'externalId')),
  at timestamptz(3) not null,
  primary key (tenant_id, prospect_id, other_id)
);
create index prospect_conflicts_of_other on prospect_conflicts (tenant_id, other_id);
create index prospect_conflicts_by_time on prospect_conflicts (tenant_id, at, prospect_id, other_id);

-- The payload is json, not jsonb, to keep the text as sent. There is no foreign key to prospects: no statement deletes a prospect
-- that has logs, and the check would cost a lookup per row.
create table prospect_logs (
  tenant_id text collate "C" not null,
  prospect_log_id text collate "C" not null,
  prospect_id text collate "C" not null,
  source text not null,
  type text not null,
  payload json not null,
  email text,
  external_id text,
  name text,
  idempotency_key text collate "C",
  -- What the key belongs to besides its source: empty for a key of the API, a hash for one that a hook maps.
  key_scope text collate "C" not null default '',
  request_hash text collate "C",
  created_prospect boolean not null,
  occurred_at timestamptz(3) not null,
  -- A hash of the prospect followed by the time, both rounded: see src/adapters/stores/timeline-key.ts.
  timeline_key bigint not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, prospect_log_id)
);
create unique index prospect_logs_idempotency_key on prospect_logs (tenant_id, source, idempotency_key, key_scope)
  where idempotency_key is not null;
-- The timelines of prospects. The index does not begin with the tenant, because comparing it would cost more than everything else
-- here, so the statements that use it compare the tenant as well.
create index prospect_logs_timeline on prospect_logs (timeline_key);

-- Merges of one prospect into another one: `processing` until its logs have moved to the survivor. `pass` is 1 or 2, because logs
-- are searched twice.
create table merges (
  tenant_id text collate "C" not null,
  merge_id text collate "C" not null,
  prospect_id text collate "C" not null,
  into_id text collate "C" not null,
  api_key_id text collate "C",
  status text not null check (status in ('processing', 'completed')),
  requested_at timestamptz(3) not null,
  completed_at timestamptz(3) check ((completed_at is not null) = (status = 'completed')),
  pass integer not null,
  -- The second pass begins once the writes that began before this moment have ended.
  settles_after text,
  attempts integer not null,
  claimable_at timestamptz(3) not null,
  primary key (tenant_id, merge_id),
  unique (tenant_id, prospect_id)
);
create index merges_into on merges (tenant_id, into_id) where status = 'processing';
-- The queue of pending merges, ordered by tenant so that tenants take turns. The other indexes named `…_waiting` are such queues.
create index merges_waiting on merges (tenant_id, claimable_at) where status = 'processing';

-- Erasures of people, by IDs and counts only. The identifiers that an erasure blocks name it.
create table erasures (
  tenant_id text collate "C" not null,
  erasure_id text collate "C" not null,
  -- The erasure of the survivor, if this prospect had been merged into another one. Then this row is not shown.
  part_of text collate "C",
  prospect_id text collate "C",
  status text not null check (status in ('processing', 'completed')),
  requested_at timestamptz(3) not null,
  completed_at timestamptz(3) check ((completed_at is not null) = (status = 'completed')),
  logs_erased integer not null,
  -- Passes 1 and 2 search the logs. After that, only traces on disk are left: pass 3 waits until they are overwritten.
  pass integer not null check (pass in (1, 2, 3, 4)),
  -- The second pass begins once the writes that began before this moment have ended.
  settles_after text,
  position text collate "C" not null,
  attempts integer not null,
  claimable_at timestamptz(3) not null,
  -- Prospects that had the identifier of the request, and those that former identifiers of the erased one led to: lists of IDs.
  formerly_of json not null default '[]',
  still_leads_to json not null default '[]',
  primary key (tenant_id, erasure_id)
);
-- One pending erasure for each person. The conditions of these indexes differ from that of the queue, so that the planner never
-- uses the queue for a lookup.
create unique index erasures_of_prospect on erasures (tenant_id, prospect_id)
  where completed_at is null and prospect_id is not null;
create index erasures_by_prospect on erasures (tenant_id, prospect_id) where prospect_id is not null;
create index erasures_parts on erasures (tenant_id, part_of) where part_of is not null;
create index erasures_waiting on erasures (tenant_id, claimable_at) where status = 'processing';

-- How many logs arrived by hour and by day, for tenants that read these counts. Logs up to `position` are counted: an ID or the
-- beginning of one. Only logs after `closed_to` are recorded, so that those up to there can be counted.
create table counted_tenants (
  tenant_id text collate "C" primary key,
  position text collate "C" not null,
  closed_to text collate "C" not null,
  read_at timestamptz(3) not null
);
-- An empty source and type stand for all pairs beyond the maximum.
create table prospect_log_counts (
  tenant_id text collate "C" not null,
  unit text collate "C" not null check (unit in ('hour', 'day')),
  at timestamptz(3) not null,
  source text collate "C" not null,
  type text collate "C" not null,
  count bigint not null,
  -- How many of these logs created their prospect.
  new_prospects bigint not null default 0,
  primary key (tenant_id, unit, at, source, type)
);

-- The same logs by page and by source, and by prospects. `days_since`: how many days before this one the prospect of the log was last
-- there; 0 is earlier on this day, the greatest value is longer ago or never. The people of some days in a row are the logs whose
-- prospect was not there since the first of these days. A day is the number of days since 1970. An empty name stands for all names
-- beyond the maximum, without people.
create table prospect_counts (
  tenant_id text collate "C" not null,
  kind text collate "C" not null check (kind in ('page', 'source')),
  day integer not null,
  name text collate "C" not null,
  days_since integer not null check (days_since >= 0),
  count bigint not null,
  new_prospects bigint not null,
  primary key (tenant_id, kind, day, name, days_since)
);
-- On which days a prospect was there. The latest are kept, as long as the counts of later days need them.
create table prospect_days (
  tenant_id text collate "C" not null,
  prospect_id text collate "C" not null,
  kind text collate "C" not null check (kind in ('page', 'source')),
  name text collate "C" not null,
  day integer not null,
  primary key (tenant_id, prospect_id, kind, name, day)
);
create index prospect_days_by_day on prospect_days (tenant_id, day);

-- What each API key used per minute, kept for 48 hours. The usage of a hook is stored with its ID as `api_key_id`.
create table usage_counts (
  tenant_id text collate "C" not null,
  at timestamptz(3) not null,
  api_key_id text collate "C" not null,
  requests bigint not null,
  activities bigint not null,
  bytes bigint not null,
  primary key (tenant_id, at, api_key_id)
);
-- Read and deleted by time, for all tenants.
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
-- Lists are ordered by these expressions. If they were ordered by page_group_id, the planner could choose the primary key, and
-- read every group that the list omits.
create index page_groups_not_deleted on page_groups
  (tenant_id, (case when status <> 'deleted' then page_group_id end) desc);
create index page_groups_by_status on page_groups
  (tenant_id, ((status || '/' || page_group_id) collate "C") desc);
create unique index page_groups_idempotency_key on page_groups (tenant_id, idempotency_key)
  where idempotency_key is not null;

-- The number of pages of a group, apart from the wide row of the group. Thousands of creations per second update this short row in
-- place: no index changes, and most of each block stays free for new versions of the row. `changes` adds to the group's revision.
create table page_counts (
  tenant_id text collate "C" not null,
  page_group_id text collate "C" not null,
  pages_count bigint not null,
  changes bigint not null,
  primary key (tenant_id, page_group_id)
) with (fillfactor = 20);

-- Deleted page groups whose published pages are unpublished in the background, in the order of their ids. A row exists until all of
-- them are; it names the last page that is done and the last event, which are empty at first.
create table page_group_deletions (
  tenant_id text collate "C" not null,
  page_group_id text collate "C" not null,
  api_key_id text collate "C",
  after_page_id text collate "C" not null,
  after_event_id text collate "C" not null,
  primary key (tenant_id, page_group_id)
);

-- The primary key is the only index by page. The planner would sometimes choose an index on page_id alone for a list, and read the
-- pages of other groups.
create table pages (
  tenant_id text collate "C" not null,
  page_group_id text collate "C" not null,
  page_id text collate "C" not null,
  -- The number of the page in its group when it was created. It names versions that have no context.
  page_number integer,
  slug text collate "C",
  custom_name text,
  computed_name text not null check (computed_name <> ''),
  published_version_id text collate "C",
  -- When that version was published: the same time as in its own row, for the list of what readers see.
  published_at timestamptz(3) check ((published_at is null) = (published_version_id is null)),
  -- When the published version is unpublished.
  unpublish_at timestamptz(3),
  -- The newest version when the page was last published or unpublished by hand. Only later versions are published automatically.
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
create unique index pages_slug on pages (tenant_id, page_group_id, slug) where slug is not null;
-- The pages that readers see, those published last first.
create index pages_published on pages (tenant_id, published_at desc, page_id desc) where published_at is not null;
-- Pages to unpublish, ordered by tenant so that tenants take turns.
create index pages_scheduled on pages (tenant_id, unpublish_at) where unpublish_at is not null;

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
  -- Whether the version is published as soon as it is ready. False for a scheduled version, which is published at `publish_at`
  -- and until then is `ready`, or `published` if it was published before.
  publish boolean not null,
  publish_at timestamptz(3),
  unpublish_at timestamptz(3),
  -- Why a scheduled version was not published.
  schedule_note text,
  attempts integer not null,
  claimable_at timestamptz(3) not null,
  idempotency_key text collate "C",
  request_hash text collate "C",
  created_at timestamptz(3) not null,
  primary key (tenant_id, page_id, version_id)
);
create unique index page_versions_idempotency_key on page_versions (tenant_id, page_id, idempotency_key)
  where idempotency_key is not null;
create index page_versions_waiting on page_versions (tenant_id, claimable_at) where status = 'processing';
create index page_versions_failed on page_versions (created_at) where status = 'failed';
-- Versions to publish, ordered by tenant so that tenants take turns.
create index page_versions_scheduled on page_versions (tenant_id, publish_at)
  where publish_at is not null and status in ('ready', 'published');
-- The scheduled versions of one page, including those that are still processing.
create index page_versions_scheduled_of_page on page_versions (tenant_id, page_id, publish_at, version_id)
  where publish_at is not null;

-- What happened, as IDs without personal data. An event is written with its change and numbered after the commit, because writers
-- commit in any order. Only tenants that use events have rows.
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

-- The last number that an event got. Assigning numbers updates this row, so two processes never assign the same ones.
create table event_counts (
  tenant_id text collate "C" primary key,
  sequence bigint not null
);

create table webhook_endpoints (
  tenant_id text collate "C" not null,
  webhook_endpoint_id text collate "C" not null,
  url text not null,
  method text not null default 'POST',
  -- The template of the bodies, or null for bodies in the format of Standard Webhooks.
  body json,
  -- The custom headers as one text: their names, then all of them encrypted, separated by spaces.
  headers text,
  -- The events that it takes: their types and, for activities, their sources and types. Null is all of them.
  types text[],
  sources json,
  log_types json,
  description text,
  status text not null check (status in ('enabled', 'disabled', 'deleted')),
  disabled_reason text,
  secret text not null,
  previous_secret text,
  previous_secret_until timestamptz(3),
  failures integer not null,
  failing_since timestamptz(3),
  -- Why the last attempt failed, as JSON: { at, reason, status }. Null after a success.
  last_error text,
  -- From 1 to a maximum, and unique: this limits how many endpoints a tenant has.
  slot integer check ((slot is null) = (status = 'deleted')),
  -- Each claim adds one, so a sender notices that another one has claimed the endpoint since.
  claims integer not null,
  claimable_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  idempotency_key text collate "C",
  -- The hash of the request, encrypted like the secret: the request may contain secrets.
  request_hash text collate "C",
  primary key (tenant_id, webhook_endpoint_id)
);
create unique index webhook_endpoints_slot on webhook_endpoints (tenant_id, slot) where slot is not null;
create unique index webhook_endpoints_idempotency_key on webhook_endpoints (tenant_id, idempotency_key)
  where idempotency_key is not null and slot is not null;
create index webhook_endpoints_enabled on webhook_endpoints (tenant_id) where status = 'enabled';
create index webhook_endpoints_deleted on webhook_endpoints (tenant_id) where status = 'deleted';
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
  -- The last ten attempts, oldest first.
  last_attempts json not null default '[]',
  delivered_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (tenant_id, webhook_endpoint_id, event_id)
);
create index webhook_deliveries_pending on webhook_deliveries (tenant_id, webhook_endpoint_id, next_attempt_at)
  where status = 'pending';
create index webhook_deliveries_failed on webhook_deliveries (tenant_id, webhook_endpoint_id, created_at)
  where status = 'failed';

-- Views for reports and other programs that read the database. They name each column, so they never change with their tables, and
-- later migrations add columns at their end only. They run with the rights of their owner: a reader needs no rights on the tables.

-- Logs of an erased prospect are hidden until the eraser has deleted them. Logs of a merged prospect show its survivor.
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

-- A custom name of spaces counts as no name.
create view v_pages as
  select p.tenant_id, p.page_group_id, g.name as page_group_name, g.title as page_group_title, g.status as page_group_status,
    p.page_id, case when trim(p.custom_name) <> '' then p.custom_name else p.computed_name end as effective_name,
    v.version_id as published_version_id, v.version_number as published_version_number, v.published_at,
    p.created_at, p.updated_at
  from pages p
    join page_groups g on g.tenant_id = p.tenant_id and g.page_group_id = p.page_group_id and g.status <> 'deleted'
    left join page_versions v
      on v.tenant_id = p.tenant_id and v.page_id = p.page_id and v.version_id = p.published_version_id;
