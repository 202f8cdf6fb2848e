import type { NewLog, ProspectChange } from '../../core/ports/activities.ts'
import type { StoredApiKey } from '../../core/ports/api-keys.ts'
import type { Store } from '../../core/ports/store.ts'
import type { NewTenant, Tenant } from '../../core/ports/tenants.ts'
import { createListeners } from '../listeners.ts'
import { memoryActivities } from './activities.ts'
import { memoryErasures } from './erasures.ts'
import { memoryPages } from './pages.ts'

/** A store that keeps nothing beyond the process. Tests read in `kept` what the ports do not show. */
export type MemoryStore = Store & {
  readonly backlog: ReturnType<typeof memoryPages>['backlog']
  readonly kept: { readonly prospects: () => ProspectChange[]; readonly logs: () => NewLog[] }
}

/** A new, empty store in memory. It needs no `migrate`. */
export const memoryStore = (): MemoryStore => {
  const listeners = createListeners()
  const onChange = () => listeners.emit('prospects')
  const { keptProspects, keptLogs, people, ...ports } = memoryActivities(onChange)
  const tenants = new Map<string, NewTenant & Tenant>()
  const keys = new Map<string, StoredApiKey>()
  const change = (apiKeyId: string, fields: Partial<StoredApiKey>): void =>
    void Object.assign(keys.get(apiKeyId) ?? {}, fields)
  const keysWhere = (isWanted: (key: StoredApiKey) => boolean): StoredApiKey[] =>
    [...keys.values()].filter(isWanted).map((key) => structuredClone(key))

  return {
    ...ports,
    erasures: memoryErasures(people, keptLogs, onChange),
    ...memoryPages(() => listeners.emit('versions')),
    apiKeys: {
      findByHash: async (keyHash) => keysWhere((key) => key.keyHash === keyHash)[0] ?? null,
      find: async (apiKeyId) => keysWhere((key) => key.apiKeyId === apiKeyId)[0] ?? null,
      list: async (tenantId) =>
        keysWhere((key) => key.tenantId === tenantId).sort((a, b) => (a.apiKeyId < b.apiKeyId ? -1 : 1)),
      isEmpty: async () => keys.size === 0,
      add: async (key) => {
        keys.set(key.apiKeyId, structuredClone(key))
      },
      end: async (apiKeyId, when) => {
        change(apiKeyId, when)
        listeners.emit('keys')
      },
      markUsed: async (apiKeyId, at) => change(apiKeyId, { lastUsedAt: at }),
    },
    tenants: {
      add: async (tenant) => {
        tenants.set(tenant.tenantId, { ...tenant, retentionDays: null })
      },
      update: async (tenantId, fields) => {
        const tenant = tenants.get(tenantId)
        return tenant === undefined ? null : storedTenant(Object.assign(tenant, fields))
      },
      list: async (afterId, limit) =>
        [...tenants.values()]
          .filter(({ tenantId }) => tenantId > afterId)
          .sort((a, b) => (a.tenantId < b.tenantId ? -1 : 1))
          .slice(0, limit)
          .map(storedTenant),
      brands: async (tenantId) => {
        const tenant = tenants.get(tenantId)
        return tenant === undefined ? null : [tenant.brandId]
      },
    },
    migrate: async () => [],
    ready: async () => {},
    watch: listeners.add,
    close: async () => listeners.clear(),
    kept: { prospects: keptProspects, logs: keptLogs },
  }
}

const storedTenant = ({ tenantId, name, createdAt, retentionDays }: Tenant): Tenant => {
  return { tenantId, name, createdAt, retentionDays }
}
