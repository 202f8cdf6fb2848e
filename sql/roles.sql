-- The grants of the role that serves: no DDL and no truncate. It deletes pages, webhook endpoints, what is erased or has
-- expired, and everything of tenants that were deleted. Run this as the owner of the tables after every
-- `prospect-pages migrate`; it can be run again. On Citus, `migrate` runs it. See "Database roles" in SECURITY.md for creating
-- both roles.
--
--   DATABASE_URL=$OWNER_URL prospect-pages migrate && psql "$OWNER_URL" -v ON_ERROR_STOP=1 -1 -f sql/roles.sql
--
-- A test uses every operation and every command with these grants, and fails if one of them is not needed.

-- On Citus, tables of different kinds are joined by foreign keys. Ignored elsewhere.
set local citus.multi_shard_modify_mode = 'sequential';
set local citus.enable_local_reference_table_foreign_keys to off;

-- I. For serving.

-- To see whether migrations are missing.
grant select on schema_migrations to prospect_pages;

grant select, delete, update (last_used_at) on api_keys to prospect_pages;
grant select, insert, delete, update (source, description, status, rules, secret, previous_secret, previous_secret_until,
  updated_at, last_received_at, last_refused_at, last_refusal, last_warned_at, last_warning) on hooks to prospect_pages;
-- Prospects are erased, and deleted only with their tenant.
grant select, insert, delete, update (email, external_id, name, attributes, updated_at, erased_at, merged_into, is_searched)
  on prospects to prospect_pages;
-- Corrections, merges and erasures change where an identifier leads. Blocks that have ended are deleted.
grant select, insert, delete, update (value, prospect_id, blocked_until, erasure_id) on identifiers to prospect_pages;
grant select, insert, delete, update (value, released_at) on former_identifiers to prospect_pages;
grant select, insert, delete, update (field, at) on prospect_conflicts to prospect_pages;

-- Logged activities cannot be changed, except that they lose email, external id and name, and the hash made of them, and that
-- they move to the prospect that theirs was merged into.
grant select, insert, delete, update (email, external_id, name, request_hash, prospect_id, timeline_key) on prospect_logs to prospect_pages;

grant select, insert, delete, update (position, checked, searched_at) on searched_tenants to prospect_pages;
grant select, insert, delete, update (position, closed_to, read_at) on counted_tenants to prospect_pages;
-- The counts since the clock was set back are made again.
grant select, insert, delete, update (count, new_prospects) on prospect_log_counts to prospect_pages;
grant select, insert, delete, update (count, new_prospects) on prospect_counts to prospect_pages;
-- Days are only locked, never updated.
grant select, insert, delete, update (day) on prospect_days to prospect_pages;

-- Removed after 48 hours.
grant select, insert, delete, update (requests, activities, bytes) on usage_counts to prospect_pages;

grant select, insert, delete, update (status, completed_at, logs_erased, pass, settles_after, position, attempts,
  claimable_at) on erasures to prospect_pages;
grant select, insert, delete, update (into_id, status, completed_at, pass, settles_after, attempts, claimable_at) on merges to prospect_pages;

-- To delete what has expired, tenant by tenant, unless the clock is far ahead; and tenants that an operator deleted.
grant select, delete on tenants to prospect_pages;
grant select, insert, update (served_at, paused_at) on served to prospect_pages;

grant select, insert, delete, update (brand_id, name, title, page_context, status, actions, footer_links, scripts,
  header_action_id, revision, updated_at, deleted_at) on page_groups to prospect_pages;
grant select, insert, delete, update (pages_count, changes) on page_counts to prospect_pages;
grant select, insert, delete, update (after_page_id, after_event_id) on page_group_deletions to prospect_pages;
grant select, insert, delete, update (slug, custom_name, computed_name, published_version_id, automatic_after, latest_version_id,
  published_at, unpublish_at, revision, updated_at) on pages to prospect_pages;

-- The content of a version cannot be changed.
grant select, insert, delete, update (computed_name, status, published_at, failure_reason, publish, publish_at, unpublish_at,
  schedule_note, attempts, claimable_at) on page_versions to prospect_pages;

-- Events get their numbers once; they are deleted when they have been kept long enough.
grant select, insert, delete, update (sequence) on events to prospect_pages;
grant select, insert, delete, update (sequence) on event_counts to prospect_pages;
grant select, insert, delete, update (url, types, description, status, disabled_reason, secret, previous_secret,
  previous_secret_until, failures, failing_since, slot, claims, claimable_at, updated_at, sources, log_types, headers,
  last_error, body, method) on webhook_endpoints to prospect_pages;
grant select, insert, delete, update (status, attempts, next_attempt_at, last_status, last_error, delivered_at, last_attempts)
  on webhook_deliveries to prospect_pages;

-- For a new page group: the tenant's brands.
grant select, delete on brands to prospect_pages;

-- II. For commands that run as the same role. Omit these if you run commands as the owner: then no one who steals the
-- password of the serving role can create an API key.

grant insert on tenants to prospect_pages;
grant insert on brands to prospect_pages;
grant update (name, retention_days, suspended_at, deleted_at) on tenants to prospect_pages;

-- A key can expire or be revoked; its hash, tenant and scopes cannot change.
grant insert, update (expires_at, revoked_at, rotated_at) on api_keys to prospect_pages;

-- III. On Citus.
do $$ begin if to_regclass('identity_copies') is not null then execute 'grant select, insert, delete, update (row, version) on identity_copies to prospect_pages'; execute 'grant update (is_copied) on api_keys, hooks to prospect_pages'; end if; end $$;
