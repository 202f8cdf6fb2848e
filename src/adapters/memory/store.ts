import { checkOptions } from '../../config/check-options.ts'
import type { NewLog } from '../../core/ports/activities.ts'
import type { FoundProspect } from '../../core/ports/prospects.ts'
import type { Store } from '../../core/ports/store.ts'
import { withHandOver } from '../stores/hand-over.ts'
import { createListeners } from '../stores/listeners.ts'
import { memoryActivities } from './activities.ts'
import { memoryApiKeys } from './api-keys.ts'
import { memoryCounts } from './counts.ts'
import { memoryDeletions } from './deletions.ts'
import { memoryErasures } from './erasures.ts'
import { memoryEvents, memoryOutbox } from './events.ts'
import { memoryHooks } from './hooks.ts'
import { memoryMerges } from './merges.ts'
import { memoryPageGroups } from './page-groups.ts'
import { memoryPageTables } from './page-tables.ts'
import { memoryPages } from './pages.ts'
import { memoryPeople } from './people.ts'
import { memoryPlaceholders } from './placeholders.ts'
import { memoryProspectConflicts } from './prospect-conflicts.ts'
import { memoryProspectCounts } from './prospect-counts.ts'
import { memoryProspectLogs } from './prospect-logs.ts'
import { memoryProspects } from './prospects.ts'
import { memorySchedules } from './schedules.ts'
import { memorySearchIndex } from './search-index.ts'
import { compare } from './table.ts'
import { memoryTenants } from './tenants.ts'
import { memoryVersions } from './versions.ts'
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
  const notifyKeys = () => listeners.emit('keys')
  const notifyPublisher = () => listeners.emit('versions')
  const { port: tenants, registerTable, isActive, isKept } = memoryTenants(notifyKeys)
  const outbox = memoryOutbox(everyEvent, listeners.emit, registerTable, (lookup) =>
    people.logs.byId.at(lookup),
  )
  const people = memoryPeople(outbox)
  const pageTables = memoryPageTables(outbox)
  const prospectCounts = memoryProspectCounts(people, pageTables)

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
    pageGroups: memoryPageGroups(pageTables),
    ...withHandOver(memoryPages(pageTables, notifyPublisher)),
    versions: memoryVersions(pageTables, isActive),
    schedules: memorySchedules(pageTables, isActive),
    deletions: memoryDeletions(pageTables, isActive, () => listeners.emit('deletions')),
    events: memoryEvents(outbox),
    webhooks: memoryWebhooks(outbox, isActive),
    hooks: memoryHooks(notifyKeys, registerTable, isActive),
    apiKeys: memoryApiKeys(notifyKeys, registerTable, isActive),
    tenants,
    // A write is done when it returns.
    moments: { now: async () => '', arePast: async (moments) => moments.map(() => true) },
    migrate: async () => [],
    ready: async () => {},
    watch: listeners.add,
    close: async () => listeners.clear(),
    kept: {
      prospects: () =>
        people.prospects.byId
          .all()
          .sort((a, b) => compare(a.prospectId, b.prospectId))
          .map(({ erasedAt, mergedInto, ...prospect }) => prospect),
      logs: () => people.logs.byId.all().sort((a, b) => compare(a.prospectLogId, b.prospectLogId)),
    },
  }
}
