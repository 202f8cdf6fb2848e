import { createPageGroup } from '../core/create-page-group.ts'
import { createTenant } from '../core/create-tenant.ts'
import { issueApiKey } from '../core/issue-api-key.ts'
import type { CommandDeps } from './command.ts'
import { inPairs } from './layout.ts'
import { type Paint, plain } from './screen.ts'

/**
 * Fills an empty database with a tenant, a brand, one page group and a key, and answers what to tell about them: the
 * key, which is shown only now, and the five calls, ready to paste. Null where there is a key already. The key comes
 * last: where the process ends before it, the next one begins again.
 */
export const firstRun = async (
  deps: CommandDeps,
  url: string,
  paint: Paint = plain,
): Promise<string | null> => {
  if (!(await deps.store.apiKeys.isEmpty())) return null
  const { tenantId } = await createTenant(deps)({ name: 'First tenant' })
  const { pageGroupId } = await createPageGroup(deps)({ tenantId, name: 'welcome', title: 'Welcome' })
  const { apiKey } = await issueApiKey(deps)({ tenantId, name: 'first key', scopes: [], lifeMs: null })
  const created = [
    ['tenant', tenantId],
    ['page group', pageGroupId],
    ['key', apiKey],
  ] as const
  return `
${paint('bold', 'The database had no key, so a tenant, a key and a page group were created.')}

${inPairs(created, { width: Number.POSITIVE_INFINITY, indent: 2, paintLeft: (text) => paint('cyan', text) }).trimEnd()}

The key is shown only now. ${paint('bold', 'Paste these:')}

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
