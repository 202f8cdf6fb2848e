import type { FoundProspect, ProspectKey, Prospects } from '../ports/prospects.ts'

/** The prospect, or the survivor of a merged one. */
export const survivorOf = async (
  prospects: Pick<Prospects, 'find'>,
  found: FoundProspect | null,
): Promise<FoundProspect | null> => {
  if (!found?.mergedInto) return found
  return findSurvivor(prospects, { tenantId: found.tenantId, prospectId: found.mergedInto })
}

/** `find` which returns the survivor of a merged prospect. */
export const findSurvivor = async (
  prospects: Pick<Prospects, 'find'>,
  key: ProspectKey,
): Promise<FoundProspect | null> => survivorOf(prospects, await prospects.find(key))
