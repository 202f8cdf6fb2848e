import { unavailable } from './connect.ts'

/**
 * What PostgreSQL was asked outside of `ask`, which has limits of its own; refuses `unavailable` past the time. The driver
 * tries for ever to reach what is not there, or what takes its connections and drops them.
 */
export const inTime = <Answer>(asked: PromiseLike<Answer>, msMax: number): Promise<Answer> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable('The database did not answer in time.')), msMax)
  })
  return Promise.race([asked, late]).finally(() => clearTimeout(timer))
}
