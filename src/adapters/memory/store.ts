import type { NewLog, ProspectChange } from '../../core/ports/activities.ts'
import type { StoredApiKey } from '../../core/ports/api-keys.ts'
import type { Store } from '../../core/ports/store.ts'
import type { NewTenant } from '../../core/ports/tenants.ts'
import { createListeners } from '../listeners.ts'
import { memoryActivities } from './activities.ts'
import { memoryPages } from './pages.ts'

/** A store that keeps nothing beyond the process. Tests read in `kept` what the ports do not show. */
export type MemoryStore = Store & {
  readonly backlog: ReturnType<typeof memoryPages>['backlog']
  readonly kept: { readonly prospects: () => ProspectChange[]; readonly logs: () => NewLog[] }
}

export const memoryStore = (): MemoryStore => {
  const listeners = createListeners()
  const { activities, keptProspects, keptLogs } = memoryActivities()
  const tenants = new Map<string, NewTenant>()
  const keys = new Map<string, StoredApiKey>()
  const keyIdByHash = new Map<string, string>()
  const change = (apiKeyId: string, fields: Partial<StoredApiKey>) => {
    const key = keys.get(apiKeyId)
    if (key !== undefined) keys.set(apiKeyId, { ...key, ...fields })
  }
  const copyOf = (apiKeyId: string | undefined): StoredApiKey | null => {
    const key = keys.get(apiKeyId ?? '')
    return key === undefined ? null : copied(key)
  }

  return {
    activities,
    ...memoryPages(() => listeners.emit('versions')),
    apiKeys: {
      findByHash: async (keyHash) => copyOf(keyIdByHash.get(keyHash)),
      find: async (apiKeyId) => copyOf(apiKeyId),
      list: async (tenantId) =>
        [...keys.values()]
          .filter((key) => key.tenantId === tenantId)
          .sort((a, b) => (a.apiKeyId < b.apiKeyId ? -1 : 1))
          .map(copied),
      isEmpty: async () => keys.size === 0,
      add: async (key) => {
        keys.set(key.apiKeyId, copied(key))
        keyIdByHash.set(key.keyHash, key.apiKeyId)
      },
      end: async (apiKeyId, when) => {
        change(apiKeyId, when)
        listeners.emit('keys')
      },
      markUsed: async (apiKeyId, at) => change(apiKeyId, { lastUsedAt: at }),
    },
    tenants: {
      add: async (tenant) => {
        tenants.set(tenant.tenantId, { ...tenant })
      },
      brands: async (tenantId) => {
        const tenant = tenants.get(tenantId)
        return tenant === undefined ? null : [tenant.brandId]
      },
    },
    migrate: async () => {},
    ready: async () => {},
    watch: listeners.add,
    close: async () => listeners.clear(),
    kept: { prospects: keptProspects, logs: keptLogs },
  }
}

const copied = (key: StoredApiKey): StoredApiKey => ({ ...key, scopes: [...key.scopes] })
