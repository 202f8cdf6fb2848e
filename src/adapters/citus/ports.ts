import { DEFAULTS } from '../../config/config.ts'
import { lateMsOf } from '../../core/engine/late-writes.ts'
import type { Signal, Store } from '../../core/ports/store.ts'
import type { Optional } from '../../core/use-cases.ts'
import { appliedMigrations } from '../postgres/migrate.ts'
import { refuserOfNoWrites } from '../postgres/no-writes.ts'
import type { PostgresSettings } from '../postgres/open.ts'
import { type Migration, readiness } from '../stores/migrations.ts'
import { postgresActivities } from './activities.ts'
import { postgresApiKeys } from './api-keys.ts'
import { postgresCounts } from './counts.ts'
import { postgresErasures } from './erasures.ts'
import { postgresEvents } from './events.ts'
import type { Forms } from './forms.ts'
import { postgresHooks } from './hooks.ts'
import { postgresMerges } from './merges.ts'
import { createOutbox } from './outbox.ts'
import { postgresPageGroups } from './page-groups.ts'
import { postgresPages } from './pages.ts'
import { postgresProspectLogs } from './prospect-logs.ts'
import { postgresProspects } from './prospects.ts'
import { postgresSchedules } from './schedules.ts'
import type { Ask } from './sql.ts'
import { queryOver } from './sql.ts'
import { postgresTenants } from './tenants.ts'
import { postgresVersions } from './versions.ts'
import { postgresWebhooks } from './webhooks.ts'

export type PortsOptions = Optional<Pick<PostgresSettings, 'everyEvent' | 'statementMsMax'>>
export type Ports = Omit<Store, 'migrate' | 'watch' | 'close'>

/** The ports over any way to send statements. Calls `notify` after a commit. */
export const portsOver = (
  ask: Ask,
  migrations: readonly Migration[],
  notify: (...signals: readonly Signal[]) => void,
  options: PortsOptions,
  forms: Forms,
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
