import { setTimeout } from 'node:timers/promises'
import type { NewId, Served, Store } from 'prospect-pages/store'
import type { Core } from './contract.ts'
import type { stoppedClock } from './setting.ts'

/** How many times a namer is asked for one version. */
const ATTEMPTS_MAX = 5
/** A moment must be past after so many milliseconds. */
const PAST_MS_MAX = 10_000
/** Longer than any store rests between two rewrites. */
const REWRITE_REST_MS = 11 * 60_000
const NEVER_ABORTED = new AbortController().signal

type World = {
  readonly store: Store
  readonly clock: ReturnType<typeof stoppedClock>
  readonly newId: NewId
}

/** Moments of which each is past when that is asked: other transactions on a database decide how soon. */
export const pastMoments = ({ moments }: Store): Store['moments'] => ({
  ...moments,
  arePast: async (asked) => {
    for (let ms = 0; (await moments.arePast(asked)).includes(false); ms++) {
      if (ms > PAST_MS_MAX) throw new Error('a moment that is never past')
      await setTimeout(1)
    }
    return asked.map(() => true)
  },
})

/**
 * Some stores need no rewrite, and one rewrite serves all waiting erasures. So every erasure waits for the rewrite that the
 * simulation allows.
 */
export const heldRewrites = ({ erasures }: Store) => {
  let isAllowed = false
  let isWanted = false
  const purgeDeleted: Store['erasures']['purgeDeleted'] = async (now) => {
    if (!isAllowed) {
      isWanted = true
      return false
    }
    isAllowed = false
    return erasures.purgeDeleted(now)
  }
  return {
    erasures: { ...erasures, purgeDeleted },
    isWanted: () => isWanted,
    allowOne: () => {
      isAllowed = true
      isWanted = false
    },
  }
}

/** The background workers of a world: each works until it finds nothing more to do. */
export const workersIn = (core: Core, world: World, rewrites: ReturnType<typeof heldRewrites>) => {
  const eraserStep = core.eraseProspects(world)
  const mergeStep = core.moveMerged(world)
  const publishStep = publisherOf(core, world)
  const eraseUntilIdle = async () => {
    while (await eraserStep(NEVER_ABORTED));
  }
  return {
    publish: async () => {
      while (await publishStep(NEVER_ABORTED));
    },
    moveMerged: async () => {
      while (await mergeStep(NEVER_ABORTED));
    },
    /** Runs the eraser until no erasure can continue. */
    erase: async () => {
      await eraseUntilIdle()
      while (rewrites.isWanted()) {
        world.clock.advance(REWRITE_REST_MS)
        rewrites.allowOne()
        await eraseUntilIdle()
      }
    },
    runSchedules: () => runDueSchedules(core, world),
    unpublishDeleted: () => unpublishAll(core, world),
    expire: (retentionDays: number | null) => expire(core, world, retentionDays),
  }
}

/** Runs the schedules that are due, without waiting for those that are due soon. */
const runDueSchedules = async (core: Core, world: World): Promise<void> => {
  const errors: unknown[] = []
  let isWaiting = false
  const step = core.runSchedules({
    ...world,
    aheadMs: 15_000,
    sleep: async () => {
      isWaiting = true
    },
    onError: (error) => void errors.push(error),
  })
  const neverWoken = new Promise<never>(() => {})
  while (!isWaiting && (await step(NEVER_ABORTED, neverWoken)));
  for (const error of errors) throw error
}

/** Completes the deletions of page groups. */
const unpublishAll = async (core: Core, world: World): Promise<void> => {
  const errors: unknown[] = []
  const step = core.unpublishDeleted({ ...world, onError: (error) => void errors.push(error) })
  do await step(NEVER_ABORTED)
  while (errors.length === 0 && (await world.store.deletions.waiting('', 1)).length > 0)
  for (const error of errors) throw error
}

/** Deletes everything that has expired, unless the deletion has to pause, and sweeps late logs. Returns the pauses. */
const expire = async (core: Core, world: World, retentionDays: number | null): Promise<Served[]> => {
  const errors: unknown[] = []
  const pauses: Served[] = []
  const onError = (error: unknown) => void errors.push(error)
  const onPause = (pause: Served) => void pauses.push(pause)
  const deleteStep = core.deleteExpired({ ...world, retentionDays, eventDaysKept: 1, onError, onPause })
  while (await deleteStep(NEVER_ABORTED));
  const sweepStep = core.sweepLateLogs({ ...world, onError })
  while (await sweepStep(NEVER_ABORTED));
  for (const error of errors) throw error
  return pauses
}

/** A publisher whose namer returns all names at once, so that all versions are saved in one list. */
const publisherOf = (core: Core, world: World) => {
  const { versions } = world.store
  let unnamed = 0
  let allAreAsked = Promise.withResolvers<void>()
  const claim: Store['versions']['claim'] = async (query) => {
    const claimed = await versions.claim(query)
    unnamed += claimed.filter(({ attempt }) => attempt <= ATTEMPTS_MAX).length
    return claimed
  }
  return core.publishVersions({
    ...world,
    store: { versions: { ...versions, claim } },
    claimMax: 100_000,
    leaseMs: 60_000,
    namer: async ({ supplementaryContext }) => {
      const { promise, resolve } = allAreAsked
      unnamed -= 1
      if (unnamed === 0) {
        allAreAsked = Promise.withResolvers()
        resolve()
      }
      await promise
      if (supplementaryContext?.includes('fail')) return null
      return `Named: ${supplementaryContext}`
    },
  })
}
