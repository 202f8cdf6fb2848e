import { createPageGroup } from '../core/create-page-group.ts'
import { createTenant } from '../core/create-tenant.ts'
import { issueApiKey } from '../core/issue-api-key.ts'
import { SCOPES } from '../core/ports/api-keys.ts'
import type { CommandDeps } from './command.ts'
import { inPairs, paint } from './output.ts'

/**
 * Fills a database without any key with a tenant, a page group and, last, a key, so that an interrupted run starts over.
 * Answers the text to print: the key, shown only once, and calls to paste. Null if the database has a key.
 */
export const firstRun = async (deps: CommandDeps, url: string): Promise<string | null> => {
  if (!(await deps.store.apiKeys.isEmpty())) return null
  const { tenantId } = await createTenant(deps)({ name: 'First tenant' })
  const { pageGroupId } = await createPageGroup(deps)({ tenantId, name: 'welcome', title: 'Welcome' })
  const { apiKey } = await issueApiKey(deps)({ tenantId, name: 'first key', scopes: SCOPES, lifeMs: null })
  const created = { tenant: tenantId, 'page group': pageGroupId, key: apiKey }
  return `
${paint('bold', 'This database had no API key, so a tenant, a page group and a key were created.')}

${inPairs(Object.entries(created).map(([name, value]) => [`  ${name}`, value]))}
The key is shown only once. ${paint('bold', 'Paste these lines to try it:')}

URL=${url}
KEY=${apiKey}
GROUP=${pageGroupId}

${paint('dim', '# log an activity')}
curl -s $URL/v0/prospect_logs -H "x-api-key: $KEY" -H 'content-type: application/json' \\
  -d '{"source":"crm","type":"form_submitted","email":"ada@example.com","payload":{"form":"contact"}}'

${paint('dim', '# list the page groups')}
curl -s $URL/v0/page_groups -H "x-api-key: $KEY"

${paint('dim', '# create a page')}
PAGE=$(curl -s $URL/v0/page_groups/$GROUP/pages -H "x-api-key: $KEY" -H 'content-type: application/json' \\
  -d '{"supplementaryContext":"A page about the spring sale"}' | sed 's/.*"pageId":"\\([^"]*\\)".*/\\1/'); echo $PAGE

${paint('dim', '# list the pages of the group')}
curl -s $URL/v0/page_groups/$GROUP/pages -H "x-api-key: $KEY"

${paint('dim', '# read the page with its published version')}
curl -s $URL/v0/page_groups/$GROUP/pages/$PAGE -H "x-api-key: $KEY"

`
}
