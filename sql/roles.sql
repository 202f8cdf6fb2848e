-- What the role that serves may do, and no more: no DDL, no delete, no truncate. Run by the role that owns the tables,
-- after every `prospect-pages migrate`; running it again does no harm. SECURITY.md tells how the two roles are made.
--
--   DATABASE_URL=$OWNER_URL prospect-pages migrate && psql "$OWNER_URL" -v ON_ERROR_STOP=1 -1 -f sql/roles.sql
--
-- A test serves everything and runs every command with these grants, and fails where one of them is not needed.

-- I. To serve.

-- Whether there is anything to migrate.
grant select on schema_migrations to prospect_pages;

grant select, update (last_used_at) on api_keys to prospect_pages;
grant select, insert, update (email, email_hash, name) on prospects to prospect_pages;

-- What was logged stays as it was, and serving reads neither payloads nor emails nor names of it again.
grant insert, select (tenant_id, prospect_log_id, prospect_id, source, type, idempotency_key, request_hash,
  created_prospect, created_at) on prospect_logs to prospect_pages;

grant select on page_groups to prospect_pages;
grant select, insert, update (pages_count) on page_counts to prospect_pages;
grant select, insert, update (published_version_id, computed_name, updated_at) on pages to prospect_pages;
grant select, insert, update (status, published_at, failure_reason, attempts, claimable_at) on page_versions
  to prospect_pages;

-- II. To run commands as the same role: tenants, keys and page groups. Where commands run as the owner leave these out;
-- then no thief of the serving role's password can make a key.

grant select, insert on tenants, brands to prospect_pages;

-- A key is made and ends; it never changes its hash, its tenant or its scopes.
grant insert, update (expires_at, revoked_at) on api_keys to prospect_pages;

grant insert, update (brand_id, name, title, page_context, status, actions, footer_links, scripts,
  header_action_id, updated_at, deleted_at) on page_groups to prospect_pages;
