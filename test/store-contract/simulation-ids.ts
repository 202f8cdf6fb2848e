import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock, NewId } from 'prospect-pages/store'
import { idAt, timeOf } from './rows.ts'

/** A call of a use case: its number, and how many ids it took since it looked something up. */
type Call = { readonly number: number; idsTaken: number }

/**
 * Ids that are the same on every store. An id consists of its time, the number of its call, and its own number within the
 * call, so it does not show in which order calls at once were served.
 *
 * Nor does it show how often a call had to decide. A call that conflicts with another one saves nothing: it looks up again,
 * decides again and takes new ids. So look-ups restart the count, if `countingFrom` wraps them: the ids that are saved at
 * last are those of a call without a conflict.
 */
export const idsOfCalls = (clock: Clock) => {
  const currentCall = new AsyncLocalStorage<Call>()
  let lastNumber = 0

  /** Reserves numbers for so many calls. Returns the first one. */
  const takeNumbers = (count: number): number => {
    const firstNumber = lastNumber + 1
    lastNumber += count
    return firstNumber
  }

  const runAs = <Answer>(number: number, call: () => Answer): Answer =>
    currentCall.run({ number, idsTaken: 0 }, call)

  /** The digits of the call's next id. An id that is made outside of calls takes the number of a call for itself. */
  const takeDigits = (): string => {
    const call = currentCall.getStore() ?? { number: takeNumbers(1), idsTaken: 0 }
    call.idsTaken += 1
    return digitsOf(call)
  }

  /**
   * Digits for an event, which counts nothing: how many events were made must not show in the ids of other things. They
   * need not be unique, because `observed` replaces the id of each event by one that follows from its content.
   */
  const digitsOfEvent = (): string => digitsOf(currentCall.getStore() ?? { number: lastNumber, idsTaken: 0 })

  const newId: NewId = (prefix, after = '') => {
    const ms = Math.max(clock(), timeOf(after) + 1)
    const digits = prefix === 'event' ? digitsOfEvent() : takeDigits()
    return idAt(prefix, ms, digits)
  }

  /** The look-up with which a call begins to decide, or decides again after a conflict: it restarts the call's count. */
  const countingFrom =
    <Lookup, Known>(recall: (lookup: Lookup) => Promise<Known>) =>
    (lookup: Lookup): Promise<Known> => {
      const call = currentCall.getStore()
      if (call !== undefined) call.idsTaken = 0
      return recall(lookup)
    }

  return {
    newId,
    countingFrom,
    runAs,
    takeNumbers,
    /** Runs a call under the next number, unless it is part of another call. */
    runNumbered: <Answer>(call: () => Answer): Answer => {
      const isPartOfCall = currentCall.getStore() !== undefined
      return isPartOfCall ? call() : runAs(takeNumbers(1), call)
    },
  }
}

/** The last 16 characters of an id. */
const digitsOf = ({ number, idsTaken }: Call): string => base36(number, 12) + base36(idsTaken, 4)

const base36 = (number: number, length: number): string => number.toString(36).padStart(length, '0')
