import { isUnavailable } from '../../core/engine/failures.ts'
import { type Outcome, settledEach } from '../../core/engine/outcome.ts'
import type { ActivityChange, NewLog } from '../../core/ports/activities.ts'
import type { NewPageRow } from '../../core/ports/pages.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { type GatherObserver, type GatherOptions, gather } from './gather.ts'

/** A slice or a page may each be as large as a body. */
const READS_MAX = 32
/** A statement with 500 small members costs little more than one with a single member, and blocks no other for long. */
const WRITES_MAX = 500
/** More than these are shared among the lists that may start: the service prepares one while the database saves the other. */
const WRITES_UNSHARED = 200
/** Total length of the payloads of a list. */
const LIST_CHARACTERS_MAX = 1_048_576
/** Each change counts as at least so long: lists have at most as many changes as if they had arrived alone. */
const LEAST_WEIGHT = LIST_CHARACTERS_MAX / WRITES_MAX
/** From this length on, a write takes the database many times as long as a small one, which does not wait for it. */
const LARGE_WRITE = 65_536
/** Look-ups by whole keys are small. */
export const LOOKUPS_MAX = 500

type ReadOptions<Lookup> = Pick<Partial<GatherOptions<Lookup>>, 'listLengthMax' | 'dedupeKey'>
type WriteOptions<Change> = {
  readonly tenantOf: (change: Change) => string
  /** The length of a change, in characters. */
  readonly weightOf: (change: Change) => number
  /**
   * Identifiers or keys that only one change may take. Changes with the same one never share a list, and once one of them
   * is recorded, those that wait are overtaken.
   */
  readonly claimsOf?: (change: Change) => readonly string[]
}

type WriteListsOptions<Change> = WriteOptions<Change> & {
  readonly recordAlone: (change: Change) => Promise<Recorded>
}

/**
 * Turns calls that arrive together into one statement or transaction, and gives each caller its own answer. A call that
 * finds nothing waiting starts at once. `verb`, such as `pages.find`, names the calls for the metrics.
 */
export type Together = {
  /** Reads, each in its place; one may fail alone, and equal ones share an answer. */
  readonly read: <Lookup extends { readonly tenantId: string }, Found>(
    verb: string,
    readAll: (lookups: readonly Lookup[]) => Promise<readonly Outcome<Found>[]>,
    options?: ReadOptions<Lookup>,
  ) => (lookup: Lookup) => Promise<Found>
  /** Writes, each saved whole or not at all. */
  readonly write: <Change>(
    verb: string,
    recordAll: (changes: readonly Change[]) => Promise<readonly Recorded[]>,
    options: WriteOptions<Change>,
  ) => (change: Change) => Promise<Recorded>
  /**
   * Writes lists of changes of one tenant each, such as those of a batch. Lists of the same tenant that wait share a statement.
   * If that fails, each change of a list is written by `recordAlone`.
   */
  readonly writeLists: <Change>(
    verb: string,
    recordAll: (changes: readonly Change[]) => Promise<readonly Recorded[]>,
    options: WriteListsOptions<Change>,
  ) => (changes: readonly Change[]) => Promise<readonly (Recorded | Error)[]>
}

type Settings = {
  /** Lists of one verb in flight at a time. On PostgreSQL two are faster than one: one is decided while the other is saved. */
  readonly listsInFlightMax: number
  /** Counts the calls of a verb, and its lists. */
  readonly observerOf?: ((verb: string) => GatherObserver | undefined) | undefined
}

/** The length of the texts that may be long, in characters. */
export const weightOfLog = ({ payload, email }: NewLog): number =>
  payload.rawJson.length + (email?.length ?? 0)
export const weightOfChange = ({ log, attributes }: ActivityChange): number =>
  (log === null ? 0 : weightOfLog(log)) + (attributes?.rawJson.length ?? 0)
export const weightOfPage = ({ content, supplementaryContext, customName }: NewPageRow): number =>
  (content?.rawJson.length ?? 0) + (supplementaryContext?.length ?? 0) + (customName?.length ?? 0)

export const createTogether = ({ listsInFlightMax, observerOf = () => undefined }: Settings): Together => ({
  read: (verb, readAll, options) =>
    gather(readAll, {
      listLengthMax: READS_MAX,
      listsInFlightMax,
      groupOf: ({ tenantId }) => tenantId,
      dedupeKey: JSON.stringify,
      observer: observerOf(verb),
      ...options,
    }),

  write: (verb, recordAll, { tenantOf, weightOf, claimsOf }) => {
    const options = {
      listLengthMax: WRITES_MAX,
      unsharedMax: WRITES_UNSHARED,
      listsInFlightMax,
      listWeightMax: LIST_CHARACTERS_MAX,
      weightOf,
      groupOf: tenantOf,
      observer: observerOf(verb),
    }
    const createQueue = () =>
      gather<Parameters<typeof weightOf>[0], Recorded>(
        recordAll,
        options,
        claimsOf && { of: claimsOf, wins: (recorded) => recorded === 'recorded', lost: 'overtaken' },
      )
    const recordSmall = createQueue()
    const recordLarge = createQueue()
    return (change) => (weightOf(change) < LARGE_WRITE ? recordSmall(change) : recordLarge(change))
  },

  writeLists: (verb, recordAll, { tenantOf, weightOf, claimsOf, recordAlone }) => {
    type Changes = readonly Parameters<typeof recordAlone>[0][]
    const recordLists = gather<Changes, readonly Recorded[]>(
      async (lists) => {
        const recorded = await recordAll(lists.flat())
        let end = 0
        return lists.map(({ length }) => {
          end += length
          return recorded.slice(end - length, end)
        })
      },
      {
        listLengthMax: WRITES_MAX,
        listsInFlightMax,
        listWeightMax: LIST_CHARACTERS_MAX,
        weightOf: (changes) =>
          changes.reduce((weight, change) => weight + Math.max(weightOf(change), LEAST_WEIGHT), 0),
        groupOf: ([first]) => (first === undefined ? '' : tenantOf(first)),
        isOfOneGroup: true,
        observer: observerOf(verb),
      },
      // A list that waited for another one finds out by its statement which of its changes are overtaken.
      claimsOf && { of: (changes) => changes.flatMap(claimsOf), wins: () => false, lost: [] },
    )
    return async (changes) => {
      try {
        return await recordLists(changes)
      } catch (error) {
        if (isUnavailable(error)) return changes.map(() => error)
        return settledEach(changes, recordAlone)
      }
    }
  },
})
