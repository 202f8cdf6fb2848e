import type { RequestLog } from '../adapters/http/requests.ts'
import { MINUTE_MS } from '../core/engine/times.ts'

/** A request that was delayed. */
type Delayed = Pick<RequestLog, 'tenantId' | 'apiKeyId' | 'hookId' | 'admission'>
/** A key or a hook, and how many of its requests were delayed. */
type Sender = {
  readonly tenantId: string | undefined
  readonly apiKeyId: string | null | undefined
  readonly hookId: string | undefined
  waited: number
  refused: number
}

/** Senders that are counted separately in a minute. */
const SENDERS_MAX = 10_000
/** A sender with this share of at least so many delayed requests in a minute is reported. */
const REPORTED_SHARE_MIN = 0.8
const REPORTED_REQUESTS_MIN = 600

type Deps = {
  /** Writes a line of the log, at most one a minute. */
  readonly report: (facts: object) => void
  readonly nowMs?: () => number
}

/**
 * Finds the key that makes others wait: minute by minute, the one that sent most of the requests which waited for their
 * turn or were refused for lack of room. A metric cannot name it, since each key would be a label; the log does.
 */
export const watchBusiestKey = ({ report, nowMs = () => performance.now() }: Deps) => {
  let senders = new Map<string, Sender>()
  let delayed = 0
  let beganMs = nowMs()
  let share = 0

  /** Ends the minute if it is over. Nothing runs in a minute without requests. */
  const endMinute = (): void => {
    const ms = nowMs() - beganMs
    if (ms < MINUTE_MS) return
    const busiest = [...senders.values()].sort((a, b) => countOf(b) - countOf(a))[0]
    // A key that delays only its own requests harms nobody.
    const hasOthers = senders.size > 1
    const isRecent = ms < 2 * MINUTE_MS
    share = busiest !== undefined && hasOthers && isRecent ? countOf(busiest) / delayed : 0
    if (share >= REPORTED_SHARE_MIN && delayed >= REPORTED_REQUESTS_MIN) report({ ...busiest, share })
    senders = new Map()
    delayed = 0
    beganMs = nowMs()
  }

  return {
    /** Call this for each request that was delayed. */
    note: ({ tenantId, apiKeyId, hookId, admission }: Delayed): void => {
      endMinute()
      delayed++
      const id = `${tenantId} ${hookId ?? apiKeyId}`
      let sender = senders.get(id)
      if (sender === undefined) {
        if (senders.size >= SENDERS_MAX) return
        sender = { tenantId, apiKeyId, hookId, waited: 0, refused: 0 }
        senders.set(id, sender)
      }
      if (admission === 'refused') sender.refused++
      else sender.waited++
    },
    /** Its share of the delayed requests in the last full minute; 0 if no other key's were delayed. */
    share: (): number => {
      endMinute()
      return share
    },
  }
}

const countOf = ({ waited, refused }: Sender): number => waited + refused
