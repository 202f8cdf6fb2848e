-- On Citus: restores API keys and hooks from their copies on the workers, after a coordinator was lost. Run this as the owner
-- of the tables, on the coordinator, before the service is started; it can be run again.
--
--   psql "$OWNER_URL" -v ON_ERROR_STOP=1 -1 -f sql/keys-from-copies.sql
--
-- After an older backup of the coordinator was restored, it adds what was created since, and ends what was revoked since.

insert into api_keys as k (api_key_id, tenant_id, key_hash, start, name, scopes, created_at, expires_at, revoked_at, rotated_at,
  last_used_at, is_copied)
select row ->> 'apiKeyId', tenant_id, key, row ->> 'start', row ->> 'name',
  array(select json_array_elements_text(row -> 'scopes')), (row ->> 'createdAt')::timestamptz,
  (row ->> 'expiresAt')::timestamptz, (row ->> 'revokedAt')::timestamptz, (row ->> 'rotatedAt')::timestamptz,
  (row ->> 'lastUsedAt')::timestamptz, true
from identity_copies where row ->> 'apiKeyId' is not null
on conflict (api_key_id) do update set revoked_at = coalesce(k.revoked_at, excluded.revoked_at),
  rotated_at = coalesce(k.rotated_at, excluded.rotated_at), expires_at = least(k.expires_at, excluded.expires_at);

insert into hooks as h (tenant_id, hook_id, source, description, status, rules, secret, previous_secret, previous_secret_until,
  slot, created_at, updated_at, last_received_at, last_refused_at, last_refusal, last_warned_at, last_warning, idempotency_key,
  request_hash, is_copied)
select tenant_id, key, row ->> 'source', row ->> 'description', row ->> 'status', (row -> 'rules' ->> 'rawJson')::json,
  row ->> 'secret', row ->> 'previousSecret', (row ->> 'previousSecretUntil')::timestamptz, (row ->> 'slot')::integer,
  (row ->> 'createdAt')::timestamptz, (row ->> 'updatedAt')::timestamptz, (row ->> 'lastReceivedAt')::timestamptz,
  (row ->> 'lastRefusedAt')::timestamptz, row ->> 'lastRefusal', (row ->> 'lastWarnedAt')::timestamptz, row ->> 'lastWarning',
  row ->> 'idempotencyKey', row ->> 'requestHash', true
from identity_copies where row ->> 'hookId' is not null
on conflict (tenant_id, hook_id) do update set description = excluded.description, status = excluded.status,
  rules = excluded.rules, secret = excluded.secret, previous_secret = excluded.previous_secret,
  previous_secret_until = excluded.previous_secret_until, updated_at = excluded.updated_at
where h.updated_at < excluded.updated_at;

-- A hook that was removed leaves a copy without a row.
delete from hooks where hook_id in (select key from identity_copies where row is null);
