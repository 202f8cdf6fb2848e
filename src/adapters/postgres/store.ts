import { DEFAULTS } from '../../config/config.ts'
import { lateMsOf } from '../../core/engine/late-writes.ts'
import type { Signal, Store } from '../../core/ports/store.ts'
import type { Optional } from '../../core/use-cases.ts'
import { type Migration, readiness } from '../stores/migrations.ts'
import { postgresActivities } from './activities.ts'
import { postgresApiKeys } from './api-keys.ts'
import { connect } from './connect.ts'
import { postgresCounts } from './counts.ts'
import { postgresErasures } from './erasures.ts'
import { unavailableUnlessRejected } from './error-codes.ts'
import { postgresEvents } from './events.ts'
import { FORMS, type Forms } from './forms.ts'
import { postgresHooks } from './hooks.ts'
import { postgresMerges } from './merges.ts'
import { appliedMigrations, migratePostgres, type Warn } from './migrate.ts'
import { refuserOfNoWrites } from './no-writes.ts'
import { findObstacle, nameDirect } from './obstacle.ts'
import type { PostgresSettings } from './open.ts'
import { createOutbox } from './outbox.ts'
import { postgresPageGroups } from './page-groups.ts'
import { postgresPages } from './pages.ts'
import { postgresProspectLogs } from './prospect-logs.ts'
import { postgresProspects } from './prospects.ts'
import { postgresSchedules } from './schedules.ts'
import { postgresSignals } from './signals.ts'
import type { Ask } from './sql.ts'
import { queryOver } from './sql.ts'
import { postgresTenants } from './tenants.ts'
import { postgresVersions } from './versions.ts'
import { postgresWebhooks } from './webhooks.ts'

/** The ports of a store, with what else depends on where its rows are. */
export type Database = {
  readonly ask: Ask
  readonly close: () => Promise<void>
  readonly placeOf?: Store['placeOf']
  readonly portsOver: (
    ask: Ask,
    migrations: readonly Migration[],
    notify: (...signals: readonly Signal[]) => void,
    options: PortsOptions,
  ) => Ports
  /** The addresses of other nodes, whose signals do not arrive at this one. */
  readonly others?: () => Promise<readonly string[]>
  /** Throws if the database does not fit the settings. `migrates`: it need not be complete yet. */
  readonly refuse: (ask: Ask, migrates: boolean) => Promise<void>
  /** Throws if this is not the place to migrate. */
  readonly refuseToMigrate?: (ask: Ask) => Promise<void>
}

/** A store in PostgreSQL 14 or newer. Connects with its first statement. */
export const postgresStore = (
  settings: PostgresSettings,
  migrations: readonly Migration[],
  warn: Warn = () => {},
  database: Database = { ...connect(settings), portsOver, refuse: async () => {} },
): Store => {
  const { ask, placeOf, close, others, refuse, refuseToMigrate } = database
  const { url, pooler, session, everyEvent, statementMsMax } = settings
  const directUrl = pooler === undefined ? url : pooler.directUrl
  const { watch, notify, close: closeSignals } = postgresSignals(directUrl, ask, others)

  const ports = database.portsOver(ask, migrations, notify, { everyEvent, statementMsMax })
  let isUsable = false
  /** Checks the database until no obstacle is found. */
  const refuseUnusable = async (migrates = false): Promise<void> => {
    if (isUsable) return
    const looked = findObstacle(ask, pooler !== undefined, session, pooler?.directUrl)
    const obstacle = await looked.catch(unavailableUnlessRejected)
    if (obstacle !== null) throw new Error(obstacle)
    await refuse(ask, migrates)
    isUsable = !migrates
  }

  return {
    ...ports,
    ...(placeOf && { placeOf }),
    ready: () => refuseUnusable().then(ports.ready),
    migrate: async () => {
      await refuseUnusable(true)
      const migrated = migratePostgres(directUrl ?? url, migrations, warn, refuseToMigrate)
      return migrated.catch(pooler?.directUrl ? nameDirect : null)
    },
    watch,
    close: () => closeSignals().then(close),
  }
}

type PortsOptions = Optional<Pick<PostgresSettings, 'everyEvent' | 'statementMsMax'>>
export type Ports = Omit<Store, 'migrate' | 'watch' | 'placeOf' | 'close'>

/** The ports of a store over any way to send statements. Calls `notify` after a commit. */
export const portsOver = (
  ...[ask, migrations, notify, options, forms = FORMS]: [...Parameters<Database['portsOver']>, forms?: Forms]
): Ports => {
  const { everyEvent = false, statementMsMax = DEFAULTS.statementMsMax } = options
  const query = queryOver(ask)
  const refuseUnready = readiness(migrations)
  const refuseNoWrites = refuserOfNoWrites(ask)
  const onChange = (tenantId: string) => notify(`prospects ${tenantId}`)
  const [wrote, late] = [() => notify('events'), () => notify('keys', 'prospects')]
  const outbox = createOutbox(query, forms, { everyEvent, lateMs: lateMsOf(statementMsMax), wrote, late })
  return {
    activities: postgresActivities(query, forms, outbox),
    prospects: postgresProspects(query, onChange, forms, outbox),
    merges: postgresMerges(query, forms, onChange, outbox),
    prospectLogs: postgresProspectLogs(query, forms),
    counts: postgresCounts(query),
    pageGroups: postgresPageGroups(query, outbox),
    pages: postgresPages(query, () => notify('versions'), forms, outbox),
    versions: postgresVersions(query, forms, outbox),
    schedules: postgresSchedules(query),
    erasures: postgresErasures(query, forms, onChange, outbox),
    events: postgresEvents(query, notify),
    webhooks: postgresWebhooks(query, () => notify('events', 'deliveries')),
    hooks: postgresHooks(query, forms, () => notify('keys')),
    apiKeys: postgresApiKeys(query, forms, () => notify('keys')),
    tenants: postgresTenants(query, () => notify('keys')),
    ready: async () => {
      refuseUnready(await appliedMigrations(ask))
      await refuseNoWrites()
    },
  }
}
