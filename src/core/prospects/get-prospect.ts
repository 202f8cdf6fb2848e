import type { Prospect } from '../../shapes/prospect.ts'
import { prospectErased, prospectNotFound } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import type { FoundProspect, ProspectKey } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import { findSurvivor } from './survivors.ts'

/** Reads a prospect; a merged one as its survivor. Refuses `prospect_not_found`, `prospect_erased`. */
export const getProspect =
  ({ store }: Pick<Needs<'prospects'>, 'store'>) =>
  async (key: ProspectKey): Promise<Result<Prospect>> => ({
    value: shownProspect(await findSurvivor(store.prospects, key)),
  })

export const shownProspect = (found: FoundProspect | null): Prospect => prospectOf(livingProspect(found))

/** Refuses `prospect_not_found`, `prospect_erased`. */
export const livingProspect = (found: FoundProspect | null): FoundProspect => {
  if (!found) return prospectNotFound()
  return found.erasedAt === null ? found : prospectErased()
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
