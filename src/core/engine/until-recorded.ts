import { setTimeout } from 'node:timers/promises'
import type { Timestamp } from '../ports/world.ts'
import { gaveUp, ROUNDS_MAX } from './decide-and-save.ts'
import { isoTime } from './times.ts'

/** Retries a single write, which returns `overtaken` if another writer was faster. */
export const untilRecorded = async <Answer>(write: () => Promise<Answer | 'overtaken'>): Promise<Answer> => {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const answer = await write()
    if (answer !== 'overtaken') return answer
    // Random pauses, so that writers of the same row do not keep overtaking each other.
    await setTimeout(Math.random() * 2 ** round)
  }
  throw gaveUp()
}

/** Now, or just after the last change: the time of its last change shows whether a row is unchanged. */
export const laterThan = (last: Timestamp, now: Timestamp): Timestamp =>
  last < now ? now : isoTime(Date.parse(last) + 1)
