import { issueApiKey } from '../core/issue-api-key.ts'
import { listApiKeys } from '../core/list-api-keys.ts'
import { SCOPES, type Scope } from '../core/ports.ts'
import { revokeApiKey } from '../core/revoke-api-key.ts'
import { rotateApiKey } from '../core/rotate-api-key.ts'
import {
  type Command,
  durationOf,
  optionalName,
  requiredText,
  TENANT,
  type Values,
  wrongUse,
} from './command.ts'

const NOTE = 'The key is shown only now: keep it where secrets are kept.'

export const keyCommands: readonly Command[] = [
  {
    words: 'keys create',
    usage: '--tenant T [--name N] [--scope S]… [--expires 90d]',
    help: `issues a key, the only time it is shown; scopes: ${SCOPES.join(', ')}; all unless named`,
    options: {
      tenant: TENANT,
      name: { type: 'string', value: 'N', help: 'what the key is for; a person reads it' },
      scope: {
        type: 'string',
        multiple: true,
        value: 'S',
        help: 'what the key may do; once for each scope; all unless named',
      },
      expires: {
        type: 'string',
        value: '90d',
        help: 'how long it works: days, hours (24h) or minutes (15m); no end unless given',
      },
    },
    examples: [
      {
        does: 'a key that may do everything',
        line: 'prospect-pages keys create --tenant "$TENANT" --name crm',
      },
      {
        does: 'a key that only reads, for 90 days',
        line: 'prospect-pages keys create --tenant "$TENANT" --scope page_groups:read --scope pages:read --expires 90d',
      },
    ],
    look: { note: NOTE },
    operands: [],
    prepare: (values) => {
      const lifeMs = durationOf(values, 'expires')
      if (lifeMs === 0) wrongUse('--expires must be later than now')
      const wanted = {
        tenantId: requiredText(values, 'tenant'),
        name: optionalName(values, 'name'),
        scopes: scopesOf(values),
        lifeMs,
      }
      return (deps) => issueApiKey(deps)(wanted)
    },
  },
  {
    words: 'keys list',
    usage: '--tenant T',
    help: 'lists the keys of a tenant, oldest first',
    options: { tenant: TENANT },
    examples: [{ does: 'the keys, ended ones too', line: 'prospect-pages keys list --tenant "$TENANT"' }],
    look: {
      columns: ['apiKeyId', 'start', 'name', 'scopes', 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'],
    },
    operands: [],
    prepare: (values) => {
      const tenantId = requiredText(values, 'tenant')
      return async (deps) => ({ apiKeys: await listApiKeys(deps)(tenantId) })
    },
  },
  {
    words: 'keys revoke',
    usage: 'ID',
    help: 'ends a key, in every process within a second',
    options: {},
    details: ['ID is the apiKeyId that keys list tells, not the key itself.'],
    examples: [{ does: 'ends a key', line: 'prospect-pages keys revoke "$KEY_ID"' }],
    operands: ['ID'],
    prepare:
      (_values, [apiKeyId = '']) =>
      (deps) =>
        revokeApiKey(deps)(apiKeyId),
  },
  {
    words: 'keys rotate',
    usage: 'ID [--overlap 24h]',
    help: 'issues a key like this one, which itself ends after the overlap',
    options: {
      overlap: {
        type: 'string',
        default: '24h',
        value: '24h',
        help: 'how long the old key works beside the new one: days, hours or minutes',
      },
    },
    details: ['ID is the apiKeyId that keys list tells, not the key itself.'],
    examples: [
      { does: 'a new key; the old one works for a day', line: 'prospect-pages keys rotate "$KEY_ID"' },
      { does: 'a new key; the old one ends now', line: 'prospect-pages keys rotate "$KEY_ID" --overlap 0m' },
    ],
    look: { note: NOTE },
    operands: ['ID'],
    prepare: (values, [apiKeyId = '']) => {
      const overlapMs = durationOf(values, 'overlap') ?? 0
      return (deps) => rotateApiKey(deps)(apiKeyId, overlapMs)
    },
  },
]

const scopesOf = (values: Values): Scope[] => {
  const given = values['scope'] ?? []
  const named = Array.isArray(given) ? given : [given]
  const unknown = named.find((scope) => !SCOPES.includes(scope as Scope))
  if (unknown !== undefined) wrongUse(`--scope ${unknown}: must be one of ${SCOPES.join(', ')}`)
  return [...new Set(named as Scope[])]
}
