import { takesNoWrites } from '../../core/engine/obstacles.ts'
import type { Optional } from '../../core/engine/optional.ts'
import type { Signal, Store } from '../../core/ports/store.ts'
import { postgresCounts } from '../postgres/counts.ts'
import { postgresErasures } from '../postgres/erasures.ts'
import { postgresMerges } from '../postgres/merges.ts'
import { appliedMigrations } from '../postgres/migrate.ts'
import { postgresMoments } from '../postgres/moments.ts'
import { findNoWrites } from '../postgres/no-writes.ts'
import type { PostgresSettings } from '../postgres/open.ts'
import { createOutbox as createPlainOutbox } from '../postgres/outbox.ts'
import { postgresPlaceholders } from '../postgres/placeholders.ts'
import { postgresProspectConflicts } from '../postgres/prospect-conflicts.ts'
import { postgresProspectCounts } from '../postgres/prospect-counts.ts'
import { postgresProspects } from '../postgres/prospects.ts'
import { postgresSearchIndex } from '../postgres/search-index.ts'
import { readSizes } from '../postgres/sizes.ts'
import { queryOver as plainQueryOver } from '../postgres/sql.ts'
import { withHandOver } from '../stores/hand-over.ts'
import { type Migration, readiness } from '../stores/migrations.ts'
import { citusActivities } from './activities.ts'
import { citusApiKeys } from './api-keys.ts'
import { copiedHooks, copiedKeys } from './copies.ts'
import { citusCounts } from './counts.ts'
import { citusDeletions } from './deletions.ts'
import { citusErasures } from './erasures.ts'
import { citusEvents } from './events.ts'
import { citusHooks } from './hooks.ts'
import { citusMerges } from './merges.ts'
import { citusMoments } from './moments.ts'
import { type Nodes, type Routes, singleRoute } from './nodes.ts'
import { createOutbox } from './outbox.ts'
import { citusPageGroups } from './page-groups.ts'
import { citusPageWrites } from './page-writes.ts'
import { citusPageReads } from './pages.ts'
import { citusPlaceholders } from './placeholders.ts'
import { citusProspectConflicts } from './prospect-conflicts.ts'
import { citusProspectLogs } from './prospect-logs.ts'
import { citusProspects } from './prospects.ts'
import { queuesOn } from './queues.ts'
import { citusSchedules } from './schedules.ts'
import type { Ask } from './sql.ts'
import { queryOver } from './sql.ts'
import { citusTenants } from './tenants.ts'
import { togetherByNode } from './together-by-node.ts'
import { transactOver } from './transaction.ts'
import { citusVersions } from './versions.ts'
import { citusWebhooks } from './webhooks.ts'

export type PortsOptions = Optional<Pick<PostgresSettings, 'everyEvent' | 'observer'>>
export type Ports = Omit<Store, 'migrate' | 'watch' | 'close'>
type Options = {
  /** Without these, all tenants are at one PostgreSQL. */
  readonly nodes?: Nodes
  readonly routes?: Routes
  /** Limits how long a node may take to say what waits there. By default nothing does. */
  readonly briefly?: (ask: Ask) => Ask
}

/**
 * The ports of a store whose statements go to the node of their tenant. The coordinator has the rows that must change while
 * a worker is away; work is looked for on all nodes, and claimed on each. Verbs of one PostgreSQL are used as they are if
 * they are for one tenant, name it for every table, and insert nothing in a part of their statement.
 */
export const citusPorts =
  ({ nodes, routes, briefly = (ask) => ask }: Options = {}) =>
  (
    ask: Ask,
    migrations: readonly Migration[],
    notify: (...signals: readonly Signal[]) => void,
    { everyEvent = false, observer }: PortsOptions,
  ): Ports => {
    const { allTenants, coordinator, ...copyRoutes } = routes ?? singleRoute(ask)
    const query = queryOver(ask)
    const central = queryOver(coordinator)
    const ofAll = queryOver(allTenants)
    const plain = plainQueryOver(ask)
    const plainCentral = plainQueryOver(coordinator)
    const plainOfAll = plainQueryOver(allTenants)

    const together = togetherByNode(
      { listsInFlightMax: 2, observerOf: observer?.gathering },
      nodes?.nameOf ?? (() => ''),
    )
    const wrote = () => notify('events')
    const prospectsChanged = () => notify('prospects')
    const keysChanged = () => notify('keys')
    const transact = transactOver(ask)
    const outbox = createOutbox(transact, everyEvent, wrote)
    const plainOutbox = createPlainOutbox(everyEvent, wrote)
    const queues = queuesOn({
      query,
      briefQuery: queryOver(briefly(ask)),
      briefQueryOfAll: queryOver(briefly(allTenants)),
    })
    const refuseUnready = readiness(migrations)
    const centralCounts = postgresCounts(plainCentral)
    const erasuresAt = (query: typeof plain) =>
      postgresErasures(query, plainOutbox, together, prospectsChanged)
    const centralErasures = erasuresAt(plainCentral)
    const mergesAt = (query: typeof plain) => postgresMerges(query, plainOutbox, prospectsChanged)
    return {
      activities: citusActivities(plain, transact, outbox, together),
      prospects: {
        ...postgresProspects(plain, plainOutbox, together),
        ...citusProspects(plain, outbox, together),
      },
      merges: {
        ...mergesAt(plain),
        ...citusMerges(plain, outbox, prospectsChanged),
        claim: queues.merges,
        backlog: mergesAt(plainOfAll).backlog,
      },
      placeholders: { ...postgresPlaceholders(plain), ...citusPlaceholders(transact, outbox) },
      prospectConflicts: { ...postgresProspectConflicts(plain), ...citusProspectConflicts(transact) },
      prospectLogs: citusProspectLogs(query, together),
      searchIndex: { ...postgresSearchIndex(plain), waiting: queues.unindexed },
      counts: {
        ...postgresCounts(plain),
        ...citusCounts(plain, transact),
        waiting: queues.uncounted,
        addUsage: centralCounts.addUsage,
        sumUsage: centralCounts.sumUsage,
      },
      prospectCounts: postgresProspectCounts(plain),
      pageGroups: citusPageGroups(query, outbox, together),
      ...withHandOver({
        ...citusPageReads(query, together),
        ...citusPageWrites(transact, outbox, together, () => notify('versions')),
      }),
      versions: {
        ...citusVersions(query, ofAll, transact, outbox, together),
        claim: queues.versions,
      },
      schedules: { ...citusSchedules(query), waiting: queues.scheduled },
      deletions: {
        ...citusDeletions(query, outbox, () => notify('deletions')),
        waiting: queues.deletions,
      },
      erasures: {
        ...erasuresAt(plain),
        ...citusErasures(plain, outbox, together, prospectsChanged),
        claim: queues.erasures,
        backlog: erasuresAt(plainOfAll).backlog,
        lastServed: centralErasures.lastServed,
        saveClock: centralErasures.saveClock,
      },
      events: { ...citusEvents(query, transact, notify), waiting: queues.unnumbered },
      webhooks: {
        ...citusWebhooks(query, ofAll, transact, outbox, () => notify('events', 'deliveries')),
        claim: queues.endpoints,
      },
      hooks: copiedHooks(citusHooks(central, keysChanged), central, copyRoutes),
      apiKeys: copiedKeys(citusApiKeys(central, keysChanged), central, copyRoutes),
      tenants: citusTenants(query, keysChanged),
      moments: nodes ? citusMoments(nodes) : postgresMoments(plain),
      ready: async () => {
        refuseUnready(await appliedMigrations(ask))
        // A write that is tried would reach other nodes, which may be full or away while this process serves the rest.
        const reason = await findNoWrites(ask, false)
        if (reason !== null) throw takesNoWrites(reason)
      },
      sizes: () => readSizes(ask),
    }
  }
