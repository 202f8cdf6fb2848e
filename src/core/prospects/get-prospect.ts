import type { Prospect } from '../../shapes/prospect.ts'
import { prospectErased, prospectNotFound } from '../engine/failures.ts'
import { attemptEach, type Outcome } from '../engine/outcome.ts'
import type { FoundProspect, ProspectWant } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import { findSurvivors } from './survivors.ts'

/** Reads prospects, many at once; those that were merged as their survivors. Refuses, per prospect: `prospect_not_found`, `prospect_erased`. */
export const getProspects =
  ({ store }: Pick<Needs<'prospects'>, 'store'>) =>
  async (wants: readonly ProspectWant[]): Promise<readonly Outcome<Prospect>[]> =>
    attemptEach(await findSurvivors(store.prospects, wants), shownProspect)

export const shownProspect = (found: FoundProspect | null | undefined): Prospect => {
  if (!found) return prospectNotFound()
  return found.erasedAt === null ? prospectOf(found) : prospectErased()
}

export const prospectOf = (prospect: FoundProspect): Prospect => ({
  prospectId: prospect.prospectId,
  tenantId: prospect.tenantId,
  email: prospect.email,
  externalId: prospect.externalId,
  name: prospect.name,
  createdAt: prospect.createdAt,
  updatedAt: prospect.updatedAt,
})
