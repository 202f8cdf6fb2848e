import type { Signal, Store } from '../../core/ports/store.ts'
import { type Migration, refuseUnmigrated } from '../migrations.ts'
import { postgresActivities } from './activities.ts'
import { type Ask, connect, type PostgresSettings } from './connect.ts'
import { lastMigration, migratePostgres, type Warn } from './migrate.ts'
import { findObstacle } from './obstacle.ts'
import { postgresPageGroups } from './page-groups.ts'
import { postgresPages } from './pages.ts'
import { postgresSignals } from './signals.ts'
import { postgresApiKeys, postgresTenants } from './tenants.ts'
import { postgresBacklog, postgresVersions } from './versions.ts'

/** Everything kept in PostgreSQL 14 or newer. Connects with its first statement. */
export const postgresStore = (
  settings: PostgresSettings,
  migrations: readonly Migration[],
  warn: Warn = () => {},
): Store & { readonly backlog: ReturnType<typeof postgresBacklog> } => {
  const { ask, close } = connect(settings)
  const { url, pooler } = settings
  const directUrl = pooler === undefined ? url : pooler.directUrl
  const { watch, notify, close: closeSignals } = postgresSignals(directUrl, ask)

  const ports = portsOver(ask, migrations, notify)
  let isUsable = false
  /** Looks once. */
  const refuseUnusable = async (): Promise<void> => {
    const obstacle = isUsable ? null : await findObstacle(ask, pooler !== undefined)
    if (obstacle !== null) throw new Error(obstacle)
    isUsable = true
  }

  return {
    ...ports,
    backlog: postgresBacklog(ask),
    ready: () => refuseUnusable().then(ports.ready),
    migrate: async () => {
      await refuseUnusable()
      return migratePostgres(directUrl ?? url, migrations, warn, directUrl === null ? { prepare: false } : {})
    },
    watch,
    close: async () => {
      await closeSignals()
      await close()
    },
  }
}

/** What a store does by statements alone, however they are sent. Calls `notify` after a commit. */
export const portsOver = (
  ask: Ask,
  migrations: readonly Migration[],
  notify: (signal: Signal) => void,
): Omit<Store, 'migrate' | 'watch' | 'close'> => ({
  activities: postgresActivities(ask),
  pageGroups: postgresPageGroups(ask),
  pages: postgresPages(ask, () => notify('versions')),
  versions: postgresVersions(ask),
  apiKeys: postgresApiKeys(ask, () => notify('keys')),
  tenants: postgresTenants(ask),
  ready: async () => refuseUnmigrated(migrations, await lastMigration(ask)),
})
