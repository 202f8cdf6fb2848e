import type { WaitingListing } from '../../service/wait-for-events.ts'
import { stopwatch } from '../stopwatch.ts'
import type { Admission, Slot } from './admission.ts'
import { type ApiRequest, type ApiResponse, isOld, type LogFields } from './requests.ts'
import { shareLoop } from './share-loop.ts'

/** Steps that only a batch needs, or a request that waits. */
export type LongSteps = {
  readonly itemBytesMax: number
  /** Counts the items beyond the first as requests of the key. Refuses `rate_limited`. */
  readonly count: (moreItems: number) => void
  /** Lets others take their turns; resolves when this many items may be worked on. Refuses `unavailable`. */
  readonly nextTurn: (items: number) => Promise<void> | undefined
  /** The answer that a single request would get for this error. */
  readonly refusalOf: (why: unknown) => ApiResponse
  readonly untilEnd: ApiRequest['untilEnd']
  /** Waits without a slot in the admission. Takes a new slot if there is news. Refuses `unavailable`. */
  readonly withoutSlot: NonNullable<WaitingListing['withoutSlot']>
}
type Context = Pick<LongSteps, 'count' | 'refusalOf'> & {
  readonly admission: Admission
  readonly place: { slot: Slot }
  readonly askedMs: number
  /** Looks the caller up again. Refuses if the key was revoked. */
  readonly requireCaller: () => Promise<void>
  readonly logFields: LogFields
}

export const longSteps = ({ body, untilEnd }: ApiRequest, context: Context): LongSteps => {
  const { admission, place, askedMs, requireCaller, logFields, count, refusalOf } = context
  const { id: tenantId } = place.slot.tenant
  return {
    itemBytesMax: body?.bytesMax ?? 0,
    count,
    nextTurn: async (items) => {
      await admission.nextTurn(place.slot, items)
      if (isOld(askedMs)) await requireCaller()
      await shareLoop(tenantId)
    },
    refusalOf,
    untilEnd,
    withoutSlot: async (wait) => {
      const beganMs = stopwatch()
      admission.leave(place.slot)
      const found = await wait()
      if (isOld(beganMs)) await requireCaller()
      logFields.waitedMs = Math.floor((logFields.waitedMs ?? 0) + stopwatch() - beganMs)
      if (found.isNew) place.slot = admission.arrive(tenantId)
      if (found.isNew) await admission.turn(place.slot)
      return found
    },
  }
}
