import { createSecrets } from '../adapters/webhooks/secrets.ts'
import { type SealedSecrets, secretsOf } from '../core/engine/sealed-secrets.ts'
import { type Check, failed, passed } from './check.ts'

/** The newest ones, from either kind of database. */
export const SELECT_SECRETS = `
  select secret, previous_secret as "previousSecret", previous_secret_until as "previousSecretUntil" from (
    select * from (
      select secret, previous_secret, previous_secret_until, created_at from webhook_endpoints
      where status <> 'deleted' order by created_at desc limit 1000
    ) endpoints
    union all select * from (
      select secret, previous_secret, previous_secret_until, created_at from hooks
      where secret like '%:%' order by created_at desc limit 1000
    ) hooks
  ) sealed order by created_at desc limit 1000`
const REMEDY =
  'set SECRETS_KEY to the key that encrypted them, or replace the secret of each such endpoint and hook'

/** What an operator should know of webhook secrets, if there are any; above all, whether the key opens them. */
export const webhookSecrets = (rows: readonly object[], key: Buffer | null): readonly Check[] => {
  if (rows.length === 0) return []
  const { open } = createSecrets(key)
  const lost = rows.filter((row) => secretsOf(row as SealedSecrets, Date.now(), open) === null)
  const why = key ? 'with this SECRETS_KEY' : 'because SECRETS_KEY is not set'
  const detail = `${lost.length} of ${rows.length} examined cannot be decrypted ${why}`
  if (lost.length > 0) return [failed('webhook secrets', detail, REMEDY)]
  const warning = 'warning: they are stored unencrypted; set SECRETS_KEY to 32 random bytes in base64'
  return [passed('webhook secrets', key ? 'new ones are encrypted' : warning)]
}
