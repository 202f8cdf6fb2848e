import { Counter, Gauge, type Registry } from 'prom-client'
import type { Namer, Store } from '../../core/ports.ts'
import { type AskBacklog, COUNT_MAX, watchBacklog } from './backlog.ts'
import { createHistogram } from './histogram.ts'

const NAMING_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** How an attempt ended, where its end was saved. */
const OUTCOMES = ['published', 'failed', 'again', 'stopped'] as const

const setOrLeaveOut = (gauge: Gauge, value: number | undefined): void => {
  if (value === undefined) gauge.remove()
  else gauge.set(value)
}

/** Versions and their publisher. What is counted is what this process did; what is waiting is asked of the database. */
export const versionFigures = (register: Registry) => {
  const registers = [register]
  const created = new Counter({
    name: 'prospect_pages_versions_created_total',
    help: 'Versions that this process recorded, each in the state processing.',
    registers,
  })
  const attempts = new Counter({
    name: 'prospect_pages_publisher_attempts_total',
    help: 'Attempts at a version that this process ended: published or failed, which are final; again; stopped, which does not count.',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of OUTCOMES) attempts.inc({ outcome }, 0)
  const errors = new Counter({
    name: 'prospect_pages_publisher_errors_total',
    help: 'Rounds of the publisher that ended early, mostly because the database could not answer.',
    registers,
  })
  const failures = new Counter({
    name: 'prospect_pages_naming_failures_total',
    help: 'Calls to the naming server without a name.',
    registers,
  })
  const naming = createHistogram(register, {
    name: 'prospect_pages_naming_duration_seconds',
    help: 'Calls to the naming server. Nothing with the built-in namer.',
    buckets: NAMING_SECONDS,
  }).child()
  let backlog: ReturnType<typeof watchBacklog> | null = null
  const processing: Gauge = new Gauge({
    name: 'prospect_pages_versions_processing',
    help: `Versions in the state processing in the whole database; ${COUNT_MAX} stands for as many or more. Missing while the database cannot answer.`,
    aggregator: 'max',
    registers,
    collect: async () => setOrLeaveOut(processing, (await backlog?.())?.count),
  })
  const oldest: Gauge = new Gauge({
    name: 'prospect_pages_versions_oldest_processing_age_seconds',
    help: 'How long ago the oldest of those was created; 0 where there is none.',
    aggregator: 'max',
    registers,
    collect: async () => setOrLeaveOut(oldest, (await backlog?.())?.oldestAgeS),
  })

  const counted = (versions: Store['versions']): Store['versions'] => ({
    ...versions,
    settle: async (tenantId, settlements) => {
      const settled = await versions.settle(tenantId, settlements)
      for (const done of settlements.filter(({ versionId }) => settled.includes(versionId))) {
        const outcome = done.status !== 'processing' ? done.status : done.counts ? 'again' : 'stopped'
        attempts.inc({ outcome })
      }
      return settled
    },
  })

  return {
    /** The same store, which tells of versions that are created and settled. */
    counted: <Kept extends Store & { readonly backlog?: AskBacklog }>(store: Kept): Kept => {
      if (store.backlog !== undefined) backlog = watchBacklog(store.backlog)
      return {
        ...store,
        pages: {
          ...store.pages,
          record: async (rows) => {
            const recorded = await store.pages.record(rows)
            if (recorded === 'recorded') created.inc(rows.length)
            return recorded
          },
        },
        versions: counted(store.versions),
      }
    },
    /** The same namer, which tells how long it took. */
    timed:
      (namer: Namer): Namer =>
      async (...asked) => {
        const beganMs = performance.now()
        try {
          return await namer(...asked)
        } finally {
          naming((performance.now() - beganMs) / 1_000)
        }
      },
    namingFailed: (): void => failures.inc(),
    publishingFailed: (): void => errors.inc(),
  }
}
