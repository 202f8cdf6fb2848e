import type { Config } from '../config/config.ts'
import { nameOf } from '../config/database-address.ts'
import { createPageGroup } from '../core/pages/create-page-group.ts'
import { SCOPES } from '../core/ports/api-keys.ts'
import { createTenant } from '../core/tenants/create-tenant.ts'
import { issueApiKey } from '../core/tenants/issue-api-key.ts'
import type { CommandDeps } from './command.ts'
import { consoleLink } from './console.ts'
import { inPairs, paint, withCommand } from './output.ts'

/** The text to print at a start: where the reference is, and how to get a key. Empty if PostgreSQL has a key. */
export const greeting = async (deps: CommandDeps, config: Config, url: string): Promise<string> => {
  const isEmbedded = config.database.kind !== 'postgres'
  const isNew = await deps.store.apiKeys.isEmpty()
  const reference = config.docs ? ` The API reference is at ${url}/docs.` : ''
  if (isNew && isEmbedded) return firstRun(deps, config, url, reference)
  if (!isNew && !isEmbedded) return ''
  // On PostgreSQL the role that serves need not be allowed to read tenants.
  const tenants = isNew ? [] : await deps.store.tenants.list('', 2)
  const { found, commands } = situationOf(tenants.length)
  const tenantId = (tenants.length === 1 && tenants[0]?.tenantId) || 'TENANT_ID'
  const openConsole = `To open the console:\n  prospect-pages console --tenant ${tenantId} --write\n`
  const createKey = `keys create --tenant ${tenantId} --scope all`
  const lines = [...commands, createKey].map((command) => `  prospect-pages ${command}\n`)
  return withCommand(`
This database has ${found}.${reference}
${config.console && !isNew ? openConsole : ''}To create an API key:
${lines.join('')}
`)
}

/** What a database without any tenant, with one or with several has, and the commands before that for a key. */
const situationOf = (tenants: number): { found: string; commands: readonly string[] } => {
  if (tenants === 0) return { found: 'no API key', commands: ['tenants create --name Acme'] }
  if (tenants === 1) return { found: 'one tenant', commands: [] }
  return { found: 'several tenants', commands: ['tenants list'] }
}

/**
 * Fills a database without any key with a tenant, a page group and, last, a key, so that an interrupted run starts over.
 * Returns the text to print: the key, shown only once, and calls to paste.
 */
const firstRun = async (deps: CommandDeps, config: Config, url: string, reference: string) => {
  const { tenantId } = await createTenant(deps)({ name: 'First tenant' })
  const { value: pageGroup } = await createPageGroup(deps)({ tenantId, name: 'welcome', title: 'Welcome' })
  const { apiKey } = await issueApiKey(deps)({ tenantId, name: 'first key', scopes: SCOPES, lifeMs: null })
  const consoleHint = `
${paint('bold', 'Open this link to look at it in a browser. It contains the key:')}

  ${consoleLink(url, apiKey)}
`
  return `
${paint('bold', 'This database had no API key, so a tenant, a page group and a key were created.')}

${inPairs([
  ['  database', nameOf(config.database)],
  ['  tenant', tenantId],
  ['  page group', pageGroup.pageGroupId],
  ['  key', apiKey],
])}
The key is shown only once.${reference}
${config.console ? consoleHint : ''}
${paint('bold', 'Paste these lines to log an activity, read it back, list page groups, create a page, list pages and read it:')}

URL=${url}
KEY=${apiKey}
GROUP=${pageGroup.pageGroupId}

curl -s $URL/v0/prospect_logs -H "x-api-key: $KEY" -H 'content-type: application/json' \\
  -d '{"source":"crm","type":"form_submitted","email":"ada@example.com","payload":{"form":"contact"}}'

curl -s $URL/v0/prospect_logs -H "x-api-key: $KEY"

curl -s $URL/v0/page_groups -H "x-api-key: $KEY"

PAGE=$(curl -s $URL/v0/page_groups/$GROUP/pages -H "x-api-key: $KEY" -H 'content-type: application/json' \\
  -d '{"supplementaryContext":"A page about the spring sale"}' | sed 's/.*"pageId":"\\([^"]*\\)".*/\\1/'); echo $PAGE

curl -s $URL/v0/page_groups/$GROUP/pages -H "x-api-key: $KEY"

curl -s $URL/v0/page_groups/$GROUP/pages/$PAGE -H "x-api-key: $KEY"

`
}
