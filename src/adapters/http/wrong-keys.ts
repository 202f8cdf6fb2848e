import { DomainFailure, refuse } from '../../core/failures.ts'
import type { Caller } from '../../core/identify.ts'
import { createBuckets } from './buckets.ts'

type Deps = {
  readonly identify: (apiKey: string | undefined) => Promise<Caller>
  /** Whether a key was right when it was last looked up: such keys are never refused for their neighbours' sake. */
  readonly wasRight: (apiKey: string) => boolean
  readonly perMinute: number
  readonly stopwatch: () => number
}

/**
 * Says who calls, and limits how many wrong keys an address may try in a minute. Past that it refuses `rate_limited`
 * whatever it has not known to be right, and looks nothing up.
 */
export const limitWrongKeys = ({ identify, wasRight, perMinute, stopwatch }: Deps) => {
  const wrong = createBuckets(perMinute, stopwatch)
  return async (apiKey: string | undefined, address: string | undefined): Promise<Caller> => {
    if (apiKey === undefined || address === undefined) return identify(apiKey)
    const from = networkOf(address)
    const retryAfterS = wrong.waitS(from)
    if (retryAfterS > 0 && !wasRight(apiKey))
      refuse('rate_limited', 'Too many wrong keys came from this address.', { retryAfterS })
    try {
      return await identify(apiKey)
    } catch (failure) {
      if (failure instanceof DomainFailure && failure.kind === 'invalid_api_key') wrong.take(from)
      throw failure
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
