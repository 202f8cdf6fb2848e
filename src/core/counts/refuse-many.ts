import { COUNTS_MAX } from '../../shapes/prospect-log-count.ts'
import { refuse } from '../engine/failures.ts'

/** Length of an answer as JSON. */
export const CHARACTERS_MAX = 4_194_304

export const refuseMany = (many: string) =>
  refuse('invalid_request', `There are ${many} in this time. Ask for a shorter one, or by day.`, {
    errors: [{ detail: `must be later: at most ${COUNTS_MAX} counts are returned`, parameter: 'since' }],
  })
