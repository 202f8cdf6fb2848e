import type { FoundProspect, Prospects, ProspectWant } from '../ports/prospects.ts'

type Merged = Pick<FoundProspect, 'tenantId' | 'mergedInto'>
const survivorOf = ({ tenantId, mergedInto }: Merged): ProspectWant[] =>
  mergedInto === null ? [] : [{ tenantId, prospectId: mergedInto }]

type Found = readonly (FoundProspect | null)[]
/** The found prospects, merged ones replaced by their survivors. */
export const survivorsOf = async (prospects: Pick<Prospects, 'find'>, found: Found): Promise<Found> => {
  const wants = found.flatMap((prospect) => (prospect === null ? [] : survivorOf(prospect)))
  if (wants.length === 0) return found
  const survivors = (await survivorsOf(prospects, await prospects.find(wants))).values()
  return found.map((prospect) => (prospect?.mergedInto ? (survivors.next().value ?? null) : prospect))
}

/** `find` which returns survivors for prospects that were merged. */
export const findSurvivors = async (prospects: Pick<Prospects, 'find'>, wants: readonly ProspectWant[]) =>
  survivorsOf(prospects, await prospects.find(wants))
