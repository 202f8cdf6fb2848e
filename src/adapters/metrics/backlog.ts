/** How many versions wait, up to `countMax`, and when the oldest of them was created, as an ISO time. */
export type AskBacklog = (
  countMax: number,
) => Promise<{ readonly count: number; readonly oldest: string | null }>
type Looked = { readonly count: number; readonly oldestAgeS: number }

export const COUNT_MAX = 1_000
/** However often somebody asks, the database is asked no sooner than this after the last time. */
const FRESH_MS = 5_000
/** A database that is slow does not hold up the other figures. */
const WAIT_MS_MAX = 1_000

/** What waits to be published, asked of the database now and then; null where that is not known. */
export const watchBacklog = (
  ask: AskBacklog,
  clock: () => number = Date.now,
  stopwatch: () => number = () => performance.now(),
): (() => Promise<Looked | null>) => {
  let askedMs = Number.NEGATIVE_INFINITY
  let looking: Promise<{ count: number; oldest: string | null } | null> = Promise.resolve(null)
  return async () => {
    if (stopwatch() - askedMs >= FRESH_MS) {
      askedMs = stopwatch()
      looking = ask(COUNT_MAX).catch(() => null)
    }
    const looked = await Promise.race([looking, nothingAfter(WAIT_MS_MAX)])
    if (looked === null) return null
    const { count, oldest } = looked
    return { count, oldestAgeS: oldest === null ? 0 : Math.max(0, (clock() - Date.parse(oldest)) / 1_000) }
  }
}

const nothingAfter = (ms: number): Promise<null> =>
  new Promise((resolve) => setTimeout(() => resolve(null), ms).unref())
