import { DomainFailure, refuse } from '../../core/failures.ts'
import type { Caller } from '../../core/identify.ts'
import { createBuckets } from './buckets.ts'

type Deps = {
  readonly identify: (apiKey: string | undefined) => Promise<Caller>
  /** Whether a key was right when it was last looked up, or is being looked up: such keys are not refused for others' sake. */
  readonly isKnown: (apiKey: string) => boolean
  readonly perMinute: number
  readonly stopwatch: () => number
}

/**
 * Says who calls, and limits how many wrong keys an address may try in a minute. Past that it refuses `rate_limited`
 * whatever it does not know, and looks nothing up. Each key counts as wrong until it proves right, so that many at the
 * same moment are no more than one after another.
 */
export const limitWrongKeys = ({ identify, isKnown, perMinute, stopwatch }: Deps) => {
  const wrong = createBuckets(perMinute, stopwatch)
  return async (apiKey: string | undefined, address: string | undefined): Promise<Caller> => {
    if (apiKey === undefined || address === undefined) return identify(apiKey)
    const from = networkOf(address)
    const { isTaken, waitS } = wrong.take(from)
    if (!isTaken && !isKnown(apiKey))
      refuse('rate_limited', 'Too many wrong keys came from this address.', { retryAfterS: waitS })
    let isWrong = false
    try {
      return await identify(apiKey)
    } catch (failure) {
      isWrong = failure instanceof DomainFailure && failure.kind === 'invalid_api_key'
      throw failure
    } finally {
      if (isTaken && !isWrong) wrong.giveBack(from)
    }
  }
}

/** Whoever has one IPv6 address has the 64 bits behind its network, too. */
const networkOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address
  const [before = '', after] = address.split('::')
  const groups = before === '' ? [] : before.split(':')
  if (after !== undefined) {
    const tail = after === '' ? [] : after.split(':')
    while (groups.length + tail.length < 8) groups.push('0')
  }
  return groups.slice(0, 4).join(':')
}
