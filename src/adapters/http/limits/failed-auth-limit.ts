import { DomainFailure, refuse } from '../../../core/engine/failures.ts'
import type { LimitGuesses } from '../../../core/tenants/identify.ts'
import { createTokenBuckets } from './rate-limit.ts'

type Lookups = { inFlight: number; readonly waiting: (() => void)[] }

/** Keys of one address that are looked up at a time. */
const LOOKUPS_MAX = 4

/**
 * Limits how many invalid keys an address may send in a minute: past that an invalid key is answered `rate_limited`.
 * Only failures count, and only after the look-up, so a valid key is never refused, however many are first used at the
 * same moment. The look-ups of an address that guesses keys wait for each other. `perMinute`: null for no limit.
 */
export const limitFailedAuth = (perMinute: number | null, stopwatch: () => number): LimitGuesses => {
  if (perMinute === null) return (_, lookUp) => lookUp()
  const takeFailure = createTokenBuckets(perMinute, stopwatch)
  const lookupsOf = new Map<string, Lookups>()

  /** Resolves to the function that releases the look-up. */
  const acquire = async (network: string): Promise<() => void> => {
    const lookups = lookupsOf.get(network) ?? { inFlight: 0, waiting: [] }
    lookupsOf.set(network, lookups)
    if (lookups.inFlight < LOOKUPS_MAX) lookups.inFlight++
    else await new Promise<void>((resolve) => lookups.waiting.push(resolve))
    return () => {
      const next = lookups.waiting.shift()
      if (next !== undefined) next()
      else if (--lookups.inFlight === 0) lookupsOf.delete(network)
    }
  }

  return async (address, lookUp) => {
    const network = networkOf(address)
    const release = await acquire(network)
    try {
      return await lookUp()
    } catch (failure) {
      if (!(failure instanceof DomainFailure) || failure.kind !== 'invalid_api_key') throw failure
      const { isTaken, waitS } = takeFailure(network)
      if (isTaken) throw failure
      const detail = 'This address has sent too many invalid API keys.'
      return refuse('rate_limited', detail, { retryAfterS: waitS })
    } finally {
      release()
    }
  }
}

/** An IPv6 address counts as its /64 network, which usually belongs to one sender. */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address
  const zeros = '0:'.repeat(Math.max(0, 8 - groupsOf(address).length))
  return groupsOf(address.replace('::', `:${zeros}`))
    .slice(0, 4)
    .join(':')
}
const groupsOf = (address: string) => address.split(':').filter((group) => group !== '')
