import { shareLoop } from '../loop-share.ts'
import { createRoom, noRoom, type Slot } from './admission-room.ts'
import { createTurns } from './admission-turns.ts'
import type { LogFields } from './requests.ts'

export type { Slot } from './admission-room.ts'

type Limits = Parameters<typeof createRoom>[0] & Parameters<typeof createTurns>[0]

/**
 * The one place that decides which requests may come in and which must wait. A tenant alone may use nearly all of the room.
 * Among tenants that compete, the one with the fewest requests in progress begins the next. When room runs out, the tenant
 * that holds most loses a request that still waits. A tenant that holds less than its equal part is therefore not refused
 * for the load of others.
 *
 * Bodies of requests in progress cannot be dropped, and take at most half of `bodyBytesMax`. So all bodies together take
 * at most one and a half times `bodyBytesMax`: the equal parts, and bodies beyond them whose requests are in progress.
 *
 * Large answers that are being made take at most half of `bodyBytesMax`, too. Their size is not known before they are
 * made, so each counts as the largest that it may be, and takes its turn before anything is read for it. Equal requests
 * share an answer, which counts once. So everything in flight takes at most twice `bodyBytesMax`. `UNSENT_BYTES_MAX`
 * bounds what callers have not read yet.
 */
export const createAdmission = (limits: Limits) => {
  const remove = (slot: Slot): void => {
    turns.leave(slot)
    room.leave(slot)
    slot.state = 'gone'
  }
  const drop = (slot: Slot, why: string): void => {
    remove(slot)
    slot.onDropped(noRoom(why))
  }
  const room = createRoom(limits, drop)
  const turns = createTurns(limits, room, drop)
  const { arrive, reenter, hold } = room
  const { turn, weigh } = turns

  return {
    arrive,
    reenter,
    hold,
    turn,
    weigh,

    /** The body once it is read. Rejects with `unavailable` when the room is needed for another tenant. */
    reading: <Body>(slot: Slot, body: Promise<Body>): Promise<Body> =>
      new Promise((resolve, reject) => {
        room.markReading(slot, reject)
        body.then(resolve, reject)
      }),

    /** The turn for the next items of a batch in progress. Until then it waits like any request. */
    nextTurn: (slot: Slot, items: number): Promise<void> | undefined => {
      turns.requeue(slot, items)
      return turn(slot)
    },

    /** Marks an answer as waiting for its reader. Calls `onDropped` when the room is needed for another tenant. */
    pause: (slot: Slot, onDropped: () => void): void => {
      room.markReading(slot, onDropped)
      turns.requeue(slot, 1)
    },

    leave: (slot: Slot): void => {
      if (slot.state !== 'gone') remove(slot)
      turns.beginNext()
    },
  }
}
export type Admission = ReturnType<typeof createAdmission>

/** Shorter waits for the event loop are not logged as delays: an idle service has them, too. */
const LOOP_WAIT_MS_MIN = 100

/**
 * Waits for the turn of a request in the admission, and then for the event loop. Undefined if it may run at once. Notes in
 * the log whether it was delayed.
 */
export const turnToRun = (
  { turn }: Pick<Admission, 'turn'>,
  slot: Slot,
  logFields: LogFields,
): Promise<void> | undefined => {
  const waitForLoop = (): Promise<void> | undefined => {
    const loop = shareLoop(slot.tenant.id)
    if (loop === undefined) return undefined
    const beganMs = performance.now()
    return loop.then(() => {
      if (performance.now() - beganMs >= LOOP_WAIT_MS_MIN) logFields.admission = 'waited'
    })
  }
  const admitted = turn(slot)
  if (admitted === undefined) return waitForLoop()
  logFields.admission = 'waited'
  return admitted.then(waitForLoop)
}
