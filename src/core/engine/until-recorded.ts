import { gaveUp, ROUNDS_MAX } from './decide-and-save.ts'

/** Repeats a write of one thing until it is recorded. It returns `overtaken` if another writer was faster. */
export const untilRecorded = async <Answer>(write: () => Promise<Answer | 'overtaken'>): Promise<Answer> => {
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const answer = await write()
    if (answer !== 'overtaken') return answer
  }
  return gaveUp()
}
