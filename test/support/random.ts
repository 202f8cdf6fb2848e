import type { Test } from 'tap'
import { type Random, randomBy } from '../store-contract/random.ts'

export * from '../store-contract/random.ts'

/** How often a fault is repeated: `FAULTS_TIMES` as often as usual, more for a night and less beside other tests. */
export const timesOf = (usual: number): number => Math.round(usual * Number(process.env['FAULTS_TIMES'] ?? 1))

/** The chance of a fault test. `FAULTS_SEED`, which it prints, repeats a run. */
export const faultsRandom = (t: Pick<Test, 'comment'>): Random => {
  const seed = Number(process.env['FAULTS_SEED'] ?? Date.now() % 1_000_000)
  t.comment(`FAULTS_SEED=${seed}`)
  return randomBy(seed)
}
