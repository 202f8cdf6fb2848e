import type { Store } from '../../core/ports/store.ts'
import type { Namer, Settlement, Versions } from '../../core/ports/versions.ts'
import type { Backlog, Recorded } from '../../core/ports/world.ts'
import { cachedRead } from './cached-read.ts'
import type { Gauge, Instruments } from './instruments.ts'
import { timed } from './observations.ts'

const NAMING_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** Outcomes of an attempt, counted once they are saved. */
const OUTCOMES = ['published', 'ready', 'failed', 'again', 'stopped'] as const
const READY =
  '1 while the database can be reached, has the schema of this program, takes writes and answers in time; else 0.'
const PAUSED =
  '1 while this process deletes nothing that has expired, because its clock is far ahead; else 0.'
const BACKLOG_MAX = 1_000
/** The database is asked no more often than this, however frequent the scrapes are. */
const BACKLOG_FRESH_MS = 5_000

/**
 * Metrics of versions and their publisher: counters of this process, and backlogs of the whole database, erasures
 * included.
 */
export const publisherMetrics = ({ counter, gauge, histogram }: Instruments) => {
  const created = counter('versions_created_total', 'Versions that this process recorded, in processing.')
  const attempts = counter(
    'publisher_attempts_total',
    'Attempts at a version that this process ended: published, ready or failed, which are final; again; stopped, which does not count.',
    ['outcome'],
  )
  for (const outcome of OUTCOMES) attempts.inc({ outcome }, 0)
  const errors = counter(
    'publisher_errors_total',
    'Rounds of the publisher that ended early, mostly because the database could not answer.',
  )
  const failures = counter('naming_failures_total', 'Calls to the naming server that returned no name.')
  const naming = histogram(
    'naming_duration_seconds',
    'Calls to the naming server. Empty with the built-in namer.',
    NAMING_SECONDS,
  )()

  return {
    /** The same store, which counts the versions that are created and settled. */
    countedStore: <AnyStore extends Store>(store: AnyStore): AnyStore => {
      const { pages, versions, erasures } = store
      storeGauges(gauge, store)
      let isPaused = false
      const setPaused = (gauge: Gauge) => gauge.set(Number(isPaused))
      gauge('retention_paused', PAUSED, setPaused)
      const saveClock: typeof erasures.saveClock = async (served) => {
        await erasures.saveClock(served)
        isPaused = served.pausedAt !== null
      }
      const counted = (recorded: Recorded, hasVersion: boolean): Recorded => {
        if (recorded === 'recorded' && hasVersion) created.inc({}, 1)
        return recorded
      }
      const record: typeof pages.record = async (page, events) =>
        counted(await pages.record(page, events), true)
      const change: typeof pages.change = async (change, events) =>
        counted(await pages.change(change, events), change.added !== null)
      const settle: typeof versions.settle = async (tenantId, settlements, events) => {
        const settled = await versions.settle(tenantId, settlements, events)
        for (const settlement of settlements) {
          if (settled.includes(settlement.versionId)) attempts.inc({ outcome: outcomeOf(settlement) })
        }
        return settled
      }
      return {
        ...store,
        pages: { ...pages, record, change },
        versions: { ...versions, settle },
        erasures: { ...erasures, saveClock },
      }
    },
    timedNamer: (namer: Namer): Namer => timed(namer, naming),
    namingFailed: (): void => failures.inc(),
    publishingFailed: (): void => errors.inc(),
  }
}

/** Adds gauges of the whole database: whether it is ready, and what is in processing. */
const storeGauges = (gauge: Instruments['gauge'], { ready, versions, erasures, merges }: Store): void => {
  const readIfReady: Versions['backlog'] = (max) => ready().then(() => versions.backlog(max))
  const backlog = backlogGauges(gauge, readIfReady, {
    name: 'versions_processing',
    what: 'Versions in processing',
    ageName: 'versions_oldest_processing_age_seconds',
  })
  gauge('database_ready', READY, async (gauge) => gauge.set((await backlog()) === null ? 0 : 1))
  backlogGauges(gauge, erasures.backlog, {
    name: 'erasures_processing',
    what: 'Erasures in processing',
    ageName: 'erasures_oldest_processing_age_seconds',
  })
  backlogGauges(gauge, merges.backlog, {
    name: 'merges_processing',
    what: 'Merges in processing',
    ageName: 'merges_oldest_processing_age_seconds',
  })
}

const outcomeOf = (settlement: Settlement): (typeof OUTCOMES)[number] => {
  if (settlement.status !== 'processing') return settlement.status
  return settlement.counts ? 'again' : 'stopped'
}

/** Adds two gauges of a backlog in the whole database, and returns the function that they read it with. */
export const backlogGauges = (
  gauge: Instruments['gauge'],
  read: Versions['backlog'],
  { name, what, ageName }: Readonly<Record<'name' | 'what' | 'ageName', string>>,
): ReturnType<typeof cachedBacklog> => {
  const backlog = cachedBacklog(read)
  const add = (name: string, help: string, member: 'count' | 'oldestAgeS') => {
    const collect = async (gauge: Gauge) => {
      const known = await backlog()
      if (known !== null) gauge.set(known[member])
    }
    gauge(name, help, collect)
  }
  const bound = `${BACKLOG_MAX} means that many or more. Missing while the database cannot answer.`
  add(name, `${what} in the whole database; ${bound}`, 'count')
  add(ageName, 'Age of the oldest one; 0 if there is none.', 'oldestAgeS')
  return backlog
}

/** The backlog as gauges show it; null while it is not known. */
export const cachedBacklog = (
  read: Versions['backlog'],
  clock: () => number = Date.now,
  stopwatch?: () => number,
): (() => Promise<{ readonly count: number; readonly oldestAgeS: number } | null>) => {
  const readBacklog = cachedRead<Backlog>(() => read(BACKLOG_MAX), BACKLOG_FRESH_MS, stopwatch)
  return async () => {
    const backlog = await readBacklog()
    if (backlog === null) return null
    const { count, oldest } = backlog
    return { count, oldestAgeS: oldest === null ? 0 : Math.max(0, (clock() - Date.parse(oldest)) / 1_000) }
  }
}
