import { createSecrets } from '../adapters/webhooks/secrets.ts'
import type { Config } from '../config/config.ts'
import type { Database, Row } from './read-database.ts'
import { resealed, type Sealed } from './reseal.ts'

/** Maximum number of findings shown of each kind. */
export const FINDINGS_MAX = 50
const BATCH_LENGTH = 500
/** The tables with secrets, and the operation that replaces a secret or shows its resource. */
const PLACES = [
  {
    table: 'webhook_endpoints',
    idColumn: 'webhook_endpoint_id',
    condition: "s.status <> 'deleted'",
    headers: 's.headers',
    method: 'POST',
    action: '/rotate_secret',
  },
  {
    table: 'hooks',
    idColumn: 'hook_id',
    // The hash of a token has no colon.
    condition: "s.secret like '%:%'",
    headers: 'null',
    method: 'GET',
    action: '',
  },
]
const quoted = (text: unknown) => `'${String(text).replaceAll("'", "''")}'`

/**
 * Checks the secrets of every endpoint and hook, batch by batch. Counts what encrypting them with these keys would do, and
 * returns the first ones that no key decrypts. Calls `onOld` for each that another key encrypted, or none.
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
  for (const place of PLACES) {
    for await (const { tenantId = '', tenant = '', id = '', ...sealed } of secretsIn(read, place)) {
      const { counts } = resealed(sealed as unknown as Sealed, nowMs, reseal)
      sum.rewritten += counts.rewritten
      sum.alreadyNew += counts.alreadyNew
      sum.undecipherable += counts.undecipherable
      if (counts.rewritten > 0) await onOld?.(`${tenantId}`, `${id}`)
      if (counts.undecipherable === 0 || lost.length > FINDINGS_MAX) continue
      const { table, method, action } = place
      const detail = `no key decrypts a secret of ${id}: set SECRETS_KEY_PREVIOUS to its key, or replace the secret`
      lost.push({ tenantId, tenant, detail, method, path: `/v0/${table}/${id}${action}` })
    }
  }
  return { sum, lost }
}

async function* secretsIn(read: Database['read'], place: (typeof PLACES)[number]): AsyncGenerator<Row> {
  const { table, idColumn, condition, headers } = place
  let last: Row | undefined = {}
  while (last !== undefined) {
    const { tenantId = '', id = '' }: Row = last
    const rows = await read(`
      select s.tenant_id as "tenantId", t.name as tenant, s.${idColumn} as id, s.secret, s.previous_secret as "previousSecret",
        s.previous_secret_until as "previousSecretUntil", ${headers} as headers
      from ${table} s join tenants t on t.tenant_id = s.tenant_id
      where ${condition} and (s.tenant_id, s.${idColumn}) > (${quoted(tenantId)}, ${quoted(id)})
      order by s.tenant_id, s.${idColumn} limit ${BATCH_LENGTH}`)
    yield* rows
    last = rows.at(-1)
  }
}
