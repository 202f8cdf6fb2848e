-- Every table but the first and the keys begins its primary key, its unique constraints and its foreign keys with
-- tenant_id: no statement that serves a caller leaves its tenant, and the tables can be distributed by it.
-- Ids are compared byte by byte (collate "C"), so that every store sorts alike.

create table tenants (
  tenant_id text collate "C" primary key,
  name text not null,
  created_at timestamptz(3) not null
);

create table brands (
  tenant_id text collate "C" not null references tenants,
  brand_id text collate "C" not null,
  name text not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, brand_id)
);

-- Found by its hash, before the tenant is known.
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
  last_used_at timestamptz(3)
);
create index api_keys_of_tenant on api_keys (tenant_id, api_key_id);

-- One prospect per email: by a hash of it, because a btree cannot hold a long email.
create table prospects (
  tenant_id text collate "C" not null,
  prospect_id text collate "C" not null,
  email text,
  email_hash text collate "C" constraint prospects_email_hash_is_one check (length(email_hash) = 43),
  name text,
  created_at timestamptz(3) not null,
  primary key (tenant_id, prospect_id)
);
create unique index prospects_email on prospects (tenant_id, email_hash) where email_hash is not null;

-- payload is json, not jsonb: it keeps the text as sent. Nothing here refers to prospects by a foreign key: no
-- statement deletes one, and the check would cost a look-up for each row.
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
  created_at timestamptz(3) not null,
  primary key (tenant_id, prospect_log_id)
);
create unique index prospect_logs_idempotency_key on prospect_logs (tenant_id, source, idempotency_key)
  where idempotency_key is not null;

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
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  deleted_at timestamptz(3) check ((deleted_at is not null) = (status = 'deleted')),
  primary key (tenant_id, page_group_id),
  foreign key (tenant_id, brand_id) references brands
);
-- The lists are walked along texts of their own, so that no planner takes the primary key for them and reads all the
-- groups that a list leaves out.
create index page_groups_not_deleted on page_groups
  (tenant_id, (case when status <> 'deleted' then page_group_id end) desc);
create index page_groups_by_status on page_groups
  (tenant_id, ((status || '/' || page_group_id) collate "C") desc);
-- For the command line, which knows no tenant. A hash, so that no list can be walked along it.
create index page_groups_by_id on page_groups using hash (page_group_id);

-- How many pages a group has, apart from the group: thousands of creations a second rewrite this short row in its
-- place (no index changes, and most of each block is left free for its successors), and not the wide one.
create table page_counts (
  tenant_id text collate "C" not null,
  page_group_id text collate "C" not null,
  pages_count bigint not null,
  primary key (tenant_id, page_group_id)
) with (fillfactor = 20);

-- The group comes before the page in the primary key, and there is no second way in: an index on the page alone would
-- be walked, now and then, through other groups' pages.
create table pages (
  tenant_id text collate "C" not null,
  page_group_id text collate "C" not null,
  page_id text collate "C" not null,
  custom_name text,
  computed_name text not null check (computed_name <> ''),
  supplementary_context text,
  published_version_id text collate "C",
  latest_version_id text collate "C" not null,
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
  status text not null check (status in ('processing', 'published', 'failed')),
  published_at timestamptz(3) check ((published_at is not null) = (status = 'published')),
  failure_reason text check ((failure_reason is not null) = (status = 'failed')),
  attempts integer not null default 0,
  claimable_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, page_id, version_id)
);
-- What waits for a publisher: tenant by tenant, so that tenants take turns.
create index page_versions_waiting on page_versions (tenant_id, claimable_at) where status = 'processing';
