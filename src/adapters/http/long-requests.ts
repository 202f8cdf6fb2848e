import type { WithoutSlot } from '../../core/engine/waiting.ts'
import type { Caller } from '../../core/tenants/identify.ts'
import { shareLoop } from '../loop-share.ts'
import { stopwatch } from '../stopwatch.ts'
import type { Admission, Slot } from './admission.ts'
import type { RateLimit } from './limits/rate-limit.ts'
import { type ApiRequest, type ApiResponse, type Exchange, isOld } from './requests.ts'

/** An item of a batch takes a fifth of the time of a single request, and less memory. */
const ITEMS_OF_A_REQUEST = 4
/** A batch is weighed by its bytes until it is parsed, so that one that waits for its turn holds nothing else. */
const BYTES_OF_A_REQUEST = 2_048
export const weightOfBatch = (bytes: number): number => Math.ceil(bytes / BYTES_OF_A_REQUEST)

/** The steps that only batches and requests that wait need. */
export type LongSteps = {
  readonly itemBytesMax: number
  /** Counts the items beyond the first as requests of the key. Refuses `rate_limited`. */
  readonly count: (moreItems: number) => void
  /** Lets others take their turns; resolves when this many items may run. Refuses `unavailable`. */
  readonly nextTurn: (items: number) => Promise<void> | undefined
  /** The answer that a single request would get for this error. */
  readonly refusalOf: (why: unknown) => ApiResponse
  readonly untilEnd: ApiRequest['untilEnd']
  /** Leaves the admission while it waits. Arrives again if something is new. Refuses `unavailable`. */
  readonly withoutSlot: WithoutSlot
}
/** A request of a caller that is in progress. */
type Work = {
  readonly exchange: Exchange
  readonly caller: Caller
  readonly slot: Slot
  /** When the caller was looked up. */
  readonly askedMs: number
}
type Deps = {
  readonly admission: Admission
  readonly rateLimit: RateLimit | null
  /** Looks the caller up again. Refuses if the key was revoked. */
  readonly requireCaller: (request: ApiRequest) => Promise<void>
  readonly refusalOf: (exchange: Exchange, why: unknown) => ApiResponse
}

export const longStepsOver =
  ({ admission, rateLimit, requireCaller, refusalOf }: Deps) =>
  ({ exchange, caller, slot, askedMs }: Work): LongSteps => {
    const { request, headers, logFields } = exchange
    return {
      itemBytesMax: request.body?.bytesMax ?? 0,
      count: (moreItems) => rateLimit?.(caller, headers, moreItems),
      nextTurn: async (items) => {
        await admission.nextTurn(slot, Math.ceil(items / ITEMS_OF_A_REQUEST))
        if (isOld(askedMs)) await requireCaller(request)
        await shareLoop(caller.tenantId)
      },
      refusalOf: (why) => refusalOf(exchange, why),
      untilEnd: request.untilEnd,
      withoutSlot: async (waitForNew) => {
        const beganMs = stopwatch()
        admission.leave(slot)
        const found = await waitForNew()
        if (isOld(beganMs)) await requireCaller(request)
        logFields.waitedMs = Math.floor((logFields.waitedMs ?? 0) + stopwatch() - beganMs)
        if (found.isNew) {
          admission.reenter(slot)
          await admission.turn(slot)
        }
        return found
      },
    }
  }
