import { text } from 'node:stream/consumers'
import {
  DEFAULT_SCOPES,
  EVERY_SCOPE,
  OVERWRITE_SCOPE,
  READERS_SCOPE,
  SCOPES,
  type Scope,
} from '../core/ports/api-keys.ts'
import { findApiKey } from '../core/tenants/find-api-key.ts'
import { issueApiKey } from '../core/tenants/issue-api-key.ts'
import { listApiKeys } from '../core/tenants/list-api-keys.ts'
import { revokeApiKey } from '../core/tenants/revoke-api-key.ts'
import { rotateApiKey } from '../core/tenants/rotate-api-key.ts'
import { type Command, durationOf, type Input, TENANT, valued, wrongUse } from './command.ts'
import { report } from './output.ts'

const NOTE = 'The key is shown only once: store it as a secret.'
/** Refuses a key among the arguments without repeating it. */
const refuseKey =
  (detail: string): NonNullable<Command['checkOperands']> =>
  ([first]) => {
    if (first?.startsWith('pp_')) wrongUse(detail)
  }
const WITHOUT_ID = { checkOperands: refuseKey('the key is read from stdin') }
const WITH_ID = {
  operands: ['ID'],
  checkOperands: refuseKey('ID is the apiKeyId, not the key itself'),
  details: ['ID is the apiKeyId that keys list shows, not the key itself.'],
}

export const keyCommands: readonly Command[] = [
  {
    words: 'keys create',
    help: 'issues an API key and shows it, once',
    ...WITHOUT_ID,
    options: {
      tenant: TENANT,
      name: valued('N', 'a name for people to recognize the key by', { isName: true }),
      scope: valued(
        'S',
        `repeat for several; "all" for every scope but ${READERS_SCOPE} and ${OVERWRITE_SCOPE}. By default: ${DEFAULT_SCOPES.join(', ')}`,
        { multiple: true },
      ),
      expires: valued('90d', 'lifetime in days, hours (24h) or minutes (15m); never expires by default'),
    },
    examples: {
      'a key that writes activities and works with pages':
        'prospect-pages keys create --tenant "$TENANT" --name crm',
      'a key with every scope': 'prospect-pages keys create --tenant "$TENANT" --scope all',
      'a key for a website, which reads only what is published':
        'prospect-pages keys create --tenant "$TENANT" --name website --scope pages:published',
      'a read-only key for 90 days':
        'prospect-pages keys create --tenant "$TENANT" --scope page_groups:read --scope pages:read --expires 90d',
    },
    format: { note: NOTE },
    run: async ({ values, texts }, open) => {
      const { tenant: tenantId = '', name } = texts
      const lifeMs = durationOf(texts, 'expires')
      if (lifeMs === 0) wrongUse('--expires must be more than 0')
      const scopes = scopesOf(values['scope'])
      return issueApiKey(await open())({ tenantId, name: name || null, scopes, lifeMs })
    },
  },
  {
    words: 'keys list',
    help: 'lists the keys of a tenant, oldest first',
    ...WITHOUT_ID,
    options: { tenant: TENANT },
    examples: { 'all keys, even revoked ones': 'prospect-pages keys list --tenant "$TENANT"' },
    format: {
      list: true,
      columns: ['apiKeyId', 'start', 'name', 'revokedAt', 'expiresAt', 'lastUsedAt', 'createdAt', 'scopes'],
    },
    run: async ({ texts: { tenant = '' } }, open) => listApiKeys(await open())(tenant),
  },
  {
    words: 'keys find',
    help: 'reads an API key from stdin and shows whose it is; the key may be surrounded by other text',
    ...WITHOUT_ID,
    options: { revoke: { type: 'boolean', help: 'revoke it in every process, within a second' } },
    examples: { 'revoke a key that leaked': 'echo "$KEY" | prospect-pages keys find --revoke' },
    run: async ({ values }, open, shell) => {
      if (shell.stdin.isTTY) report(shell, 'Paste the API key; end with Enter and Ctrl-D.')
      const deps = await open()
      const found = await findApiKey(deps)(await text(shell.stdin))
      return values['revoke'] ? { ...found, ...(await revokeApiKey(deps)(found.apiKeyId)) } : found
    },
  },
  {
    words: 'keys revoke',
    help: 'revokes a key in every process, within a second',
    ...WITH_ID,
    examples: { 'revoke a key': 'prospect-pages keys revoke "$KEY_ID"' },
    run: async ({ operands: [apiKeyId = ''] }, open) => revokeApiKey(await open())(apiKeyId),
  },
  {
    words: 'keys rotate',
    help: 'issues a new key with the same scopes; the old one expires after the overlap',
    ...WITH_ID,
    options: {
      overlap: valued('24h', 'how long the old key stays valid: days, hours or minutes', { default: '24h' }),
    },
    examples: {
      'a new key; the old one works for a day': 'prospect-pages keys rotate "$KEY_ID"',
      'a new key; the old one expires now': 'prospect-pages keys rotate "$KEY_ID" --overlap 0m',
    },
    format: { note: NOTE },
    run: async ({ texts, operands: [apiKeyId = ''] }, open) => {
      const overlapMs = durationOf(texts, 'overlap') ?? 0
      return rotateApiKey(await open())(apiKeyId, overlapMs)
    },
  },
]

const scopesOf = (option: Input['values'][string] = []): readonly Scope[] => {
  const scopes = [option].flat().flatMap((scope) => (scope === 'all' ? SCOPES : scope)) as Scope[]
  const unknown = scopes.find((scope) => !EVERY_SCOPE.includes(scope))
  if (unknown !== undefined)
    wrongUse(`unknown scope ${unknown}: must be all or one of ${EVERY_SCOPE.join(', ')}`)
  if (scopes.includes(READERS_SCOPE) && scopes.includes('pages:read'))
    wrongUse(`a key cannot have both pages:read and ${READERS_SCOPE}`)
  return scopes.length === 0 ? DEFAULT_SCOPES : [...new Set(scopes)]
}
