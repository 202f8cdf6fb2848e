import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { ClaimedVersion, Settlement } from '../ports/versions.ts'
import type { PatientNamer } from './name-patiently.ts'
import { statusAfter } from './version-states.ts'

export const ATTEMPTS_MAX = 5
/** How long a version rests if the store could not return the facts that its namer needs. */
const REST_MS = 1_000

/** A claimed version, and the result of the attempt. */
export type EndedAttempt = ClaimedVersion & Settlement
type Deps = Pick<Needs<'versions'>, 'store' | 'clock'> & {
  readonly namer: PatientNamer | null
  /** Called for each error of the store. */
  readonly onError: (error: unknown) => void
}

/** Makes one attempt to finish a version: names it, unless there is no namer. Ends at once without a namer. */
export const nameVersion = ({ store, clock, namer, onError }: Deps) => {
  const finish = (version: ClaimedVersion, computedName: string | null): EndedAttempt => ({
    ...version,
    status: statusAfter('processing', version.publish ? 'finish' : 'finishUnpublished'),
    at: isoTime(clock()),
    computedName,
  })
  const fail = (version: ClaimedVersion): EndedAttempt => ({
    ...version,
    status: statusAfter('processing', 'fail'),
    reason: `Gave up after ${ATTEMPTS_MAX} interrupted attempts.`,
  })
  /** `counts`: as an attempt. */
  const tryAgain = (version: ClaimedVersion, afterMs: number, counts: boolean): EndedAttempt => ({
    ...version,
    status: 'processing',
    claimableAt: isoTime(clock() + afterMs),
    counts,
  })

  const nameWith = async (namer: PatientNamer, version: ClaimedVersion, stop: AbortSignal) => {
    try {
      const context = await store.versions.context(version)
      return finish(version, context && (await namer(context, stop, version)))
    } catch (error) {
      if (stop.aborted) return tryAgain(version, 0, false)
      onError(error)
      return version.attempt < ATTEMPTS_MAX ? tryAgain(version, REST_MS, true) : finish(version, null)
    }
  }

  return (version: ClaimedVersion, stop: AbortSignal): EndedAttempt | Promise<EndedAttempt> => {
    if (version.attempt > ATTEMPTS_MAX) return fail(version)
    return namer === null ? finish(version, null) : nameWith(namer, version, stop)
  }
}
