import { USAGE_KEPT_MS } from '../core/counts/count-usage.ts'
import { isoTime, MINUTE_MS } from '../core/engine/times.ts'
import { brandsOf } from '../core/tenants/create-tenant.ts'
import { type Command, durationOf, valued, wrongUse } from './command.ts'

export const usageCommand: Command = {
  words: 'usage',
  help: 'shows which tenants and API keys use the service most',
  details: ['An apiKeyId that begins with hook_ is an inbound hook. The last minute may be missing.'],
  options: {
    since: valued('1h', 'how far back, in minutes (30m) or hours: at most 48h', { default: '1h' }),
    tenant: valued('T', 'of one tenant; all by default', { isName: true }),
  },
  examples: {
    'who floods the service': 'prospect-pages usage --since 10m',
    'a day of a tenant': 'prospect-pages usage --since 24h --tenant "$TENANT"',
  },
  format: {
    list: true,
    columns: ['tenantName', 'keyName', 'requests', 'activities', 'bytes', 'apiKeyId', 'tenantId', 'since'],
  },
  async *run({ texts }, open) {
    const only = texts['tenant'] ?? null
    const lastMs = durationOf(texts, 'since') ?? 0
    if (lastMs === 0 || lastMs > USAGE_KEPT_MS) wrongUse('--since must be from 1m to 48h')
    const { store, clock } = await open()
    if (only !== null) await brandsOf(store, only)
    const since = isoTime(clock() - lastMs - MINUTE_MS)
    const sums = await store.counts.sumUsage({ tenantId: only, since, rowsMax: 50_000, limit: 1_000 })
    for (const { tenantId, apiKeyId, ...used } of sums) {
      const [tenant, key] = await Promise.all([store.tenants.find(tenantId), store.apiKeys.find(apiKeyId)])
      const { source = null } = (await store.hooks.findByIds(key ? [] : [apiKeyId]))[0] ?? {}
      yield { tenantId, tenantName: tenant?.name ?? null, apiKeyId, keyName: key?.name ?? source, ...used }
    }
  },
}
