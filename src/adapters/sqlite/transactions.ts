import { setTimeout as pauseFor } from 'node:timers/promises'
import { obstacleOf } from '../../core/engine/obstacles.ts'
import { orNull } from '../../core/engine/or-null.ts'
import type { Recorded } from '../../core/ports/world.ts'
import {
  isBusy,
  isInputOrOutput,
  isOvertaken,
  OVERTAKEN,
  toDomainFailure,
  withMappedErrors,
} from './error-codes.ts'
import type { Statements } from './statements.ts'

/** A reader never waits for a writer, only for a process that recovers the file after a crash. */
export const READ_WAIT = 'pragma busy_timeout = 100'
const NO_WAIT = 'pragma busy_timeout = 0'
const AGAIN_MS = 5

/** Saves one change within a transaction. */
type Recorder<Change> = (change: Change) => Recorded

/** Transactions of one connection. All of their work is synchronous, so no other statement comes between. */
export const createTransactions = ({ run, changedRows }: Statements, busyMsMax: number) => {
  let wasRefused = false

  const transaction = <Answer>(work: () => Answer): Answer => {
    run(NO_WAIT)
    try {
      run('begin immediate')
      const answer = work()
      run('commit')
      return answer
    } catch (error) {
      // After a failed commit SQLite may already have rolled back.
      orNull(() => run('rollback'))
      throw error
    } finally {
      run(READ_WAIT)
    }
  }

  /**
   * One short transaction: all of `work` is on disk when this resolves, or nothing. It retries while another process
   * writes, without blocking the event loop. If the file is moved, the moved file gets all acknowledged writes, unless the
   * process is killed before the move is noticed: then the last writes are in the journal at the old place.
   */
  const write = async <Answer>(work: () => Answer): Promise<Answer> => {
    const giveUpAt = performance.now() + busyMsMax
    for (;;) {
      try {
        return transaction(work)
      } catch (error) {
        const failure = toDomainFailure(error)
        wasRefused ||= obstacleOf(failure) === 'takes_no_writes' || isInputOrOutput(error)
        if (!isBusy(error) || performance.now() >= giveUpAt) throw failure
      }
      await pauseFor(AGAIN_MS)
    }
  }

  /** Within `write`. A change that is overtaken after it changed rows ends the transaction, as overtaken. */
  const recordDirectly = <Change>(recorder: Recorder<Change>, change: Change): Recorded => {
    const before = changedRows()
    const recorded = recordedBy(recorder, change)
    if (recorded === 'overtaken' && changedRows() > before) throw OVERTAKEN
    return recorded
  }

  /** Within `write`. Undoes a change that is overtaken. A savepoint copies every page that is changed after it. */
  const recordInSavepoint = <Change>(recorder: Recorder<Change>, change: Change): Recorded => {
    run('savepoint work')
    const recorded = recordedBy(recorder, change)
    if (recorded === 'overtaken') run('rollback to work')
    run('release work')
    return recorded
  }

  return {
    write,

    /** Runs several reads as one, with no write of another process in between. */
    read: <Found>(work: () => Found): Found =>
      withMappedErrors(() => {
        run('begin')
        try {
          return work()
        } finally {
          run('commit')
        }
      }),

    /** Saves all of `work` and calls `saved`; or nothing if it returns `overtaken`, or another writer has taken a key. */
    record: async <Answer>(work: () => Answer, saved = () => {}): Promise<Answer | 'overtaken'> => {
      const workWhole = () => {
        const answer = work()
        if (answer === 'overtaken') throw OVERTAKEN
        return answer
      }
      const answer = await write(workWhole).catch(overtakenOrThrow)
      if (answer !== 'overtaken' && answer !== null) saved()
      return answer
    },

    /**
     * Saves each of these changes whole or not at all, in one transaction, by the function that `createRecorder` makes for
     * it. A change that is overtaken, or for which another writer has taken a key, leaves nothing. Mostly none of them has
     * changed a row before it is overtaken; if one has, the transaction is repeated with a savepoint for each.
     */
    // Not `async`: that costs every write one more promise.
    recordEach: <Change>(
      changes: readonly Change[],
      createRecorder: () => Recorder<Change>,
    ): Promise<Recorded[]> => {
      const recordAll = (record: typeof recordInSavepoint) => {
        const recorder = createRecorder()
        return changes.map((change) => record(recorder, change))
      }
      return write(() => recordAll(recordDirectly)).catch((error) => {
        if (!isOvertaken(error)) throw error
        return write(() => recordAll(recordInSavepoint))
      })
    },

    /** Whether the disk refused a write. A small one may pass again before a large one does, so only a probe ends this. */
    wasRefused: (): boolean => wasRefused,
    forgetRefusal: (): void => {
      wasRefused = false
    },
  }
}

const overtakenOrThrow = (error: unknown): 'overtaken' => {
  if (isOvertaken(error)) return 'overtaken'
  throw error
}

const recordedBy = <Change>(recorder: Recorder<Change>, change: Change): Recorded => {
  try {
    return recorder(change)
  } catch (error) {
    return overtakenOrThrow(error)
  }
}
