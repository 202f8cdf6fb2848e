import { setTimeout } from 'node:timers/promises'
import { gaveUp, ROUNDS_MAX } from './decide-and-save.ts'

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
