import { unavailable } from '../../core/engine/failures.ts'

export const NO_ANSWER_IN_TIME = 'The database did not answer in time.'

/**
 * Refuses `unavailable` if PostgreSQL has not answered in time. The driver itself retries for ever when an address does
 * not exist, or accepts connections and drops them.
 */
export const withTimeout = async <Answer>(asked: PromiseLike<Answer>, msMax: number): Promise<Answer> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable(NO_ANSWER_IN_TIME)), msMax)
  })
  try {
    return await Promise.race([asked, late])
  } finally {
    clearTimeout(timer)
  }
}
