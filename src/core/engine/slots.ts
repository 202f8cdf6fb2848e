import { refuse } from './failures.ts'

/**
 * The lowest number from 1 that none of a tenant's resources of a kind has. The store keeps these numbers unique, so that a
 * tenant never has more than `max` of them. Refuses `limit_reached`.
 */
export const freeSlot = (taken: readonly (number | null)[], max: number, resources: string): number => {
  for (let slot = 1; slot <= max; slot++) if (!taken.includes(slot)) return slot
  return refuse('limit_reached', `A tenant has at most ${max} ${resources}.`)
}
