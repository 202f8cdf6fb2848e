import { urlNow } from '../../config/database-address.ts'
import type { Store } from '../../core/ports/store.ts'
import { connect } from '../postgres/connect.ts'
import { unavailableUnlessRejected } from '../postgres/error-codes.ts'
import { isUpToDate, type Warn } from '../postgres/migrate.ts'
import { nameDirect } from '../postgres/obstacle.ts'
import type { PostgresSettings } from '../postgres/open.ts'
import type { Migration } from '../stores/migrations.ts'
import { migrateCluster } from './migrate.ts'
import { briefly, connectToNodes, otherNodes } from './nodes.ts'
import { findSessionObstacle, refuseOtherDatabase, refuseWorker } from './obstacle.ts'
import { findMisplaced } from './placement.ts'
import { citusPorts } from './ports.ts'
import { PLAN_EACH, withParameters } from './session.ts'
import { postgresSignals as clusterSignals } from './signals.ts'

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
  const { ask, nodes, routes, close } = connectToNodes(planned, connectTo)
  const directUrl = pooler === undefined ? url : pooler.directUrl
  const others = directUrl === null ? undefined : () => otherNodes(ask, urlNow(directUrl))
  const {
    watch,
    notify,
    close: closeSignals,
  } = clusterSignals(directUrl === null ? null : urlNow(directUrl), ask, others)
  const ports = citusPorts({ nodes, routes, briefly })
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
