import { createSecrets } from '../adapters/webhooks/secrets.ts'
import type { Config } from '../config/config.ts'
import { resealed, type SealedSecrets } from '../core/engine/sealed-secrets.ts'
import type { Database, Row } from './read-database.ts'

/** Maximum number of findings shown of each kind. */
export const FINDINGS_MAX = 50
const LIST_LENGTH = 500
/** Places of secrets, and how to replace one or see more; a hook may have the hash of a token, which has no colon. */
const PLACES = [
  [
    'webhook_endpoints',
    'webhook_endpoint_id',
    "s.status <> 'deleted'",
    'POST',
    '/rotate_secret',
    's.headers',
  ],
  ['hooks', 'hook_id', "s.secret like '%:%'", 'GET', '', 'null'],
] as const
const quoted = (text: unknown) => `'${String(text).replaceAll("'", "''")}'`

/**
 * Checks the secrets of every endpoint and hook, list by list. Counts the effects of encrypting with these keys, and
 * returns the first that no key opens. `onOld` is called for each that another key or none encrypted.
 */
export const examineSecrets = async (
  read: Database['read'],
  { secretsKey, secretsKeyPrevious }: Config,
  nowMs: number,
  onOld?: (tenantId: string, id: string) => Promise<unknown>,
) => {
  const { reseal } = createSecrets(secretsKey, secretsKeyPrevious)
  const sum = { rewritten: 0, alreadyNew: 0, undecipherable: 0 }
  const lost: Row[] = []
  for (const [table, id, where, method, action, headers] of PLACES)
    for (let rows: readonly Row[] = [{}]; rows.length > 0; ) {
      const { tenantId = '', id: last = '' } = rows.at(-1) ?? {}
      rows = await read(`
        select s.tenant_id as "tenantId", t.name as tenant, s.${id} as id, s.secret, s.previous_secret as "previousSecret",
          s.previous_secret_until as "previousSecretUntil", ${headers} as headers
        from ${table} s join tenants t on t.tenant_id = s.tenant_id
        where ${where} and (s.tenant_id, s.${id}) > (${quoted(tenantId)}, ${quoted(last)})
        order by s.tenant_id, s.${id} limit ${LIST_LENGTH}`)
      for (const { tenantId = '', tenant = '', id, ...sealed } of rows) {
        const { counts } = resealed(sealed as unknown as SealedSecrets, nowMs, reseal)
        for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name]
        if (counts.rewritten > 0) await onOld?.(`${tenantId}`, `${id}`)
        if (counts.undecipherable === 0 || lost.length > FINDINGS_MAX) continue
        const detail = `no key decrypts a secret of ${id}: set SECRETS_KEY_PREVIOUS to its key, or replace the secret`
        lost.push({ tenantId, tenant, detail, method, path: `/v0/${table}/${id}${action}` })
      }
    }
  return { sum, lost }
}
