import { readConfig } from '../config/config.ts'
import { SCOPES } from '../core/ports/api-keys.ts'
import { issueApiKey } from '../core/tenants/issue-api-key.ts'
import { type Command, durationOf, TENANT, valued, wrongUse } from './command.ts'
import { addressOf } from './listen-place.ts'

/** A link that opens the console with a key. Browsers do not send the part after the `#`. */
export const consoleLink = (url: string, apiKey: string): string => `${url}/console/#key=${apiKey}`

const READ_SCOPES = SCOPES.filter((scope) => scope.endsWith(':read'))

/** The address by which a browser on this machine reaches a server that listens on every address. */
const LOOPBACK = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

export const consoleCommand: Command = {
  words: 'console',
  help: 'issues a short-lived key, and shows a link that opens the console with it',
  details: [
    'Anyone with the link has the key. Without --write the key is read-only, and cannot list sources or webhooks.',
    'The link starts with PUBLIC_URL, otherwise with HOST and PORT.',
  ],
  options: {
    tenant: TENANT,
    write: { type: 'boolean', help: 'a key with every scope' },
    for: valued('8h', 'lifetime of the key: days, hours or minutes', { default: '8h' }),
  },
  examples: {
    'look at everything that a reader may see': 'prospect-pages console --tenant "$TENANT"',
    'publish, connect and erase, for an hour': 'prospect-pages console --tenant "$TENANT" --write --for 1h',
  },
  format: { note: 'The link contains the key, and is shown only once.' },
  run: async ({ values, texts }, open, { env }) => {
    const config = readConfig(env)
    const lifeMs = durationOf(texts, 'for')
    if (lifeMs === 0) wrongUse('--for must be more than 0')
    if (!config.console) wrongUse('CONSOLE is off: this server has no console')
    const scopes = values['write'] === true ? SCOPES : READ_SCOPES
    const { tenant: tenantId = '' } = texts
    const key = await issueApiKey(await open())({ tenantId, name: 'console', scopes, lifeMs })
    const { apiKeyId, expiresAt } = key
    const host = LOOPBACK.get(config.host) ?? config.host
    const url = config.publicUrl ?? addressOf({ ...config, host }, config.port).url
    return { link: consoleLink(url, key.apiKey), apiKeyId, expiresAt }
  },
}
