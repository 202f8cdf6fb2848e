import type { WaitingListing } from '../../service/wait-for-events.ts'
import { shareLoop } from '../loop-share.ts'
import { stopwatch } from '../stopwatch.ts'
import type { Admission, Slot } from './admission.ts'
import { type ApiRequest, type ApiResponse, isOld, type LogFields } from './requests.ts'

/** The steps that only batches and requests that wait need. */
export type LongSteps = {
  readonly itemBytesMax: number
  /** Counts the items beyond the first as requests of the key. Refuses `rate_limited`. */
  readonly count: (moreItems: number) => void
  /** Lets others take their turns; resolves when this many items may be worked on. Refuses `unavailable`. */
  readonly nextTurn: (items: number) => Promise<void> | undefined
  /** The answer that a single request would get for this error. */
  readonly refusalOf: (why: unknown) => ApiResponse
  readonly untilEnd: ApiRequest['untilEnd']
  /** Waits without a slot in the admission. Takes a new slot if events arrived. Refuses `unavailable`. */
  readonly withoutSlot: NonNullable<WaitingListing['withoutSlot']>
}
type Context = Pick<LongSteps, 'count' | 'refusalOf'> & {
  readonly admission: Admission
  readonly currentSlot: () => Slot
  readonly replaceSlot: (next: Slot) => void
  readonly askedMs: number
  /** Looks the caller up again. Refuses if the key was revoked. */
  readonly requireCaller: () => Promise<void>
  readonly logFields: LogFields
}

export const longSteps = ({ body, untilEnd }: ApiRequest, context: Context): LongSteps => {
  const { admission, currentSlot, replaceSlot, askedMs, requireCaller, logFields } = context
  const { id: tenantId } = currentSlot().tenant
  return {
    itemBytesMax: body?.bytesMax ?? 0,
    count: context.count,
    nextTurn: async (items) => {
      await admission.nextTurn(currentSlot(), items)
      if (isOld(askedMs)) await requireCaller()
      await shareLoop(tenantId)
    },
    refusalOf: context.refusalOf,
    untilEnd,
    withoutSlot: async (wait) => {
      const beganMs = stopwatch()
      admission.leave(currentSlot())
      const found = await wait()
      if (isOld(beganMs)) await requireCaller()
      logFields.waitedMs = Math.floor((logFields.waitedMs ?? 0) + stopwatch() - beganMs)
      if (found.isNew) {
        replaceSlot(admission.arrive(tenantId))
        await admission.turn(currentSlot())
      }
      return found
    },
  }
}
