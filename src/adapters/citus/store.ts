import { urlNow } from '../../config/database-address.ts'
import type { Signal, Store } from '../../core/ports/store.ts'
import type { Versions } from '../../core/ports/versions.ts'
import { connect } from '../postgres/connect.ts'
import { sqlStateOf, unavailableUnlessRejected } from '../postgres/error-codes.ts'
import { isUpToDate, type Warn } from '../postgres/migrate.ts'
import { nameDirect } from '../postgres/obstacle.ts'
import type { PostgresSettings } from '../postgres/open.ts'
import type { Migration } from '../stores/migrations.ts'
import { eventsOfSaved } from '../stores/rows.ts'
import { citusForms, usedOn } from './citus-forms.ts'
import { copiedHooks, copiedKeys } from './copies.ts'
import type { Forms } from './forms.ts'
import { migrateCluster } from './migrate.ts'
import { ALL_TENANTS, COORDINATOR, connectToNodes, otherNodes, withinLook } from './nodes.ts'
import { findSessionObstacle, refuseOtherDatabase, refuseWorker } from './obstacle.ts'
import { findMisplaced } from './placement.ts'
import { type Ports, type PortsOptions, portsOver } from './ports.ts'
import { queuesOn } from './queues.ts'
import { PLAN_EACH, withParameters } from './session.ts'
import { postgresSignals as clusterSignals } from './signals.ts'
import type { Ask } from './sql.ts'
import { queryOver } from './sql.ts'

type Options = {
  readonly placeOf?: (of: { tenantId: string }) => string
  /** Limits how long a look at all nodes may take. By default nothing does. */
  readonly looking?: (ask: Ask) => Ask
}

/** A store on tables that Citus distributes by tenant. Connects with its first statement. */
export const citusStore = (
  settings: PostgresSettings,
  migrations: readonly Migration[],
  warn: Warn = () => {},
  connectTo = connect,
): Store => {
  const { url, pooler, everyEvent } = settings
  // Poolers refuse the parameters of a session.
  const planned = pooler ? settings : { ...settings, url: withParameters(url, PLAN_EACH) }
  const { ask, placeOf, close } = connectToNodes(planned, connectTo)
  const directUrl = pooler === undefined ? url : pooler.directUrl
  const others = directUrl === null ? undefined : () => otherNodes(ask, urlNow(directUrl))
  const {
    watch,
    notify,
    close: closeSignals,
  } = clusterSignals(directUrl === null ? null : urlNow(directUrl), ask, others)
  const ports = citusPorts({ placeOf, looking: withinLook })
  const { ready, ...verbs } = ports(ask, migrations, notify, { everyEvent })
  let isUsable = false
  /** Checks the database until no obstacle is found. */
  const refuseUnusable = async (migrates = false): Promise<void> => {
    if (isUsable) return
    const looked = findSessionObstacle(ask, pooler !== undefined, pooler?.directUrl)
    const obstacle = await looked.catch(unavailableUnlessRejected)
    if (obstacle !== null) throw new Error(obstacle)
    await refuseOtherDatabase(ask, migrates)
    isUsable = !migrates
  }
  return {
    ...verbs,
    ready: () => refuseUnusable().then(ready),
    migrate: async () => {
      await refuseUnusable(true)
      const isMigrated = await isUpToDate(ask, migrations, warn)
      if (isMigrated && (await findMisplaced(ask)).length === 0) return []
      await refuseWorker(ask)
      const migrated = migrateCluster(directUrl ?? url, migrations, () => {})
      const { applied } = await migrated.catch(pooler?.directUrl ? nameDirect : null)
      return applied
    },
    watch,
    close: () => closeSignals().then(close),
  }
}

/**
 * The ports of a PostgreSQL store, whose statements go to the node of their tenant. The coordinator has the rows that
 * must change while a worker is away; work is looked for on all nodes, and claimed on each.
 */
export const citusPorts =
  ({ placeOf = () => '', looking = (ask) => ask }: Options = {}) =>
  (
    ask: Ask,
    migrations: readonly Migration[],
    notify: (...signals: readonly Signal[]) => void,
    options: PortsOptions,
  ): Ports => {
    const to =
      (place: string): Ask =>
      (statement) =>
        ask(statement, place)
    const query = queryOver(ask)
    const central = queryOver(to(COORDINATOR))
    const every = citusForms(placeOf)
    const forms: Forms = options.everyEvent ? every : { ...every, used: usedOn(query) }
    const over = (ask: Ask, formsUsed = forms) =>
      portsOver(ask, migrations, notify, { ...options, everyEvent: true }, formsUsed)
    const ports = over(ask)
    const ofCoordinator = over(to(COORDINATOR))
    const ofAll = over(to(ALL_TENANTS))
    const queues = queuesOn({ query, lookAt: queryOver(looking(ask)) })
    return {
      ...ports,
      versions: {
        ...ports.versions,
        settle: oneByOne(ports.versions.settle),
        claim: queues.versions,
        backlog: ofAll.versions.backlog,
      },
      erasures: {
        ...ports.erasures,
        claim: queues.erasures,
        backlog: ofAll.erasures.backlog,
        lastServed: ofCoordinator.erasures.lastServed,
        saveClock: ofCoordinator.erasures.saveClock,
      },
      merges: { ...ports.merges, claim: queues.merges, backlog: ofAll.merges.backlog },
      webhooks: { ...ports.webhooks, claim: queues.endpoints, backlog: ofAll.webhooks.backlog },
      schedules: { ...ports.schedules, waiting: queues.scheduled },
      deletions: { ...ports.deletions, waiting: queues.deletions },
      events: { ...ports.events, waiting: queues.unnumbered },
      searchIndex: { ...ports.searchIndex, waiting: queues.unindexed },
      counts: {
        ...ports.counts,
        waiting: queues.uncounted,
        addUsage: ofCoordinator.counts.addUsage,
        sumUsage: ofCoordinator.counts.sumUsage,
      },
      hooks: copiedHooks(ofCoordinator.hooks, central, query),
      apiKeys: copiedKeys(ofCoordinator.apiKeys, central, query),
    }
  }

/** If not all of these are saved, none are: then they are settled one by one, newest first. */
const oneByOne = (settle: Versions['settle']): Versions['settle'] => {
  const settled: Versions['settle'] = async (tenantId, settlements, events) => {
    try {
      return await settle(tenantId, settlements, events)
    } catch (error) {
      if (sqlStateOf(error) !== '22012') throw error
      const saved: string[] = []
      if (settlements.length > 1)
        for (const one of settlements.toSorted((a, b) => (a.versionId < b.versionId ? 1 : -1)))
          saved.push(...(await settled(tenantId, [one], eventsOfSaved([one.versionId], events))))
      return saved
    }
  }
  return settled
}
