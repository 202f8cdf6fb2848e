import { DEFAULTS } from '../../config/config.ts'
import { lateMsOf } from '../../core/engine/decide-and-save.ts'
import type { Signal, Store } from '../../core/ports/store.ts'
import { type Migration, readiness } from '../stores/migrations.ts'
import { postgresActivities } from './activities.ts'
import { postgresApiKeys } from './api-keys.ts'
import { COORDINATOR, type Connected, connectToNodes, otherNodes } from './by-node.ts'
import { type Ask, connect, type PostgresSettings } from './connect.ts'
import { postgresCounts } from './counts.ts'
import { postgresErasures } from './erasures.ts'
import { unavailableUnlessRejected } from './error-codes.ts'
import { postgresEvents } from './events.ts'
import { postgresHooks } from './hooks.ts'
import { postgresMerges } from './merges.ts'
import { appliedMigrations, migratePostgres, type Warn } from './migrate.ts'
import { findObstacle, nameDirect, refuseOtherCluster } from './obstacle.ts'
import { createOutbox } from './outbox.ts'
import { postgresPageGroups } from './page-groups.ts'
import { postgresPages } from './pages.ts'
import { postgresProspectLogs } from './prospect-logs.ts'
import { postgresProspects } from './prospects.ts'
import { postgresSchedules } from './schedules.ts'
import { postgresSignals } from './signals.ts'
import { type Query, queryOver } from './sql.ts'
import { postgresTenants } from './tenants.ts'
import { postgresVersions } from './versions.ts'
import { postgresWebhooks } from './webhooks.ts'

/** A store in PostgreSQL 14 or newer. Connects with its first statement. */
export const postgresStore = (
  settings: PostgresSettings,
  migrations: readonly Migration[],
  warn: Warn = () => {},
): Store => {
  const { ask, placeOf, close } = settings.cluster ? connectToNodes(settings, connect) : connect(settings)
  const { url, pooler, cluster, everyEvent, statementMsMax } = settings
  const directUrl = pooler === undefined ? url : pooler.directUrl
  const others = cluster && directUrl !== null ? () => otherNodes(ask, directUrl) : undefined
  const { watch, notify, close: closeSignals } = postgresSignals(directUrl, ask, others)

  const ports = portsOver(ask, migrations, notify, { cluster, everyEvent, statementMsMax, placeOf })
  let isUsable = false
  /** Checks the database until no obstacle is found. */
  const refuseUnusable = async (migrates = false): Promise<void> => {
    if (isUsable) return
    const looked = findObstacle(ask, pooler !== undefined, cluster, pooler?.directUrl)
    const obstacle = await looked.catch(unavailableUnlessRejected)
    if (obstacle !== null) throw new Error(obstacle)
    await refuseOtherCluster(ask, cluster, migrates)
    isUsable = !migrates || cluster === undefined
  }

  return {
    ...ports,
    ...(placeOf && { placeOf }),
    ready: () => refuseUnusable().then(ports.ready),
    migrate: async () => {
      await refuseUnusable(true)
      return migratePostgres(directUrl ?? url, migrations, warn).catch(pooler?.directUrl ? nameDirect : null)
    },
    watch,
    close: () => closeSignals().then(close),
  }
}

type PortsOptions = Optional<
  Pick<PostgresSettings, 'cluster' | 'everyEvent' | 'statementMsMax'> & Pick<Connected, 'placeOf'>
>
type Optional<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined }

/** The ports of a store over any way to send statements. Calls `notify` after a commit. */
export const portsOver = (
  ask: Ask,
  migrations: readonly Migration[],
  notify: (...signals: readonly Signal[]) => void,
  { cluster, everyEvent = false, statementMsMax = DEFAULTS.statementMsMax, placeOf }: PortsOptions = {},
  query = queryOver(ask),
): Omit<Store, 'migrate' | 'watch' | 'placeOf' | 'close'> => {
  const isCluster = cluster !== undefined
  const refuseUnready = readiness(migrations)
  const onCoordinator: Query = isCluster ? () => query(COORDINATOR) : query
  const onChange = (tenantId: string) => notify(`prospects ${tenantId}`)
  const lateMs = lateMsOf(statementMsMax)
  const [wrote, late] = [() => notify('events'), () => notify('keys', 'prospects')]
  const outbox = createOutbox(query, isCluster, { everyEvent, lateMs, placeOf, wrote, late })
  return {
    activities: postgresActivities(query, isCluster, outbox),
    prospects: postgresProspects(query, onChange, isCluster, outbox),
    merges: postgresMerges(query, isCluster, onChange, outbox),
    prospectLogs: postgresProspectLogs(query, isCluster),
    counts: postgresCounts(query, isCluster, onCoordinator),
    pageGroups: postgresPageGroups(query, outbox),
    pages: postgresPages(query, () => notify('versions'), isCluster, outbox),
    versions: postgresVersions(query, isCluster, outbox),
    schedules: postgresSchedules(query, isCluster),
    erasures: postgresErasures(query, isCluster, onChange, outbox, onCoordinator),
    events: postgresEvents(query, isCluster, notify),
    webhooks: postgresWebhooks(query, isCluster, () => notify('events', 'deliveries')),
    hooks: postgresHooks(onCoordinator, () => notify('keys'), isCluster ? query : null),
    apiKeys: postgresApiKeys(onCoordinator, () => notify('keys'), isCluster ? query : null),
    tenants: postgresTenants(query, () => notify('keys')),
    ready: async () => refuseUnready(await appliedMigrations(ask)),
  }
}
