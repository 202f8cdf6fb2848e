import type { Replay, ReplayResult } from '../../shapes/webhook-delivery.ts'
import { ATTEMPTS_MAX, gaveUp } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import { idsSince } from '../engine/id-times.ts'
import type { Result } from '../engine/result.ts'
import { atOnce } from '../engine/share-loop.ts'
import { ROWS_SCANNED_MAX } from '../engine/slices.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { EndpointKey, EventsToReplay } from '../ports/webhooks.ts'
import { existingEndpoint, requireEnabled } from './get-webhook-endpoint.ts'
import { limitSlowCalls } from './limit-slow-calls.ts'

/** Events that one write replays. */
const REPLAYED_AT_ONCE = 100

type Deps = Pick<Needs<'webhooks'>, 'store' | 'clock' | 'shareLoop'>

/**
 * Delivers the events since a time or after an event again, as many as one request may read, or fewer if another tenant
 * needs its slot.
 * Refuses `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `invalid_request`: neither or both, and
 * `rate_limited` while too many replays of the tenant, or of all tenants, are in flight.
 */
export const replayDeliveries = ({ store, clock, shareLoop = atOnce }: Deps) => {
  const limitReplays = limitSlowCalls('replays')

  const replayAll = async (first: Omit<EventsToReplay, 'max'>, lost: AbortSignal): Promise<ReplayResult> => {
    let deliveries = 0
    let afterEventId: string | null = first.afterEventId
    let rowsLeft = ROWS_SCANNED_MAX
    while (afterEventId !== null && rowsLeft > 0 && !lost.aborted) {
      await shareLoop(first.tenantId)
      const replayed = await replayList(store, { ...first, afterEventId, max: REPLAYED_AT_ONCE })
      deliveries += replayed.made
      afterEventId = replayed.lastEventId
      rowsLeft -= REPLAYED_AT_ONCE
    }
    return { deliveries, nextCursor: afterEventId }
  }

  return async (replay: EndpointKey & Replay): Promise<Result<ReplayResult>> => {
    const { since, cursor, onlyUndelivered, ...key } = replay
    if ((since === undefined) === (cursor === undefined)) refuse('invalid_request', TWO_STARTS, START)
    const endpoint = await existingEndpoint(store, key)
    requireEnabled(endpoint)
    const { tenantId, webhookEndpointId } = endpoint
    const first = {
      tenantId,
      webhookEndpointId,
      afterEventId: cursor ?? idsSince('event', since ?? ''),
      delivered: !onlyUndelivered,
      now: isoTime(clock()),
    }
    return { value: await limitReplays(tenantId, (lost) => replayAll(first, lost)) }
  }
}

/** Nothing needs a decision here: an overtaken replay is repeated unchanged. */
const replayList = async ({ webhooks }: Deps['store'], events: EventsToReplay) => {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const replayed = await webhooks.replay(events)
    if (replayed !== 'overtaken') return replayed
  }
  return gaveUp()
}

const TWO_STARTS = 'A replay starts at a time or at a cursor.'
const START = {
  errors: [{ detail: 'send exactly one of `since` and `cursor`', pointer: '/since' }],
}
