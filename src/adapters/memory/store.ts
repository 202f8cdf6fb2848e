import { checkOptions } from '../../config/check-options.ts'
import type { NewLog } from '../../core/ports/activities.ts'
import type { StoredApiKey } from '../../core/ports/api-keys.ts'
import type { FoundProspect } from '../../core/ports/prospects.ts'
import type { Store } from '../../core/ports/store.ts'
import type { NewTenant, Tenant } from '../../core/ports/tenants.ts'
import { handingOver } from '../stores/hand-over.ts'
import { createListeners } from '../stores/listeners.ts'
import { memoryActivities } from './activities.ts'
import { memoryCounts } from './counts.ts'
import { memoryErasures } from './erasures.ts'
import { memoryEvents, memoryOutbox } from './events.ts'
import { memoryHooks } from './hooks.ts'
import { memoryMerges } from './merges.ts'
import { memoryPages } from './pages.ts'
import { memoryPeople } from './people.ts'
import { memoryPlaceholders } from './placeholders.ts'
import { memoryProspectConflicts } from './prospect-conflicts.ts'
import { memoryProspectCounts } from './prospect-counts.ts'
import { memoryProspectLogs } from './prospect-logs.ts'
import { memoryProspects } from './prospects.ts'
import { memorySearchIndex } from './search-index.ts'
import { type IsActive, indexBy, type Own, type TenantTable, tableOf } from './table.ts'
import { memoryWebhooks } from './webhooks.ts'

/** A store that keeps nothing beyond the process. Tests read from `kept` the data that the ports do not show. */
export type MemoryStore = Store & {
  readonly kept: {
    readonly prospects: () => Omit<FoundProspect, 'erasedAt' | 'mergedInto'>[]
    readonly logs: () => NewLog[]
  }
}

/** A new, empty store in memory. It needs no `migrate`. `everyEvent` keeps events even of tenants without webhooks. */
export const memoryStore = (options: { readonly everyEvent?: boolean | undefined } = {}): MemoryStore => {
  const { everyEvent = false } = checkOptions('memoryStore', options)
  const listeners = createListeners()
  const notifyEraser = () => listeners.emit('prospects')
  const owned: [string, TenantTable][] = []
  const own: Own = (name, table) => {
    owned.push([name, table])
    return table
  }
  const outbox = memoryOutbox(everyEvent, listeners.emit, own, (lookup) => people.logs.byId.at(lookup))
  const people = memoryPeople(outbox)
  const tenants = tableOf({ byId: indexBy<NewTenant & Tenant>([], ['tenantId']) })
  const isActive: IsActive = (row) => !tenants.byId.at({ tenantId: row.tenantId })?.suspendedAt
  const isKept = (row: { tenantId: string }) =>
    tenants.byId.at({ tenantId: row.tenantId })?.deletedAt === null
  const rowsOf = (tenantId: string) =>
    owned.map(([name, table]) => ({
      name,
      table,
      rows: table.all().filter((row) => row.tenantId === tenantId),
    }))
  const keys = own(
    'api_keys',
    tableOf({
      byId: indexBy<StoredApiKey>(['apiKeyId']),
      byHash: indexBy<StoredApiKey>(['keyHash']),
      byTenant: indexBy<StoredApiKey>(['tenantId'], ['apiKeyId']),
    }),
  )
  const { hasPage, ...pageParts } = memoryPages(
    outbox,
    () => listeners.emit('versions'),
    () => listeners.emit('deletions'),
    isActive,
  )
  const prospectCounts = memoryProspectCounts(people, hasPage)

  return {
    activities: memoryActivities(people, isKept),
    prospects: memoryProspects(people),
    merges: memoryMerges(people, notifyEraser),
    placeholders: memoryPlaceholders(people, isKept),
    prospectConflicts: memoryProspectConflicts(people),
    prospectLogs: memoryProspectLogs(people),
    searchIndex: memorySearchIndex(people),
    counts: memoryCounts(people, prospectCounts),
    prospectCounts: prospectCounts.port,
    erasures: memoryErasures(people, notifyEraser),
    ...pageParts,
    ...handingOver(pageParts.pages),
    events: memoryEvents(outbox),
    webhooks: memoryWebhooks(outbox, isActive),
    hooks: memoryHooks(() => listeners.emit('keys'), own, isActive),
    apiKeys: {
      findByHashes: async (keyHashes) =>
        keyHashes
          .flatMap((keyHash) => structuredClone(keys.byHash.at({ keyHash })) ?? [])
          .map((key) => ({ ...key, isSuspended: !isActive(key) })),
      find: async (apiKeyId) => structuredClone(keys.byId.at({ apiKeyId }) ?? null),
      list: async (tenantId) => structuredClone([...keys.byTenant.after({ tenantId })]),
      isEmpty: async () => keys.byId.all().length === 0,
      add: async (key) => keys.add(structuredClone(key)),
      end: async (apiKeyId, when) => {
        const key = keys.byId.at({ apiKeyId })
        const { lastRotatedAt, ...changes } = { lastRotatedAt: undefined, ...when }
        const isAsRead = key && key.revokedAt === null && key.rotatedAt === lastRotatedAt
        if (lastRotatedAt !== undefined && !isAsRead) return false
        const isEnded = keys.change(key, changes) !== null
        listeners.emit('keys')
        return isEnded
      },
      markUsed: async (apiKeyId, at) => void keys.change(keys.byId.at({ apiKeyId }), { lastUsedAt: at }),
    },
    tenants: {
      add: async (tenant) =>
        tenants.add({ ...tenant, retentionDays: null, suspendedAt: null, deletedAt: null }),
      update: async (tenantId, fields) => {
        const tenant = tenants.change(tenants.byId.at({ tenantId }), fields)
        return tenant && storedTenant(tenant)
      },
      find: async (tenantId) => {
        const tenant = tenants.byId.at({ tenantId })
        return tenant === undefined ? null : storedTenant(tenant)
      },
      list: async (afterId, limit) => [...tenants.byId.after({}, afterId)].slice(0, limit).map(storedTenant),
      brands: async (tenantId) => {
        const tenant = tenants.byId.at({ tenantId })
        return tenant === undefined || tenant.deletedAt ? null : [tenant.brandId]
      },
      setState: async (tenantId, { suspendedAt, deletedAt }) => {
        const tenant = tenants.byId.at({ tenantId })
        if (!tenant || tenant.deletedAt) return null
        const since = suspendedAt && (tenant.suspendedAt ?? suspendedAt)
        const changed = tenants.change(tenant, { suspendedAt: since, deletedAt })
        listeners.emit('keys')
        return changed && storedTenant(changed)
      },
      deleting: async () =>
        tenants
          .all()
          .filter(({ deletedAt }) => deletedAt)
          .slice(0, 100)
          .map(storedTenant),
      left: async (tenantId) =>
        rowsOf(tenantId)
          .filter(({ rows }) => rows.length > 0)
          .map(({ name }) => name),
      removeSome: async ({ tenantId }) => {
        for (const { table, rows } of rowsOf(tenantId)) {
          for (const row of rows) table.remove(row as never)
        }
        return null
      },
      remove: async (tenantId) => {
        const tenant = tenants.byId.at({ tenantId })
        if (tenant?.deletedAt) tenants.remove(tenant)
        listeners.emit('keys')
      },
    },
    // A write is done when it returns.
    moments: { now: async () => '', arePast: async (moments) => moments.map(() => true) },
    migrate: async () => [],
    ready: async () => {},
    watch: listeners.add,
    close: async () => listeners.clear(),
    kept: {
      prospects: () =>
        sortedBy('prospectId', people.prospects.byId.all()).map(
          ({ erasedAt, mergedInto, ...prospect }) => prospect,
        ),
      logs: () => sortedBy('prospectLogId', people.logs.byId.all()),
    },
  }
}

const sortedBy = <Name extends string, Row extends Record<Name, string>>(name: Name, rows: Row[]): Row[] =>
  rows.sort((a, b) => (a[name] < b[name] ? -1 : 1))
const storedTenant = ({ brandId, ...tenant }: NewTenant & Tenant): Tenant => tenant
