import { takesNoWrites } from '../../core/engine/obstacles.ts'
import type { Signal, Store } from '../../core/ports/store.ts'
import type { Optional } from '../../service/use-cases.ts'
import { postgresActivities } from '../postgres/activities.ts'
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
import { handingOver } from '../stores/hand-over.ts'
import { type Migration, readiness } from '../stores/migrations.ts'
import { createTogether } from '../stores/together.ts'
import { postgresApiKeys } from './api-keys.ts'
import { postgresDeletions } from './deletions.ts'
import { postgresEvents } from './events.ts'
import type { Forms } from './forms.ts'
import { postgresHooks } from './hooks.ts'
import { createOutbox } from './outbox.ts'
import { postgresPageGroups } from './page-groups.ts'
import { postgresPages } from './pages.ts'
import { postgresProspectLogs } from './prospect-logs.ts'
import { postgresSchedules } from './schedules.ts'
import type { Ask } from './sql.ts'
import { queryOver } from './sql.ts'
import { postgresTenants } from './tenants.ts'
import { postgresVersions } from './versions.ts'
import { postgresWebhooks } from './webhooks.ts'

export type PortsOptions = Optional<Pick<PostgresSettings, 'everyEvent' | 'observer'>>
export type Ports = Omit<Store, 'migrate' | 'watch' | 'close'>

/** The ports over any way to send statements. Calls `notify` after a commit. */
export const portsOver = (
  ask: Ask,
  migrations: readonly Migration[],
  notify: (...signals: readonly Signal[]) => void,
  options: PortsOptions,
  forms: Forms,
): Ports => {
  const { everyEvent = false, observer } = options
  const query = queryOver(ask)
  const refuseUnready = readiness(migrations)
  const prospectsChanged = () => notify('prospects')
  const wrote = () => notify('events')
  const outbox = createOutbox(query, forms, { everyEvent, wrote })
  const plainQuery = plainQueryOver(ask)
  const plainOutbox = createPlainOutbox(everyEvent, wrote)
  const together = createTogether({ listsInFlightMax: 2, observerOf: observer?.gathering })
  return {
    activities: postgresActivities(plainQuery, plainOutbox, together),
    prospects: postgresProspects(plainQuery, plainOutbox, together),
    merges: postgresMerges(plainQuery, plainOutbox, prospectsChanged),
    placeholders: postgresPlaceholders(plainQuery),
    prospectConflicts: postgresProspectConflicts(plainQuery),
    prospectLogs: postgresProspectLogs(query, forms, together),
    searchIndex: postgresSearchIndex(plainQuery),
    counts: postgresCounts(plainQuery),
    prospectCounts: postgresProspectCounts(plainQuery),
    pageGroups: postgresPageGroups(query, outbox, together),
    ...handingOver(postgresPages(query, () => notify('versions'), forms, outbox, together)),
    versions: postgresVersions(query, forms, outbox, together),
    schedules: postgresSchedules(query),
    deletions: postgresDeletions(query, forms, outbox, () => notify('deletions')),
    erasures: postgresErasures(plainQuery, plainOutbox, together, prospectsChanged),
    events: postgresEvents(query, notify),
    webhooks: postgresWebhooks(query, () => notify('events', 'deliveries')),
    hooks: postgresHooks(query, forms, () => notify('keys')),
    apiKeys: postgresApiKeys(query, forms, () => notify('keys')),
    tenants: postgresTenants(query, () => notify('keys')),
    moments: postgresMoments(plainQuery),
    ready: async () => {
      refuseUnready(await appliedMigrations(ask))
      // A write that is tried would reach other nodes, which may be full or away while this process serves the rest.
      const reason = await findNoWrites(ask, false)
      if (reason !== null) throw takesNoWrites(reason)
    },
    sizes: () => readSizes(ask),
  }
}
