import type { Signal, Store } from '../../core/ports/store.ts'
import { type Migration, refuseUnmigrated } from '../migrations.ts'
import { postgresActivities } from './activities.ts'
import { type Ask, connect, type PostgresSettings } from './connect.ts'
import { postgresErasures } from './erasures.ts'
import { lastMigration, migratePostgres, type Warn } from './migrate.ts'
import { findObstacle, refuseOtherCluster } from './obstacle.ts'
import { postgresPageGroups } from './page-groups.ts'
import { postgresPages } from './pages.ts'
import { postgresProspectLogs } from './prospect-logs.ts'
import { postgresProspects } from './prospects.ts'
import { postgresSignals } from './signals.ts'
import { queryOver } from './sql.ts'
import { postgresApiKeys, postgresTenants } from './tenants.ts'
import { postgresBacklog, postgresVersions } from './versions.ts'

/** Everything kept in PostgreSQL 14 or newer. Connects with its first statement. */
export const postgresStore = (
  settings: PostgresSettings,
  migrations: readonly Migration[],
  warn: Warn = () => {},
): Store & { readonly backlog: ReturnType<typeof postgresBacklog> } => {
  const { ask, close } = connect(settings)
  const { url, pooler, cluster } = settings
  const directUrl = pooler === undefined ? url : pooler.directUrl
  const { watch, notify, close: closeSignals } = postgresSignals(directUrl, ask)

  const ports = portsOver(ask, migrations, notify, cluster)
  let isUsable = false
  /** Looks until it finds nothing. */
  const refuseUnusable = async (migrates = false): Promise<void> => {
    if (isUsable) return
    const obstacle = await findObstacle(ask, pooler !== undefined, cluster)
    if (obstacle !== null) throw new Error(obstacle)
    await refuseOtherCluster(ask, cluster, migrates)
    isUsable = !migrates || cluster === undefined
  }

  return {
    ...ports,
    backlog: postgresBacklog(queryOver(ask)),
    ready: () => refuseUnusable().then(ports.ready),
    migrate: () => refuseUnusable(true).then(() => migratePostgres(directUrl ?? url, migrations, warn)),
    watch,
    close: () => closeSignals().then(close),
  }
}

/** What a store does by statements alone, however they are sent. Calls `notify` after a commit. */
export const portsOver = (
  ask: Ask,
  migrations: readonly Migration[],
  notify: (signal: Signal) => void,
  cluster?: 'citus',
): Omit<Store, 'migrate' | 'watch' | 'close'> => {
  const query = queryOver(ask)
  const isCluster = cluster !== undefined
  return {
    activities: postgresActivities(query, isCluster),
    prospects: postgresProspects(query, () => notify('prospects'), isCluster),
    prospectLogs: postgresProspectLogs(query, isCluster),
    pageGroups: postgresPageGroups(query),
    pages: postgresPages(query, () => notify('versions'), isCluster),
    versions: postgresVersions(query, isCluster),
    erasures: postgresErasures(query, isCluster, () => notify('prospects')),
    apiKeys: postgresApiKeys(query, () => notify('keys')),
    tenants: postgresTenants(query),
    ready: async () => refuseUnmigrated(migrations, await lastMigration(ask)),
  }
}
