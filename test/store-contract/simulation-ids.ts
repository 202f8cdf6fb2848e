import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock, NewId } from 'prospect-pages/store'
import { idAt, timeOf } from './rows.ts'

/** A call of a use case: its number, and how many ids it took since it looked something up. */
type Call = { readonly number: number; idsTaken: number }

/**
 * Ids that are the same on every store. How often a call had to decide, and in which order calls at once were served, must
 * not show: so each call has a number, and counts its ids from what it looked up last.
 */
export const idsOfCalls = (clock: Clock) => {
  const currentCall = new AsyncLocalStorage<Call>()
  let lastNumber = 0

  /** An id of the current call. Events take none: their ids follow from what they are about, once they are saved. */
  const newId: NewId = (prefix, after = '') => {
    const isEvent = prefix === 'event'
    const isOutsideOfCalls = currentCall.getStore() === undefined
    if (isOutsideOfCalls && !isEvent) lastNumber += 1
    const call = currentCall.getStore() ?? { number: lastNumber, idsTaken: 0 }
    if (!isEvent) call.idsTaken += 1
    const ms = Math.max(clock(), timeOf(after) + 1)
    return idAt(prefix, ms, base36(call.number, 12) + base36(call.idsTaken, 4))
  }

  /** A look-up with which a call decides again: it counts its ids from the beginning. */
  const countingFrom =
    <Lookup, Known>(recall: (lookup: Lookup) => Promise<Known>) =>
    (lookup: Lookup): Promise<Known> => {
      const call = currentCall.getStore()
      if (call !== undefined) call.idsTaken = 0
      return recall(lookup)
    }

  const runAs = <Answer>(number: number, call: () => Answer): Answer =>
    currentCall.run({ number, idsTaken: 0 }, call)

  return {
    newId,
    countingFrom,
    runAs,
    /** Takes numbers for so many calls. Returns the first one. */
    takeNumbers: (count: number): number => {
      lastNumber += count
      return lastNumber - count + 1
    },
    /** Runs a call under the next number, unless it is part of another call. */
    runNumbered: <Answer>(call: () => Answer): Answer =>
      currentCall.getStore() === undefined ? runAs(++lastNumber, call) : call(),
  }
}

const base36 = (number: number, length: number) => number.toString(36).padStart(length, '0')
