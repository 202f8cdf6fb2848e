import { settledEach } from '../engine/outcome.ts'
import type { Effect } from '../engine/prospects-in-waves.ts'
import { type Batch, runInWaves } from '../engine/run-in-waves.ts'
import type { Needs } from '../ports/store.ts'
import { type CreatedProspect, createProspect, type ProspectCreation } from './create-prospect.ts'
import { fillsOf, overwritesAny } from './fills.ts'
import { identifierTexts, normalizedTexts } from './identifiers.ts'

/**
 * Creates or finds prospects of one tenant in order: each finds those that the ones before it created. Returns the answer or
 * the error of each. After `unavailable` the rest is not tried, and gets the same error. A repeated batch finds everyone,
 * fills nothing, and has the same answers, but for `created`.
 */
export const createProspects = (deps: Needs<'activities' | 'prospects'>) => {
  const create = createProspect(deps)
  const runEach = (prospects: readonly ProspectCreation[]) => settledEach(prospects, create)
  return <Input>({
    inputs,
    prepare,
    weightOf,
    beforeList,
  }: Batch<Input, ProspectCreation>): Promise<readonly (CreatedProspect | Error)[]> =>
    runInWaves(inputs, { prepare, weightOf, beforeList, effectOf, runEach })
}

const effectOf = (prospect: ProspectCreation): Effect => ({
  identifiers: identifierTexts(normalizedTexts(prospect)),
  fills: fillsOf(prospect),
  overwrites: overwritesAny(prospect),
})
