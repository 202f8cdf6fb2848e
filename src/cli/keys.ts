import { issueApiKey, listApiKeys, revokeApiKey, rotateApiKey } from '../core/manage-api-keys.ts'
import { SCOPES, type Scope } from '../core/ports.ts'
import { type Command, durationOf, requiredText, textOf, type Values, wrongUse } from './command.ts'

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
    run: (deps, values) =>
      issueApiKey(deps)({
        tenantId: requiredText(values, 'tenant'),
        name: textOf(values, 'name') ?? null,
        scopes: scopesOf(values),
        lifeMs: durationOf(values, 'expires'),
      }),
  },
  {
    words: 'keys list',
    usage: '--tenant T',
    help: 'lists the keys of a tenant, oldest first',
    options: { tenant: { type: 'string' } },
    operands: [],
    run: async (deps, values) => ({ apiKeys: await listApiKeys(deps)(requiredText(values, 'tenant')) }),
  },
  {
    words: 'keys revoke',
    usage: 'ID',
    help: 'ends a key, in every process within a second',
    options: {},
    operands: ['ID'],
    run: (deps, _values, [apiKeyId = '']) => revokeApiKey(deps)(apiKeyId),
  },
  {
    words: 'keys rotate',
    usage: 'ID [--overlap 24h]',
    help: 'issues a key like this one, which itself ends after the overlap',
    options: { overlap: { type: 'string', default: '24h' } },
    operands: ['ID'],
    run: (deps, values, [apiKeyId = '']) => rotateApiKey(deps)(apiKeyId, durationOf(values, 'overlap') ?? 0),
  },
]

const scopesOf = (values: Values): Scope[] => {
  const given = values['scope'] ?? []
  const named = Array.isArray(given) ? given : [given]
  const unknown = named.find((scope) => !SCOPES.includes(scope as Scope))
  if (unknown !== undefined) wrongUse(`--scope must be one of ${SCOPES.join(', ')}`)
  return [...new Set(named as Scope[])]
}
