import type { FoundProspect, Prospects, ProspectWant } from '../ports/prospects.ts'

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
  want: ProspectWant,
): Promise<FoundProspect | null> => survivorOf(prospects, await prospects.find(want))
