import type { Signal, Store } from '../../core/ports/store.ts'
import { withHandOver } from '../stores/hand-over.ts'
import { type Migration, readiness } from '../stores/migrations.ts'
import { createTogether } from '../stores/together.ts'
import { postgresActivities } from './activities.ts'
import { postgresApiKeys } from './api-keys.ts'
import { connect } from './connect.ts'
import { postgresCounts } from './counts.ts'
import { postgresDeletions } from './deletions.ts'
import { postgresErasures } from './erasures.ts'
import { unavailableUnlessRejected } from './error-codes.ts'
import { postgresEvents } from './events.ts'
import { postgresHooks } from './hooks.ts'
import { postgresMerges } from './merges.ts'
import { appliedMigrations, migratePostgres, type Warn } from './migrate.ts'
import { postgresMoments } from './moments.ts'
import { refuserOfNoWrites } from './no-writes.ts'
import { findObstacle, nameDirect } from './obstacle.ts'
import type { PostgresSettings } from './open.ts'
import { createOutbox } from './outbox.ts'
import { postgresPageGroups } from './page-groups.ts'
import { postgresPages } from './pages.ts'
import { postgresPlaceholders } from './placeholders.ts'
import { postgresProspectConflicts } from './prospect-conflicts.ts'
import { postgresProspectCounts } from './prospect-counts.ts'
import { postgresProspectLogs } from './prospect-logs.ts'
import { postgresProspects } from './prospects.ts'
import { skippingUnusedEvents } from './quiet-logs.ts'
import { postgresSchedules } from './schedules.ts'
import { postgresSearchIndex } from './search-index.ts'
import { postgresSignals } from './signals.ts'
import { readSizes } from './sizes.ts'
import { type Ask, queryOver } from './sql.ts'
import { postgresTenants } from './tenants.ts'
import { postgresVersions } from './versions.ts'
import { postgresWaiting } from './waiting.ts'
import { postgresWebhooks } from './webhooks.ts'

/** While one list is decided, the other is saved. */
const LISTS_IN_FLIGHT_MAX = 2

/** A store in PostgreSQL 14 or newer. Connects with its first statement. */
export const postgresStore = (
  settings: PostgresSettings,
  migrations: readonly Migration[],
  warn: Warn = () => {},
  connectTo = connect,
): Store => {
  const { url, pooler } = settings
  const directUrl = pooler === undefined ? url : pooler.directUrl
  const { ask, close } = connectTo(settings)
  const { notify, close: closeSignals, ...signals } = postgresSignals(directUrl, ask)
  const { ready, ...verbs } = portsOver(ask, migrations, notify, settings)

  let isUsable = false
  /** Checks the database until no obstacle is found. */
  const refuseUnusable = async (): Promise<void> => {
    if (isUsable) return
    const obstacle = await findObstacle(ask, pooler !== undefined, pooler?.directUrl).catch(
      unavailableUnlessRejected,
    )
    if (obstacle !== null) throw new Error(obstacle)
    isUsable = true
  }

  return {
    ...verbs,
    ready: () => refuseUnusable().then(ready),
    migrate: async () => {
      await refuseUnusable()
      const migrated = migratePostgres(directUrl ?? url, migrations, warn)
      return migrated.catch(pooler?.directUrl ? nameDirect : null)
    },
    ...signals,
    close: () => closeSignals().then(close),
  }
}

/** The ports of a store over any way to send statements. Calls `notify` after a commit. */
export const portsOver = (
  ask: Ask,
  migrations: readonly Migration[],
  notify: (...signals: readonly Signal[]) => void,
  { everyEvent = false, observer }: Pick<PostgresSettings, 'everyEvent' | 'observer'>,
): Omit<Store, 'migrate' | 'watch' | 'hasAllSignals' | 'close'> => {
  const query = queryOver(ask)
  const together = createTogether({ listsInFlightMax: LISTS_IN_FLIGHT_MAX, observerOf: observer?.gathering })
  const outbox = createOutbox(everyEvent, () => notify('events'))
  const refuseUnready = readiness(migrations)
  const refuseNoWrites = refuserOfNoWrites(ask)
  const prospectsChanged = () => notify('prospects')
  const keysChanged = () => notify('keys')
  const activities = postgresActivities(query, outbox, together)
  return {
    activities: everyEvent ? activities : skippingUnusedEvents(activities, query, together),
    prospects: postgresProspects(query, outbox, together),
    merges: postgresMerges(query, outbox, prospectsChanged),
    placeholders: postgresPlaceholders(query),
    prospectConflicts: postgresProspectConflicts(query),
    prospectLogs: postgresProspectLogs(query, together),
    searchIndex: postgresSearchIndex(query),
    counts: postgresCounts(query),
    prospectCounts: postgresProspectCounts(query),
    pageGroups: postgresPageGroups(query, outbox, together),
    ...withHandOver(postgresPages(query, outbox, together, () => notify('versions'))),
    versions: postgresVersions(query, outbox, together),
    schedules: postgresSchedules(query),
    deletions: postgresDeletions(query, outbox, () => notify('deletions')),
    erasures: postgresErasures(query, outbox, together, prospectsChanged),
    events: postgresEvents(query, notify),
    webhooks: postgresWebhooks(query, () => notify('events', 'deliveries')),
    hooks: postgresHooks(query, keysChanged),
    apiKeys: postgresApiKeys(query, keysChanged),
    tenants: postgresTenants(query, keysChanged),
    moments: postgresMoments(query),
    waiting: postgresWaiting(query),
    ready: async () => {
      refuseUnready(await appliedMigrations(ask))
      await refuseNoWrites()
    },
    sizes: () => readSizes(ask),
  }
}
