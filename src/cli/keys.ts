import { issueApiKey, listApiKeys, revokeApiKey, rotateApiKey } from '../core/manage-api-keys.ts'
import { SCOPES, type Scope } from '../core/ports.ts'
import { type Command, durationOf, optionalName, requiredText, type Values, wrongUse } from './command.ts'

export const keyCommands: readonly Command[] = [
  {
    words: 'keys create',
    usage: '--tenant T [--name N] [--scope S]… [--expires 90d]',
    help: `issues a key, the only time it is shown; scopes: ${SCOPES.join(', ')}; all unless named`,
    options: {
      tenant: { type: 'string' },
      name: { type: 'string' },
      scope: { type: 'string', multiple: true },
      expires: { type: 'string' },
    },
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
    options: { tenant: { type: 'string' } },
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
    options: { overlap: { type: 'string', default: '24h' } },
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
  if (unknown !== undefined) wrongUse(`--scope must be one of ${SCOPES.join(', ')}`)
  return [...new Set(named as Scope[])]
}
