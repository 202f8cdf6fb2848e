import type { Case, CaseName } from './cases.ts'
import type { Contestant } from './contestants/contestant.ts'
import type { Force, Sample } from './load.ts'

export type Age = 'fresh' | 'aged'
/** One contestant in one case with so many callers: medians of the rounds. */
export type Cell = {
  readonly contestant: string
  readonly case: CaseName
  readonly callers: number
  readonly age: Age
  readonly rate: number
  /** The spread of the rate: greatest less smallest, by the median. */
  readonly spread: number
  readonly meanMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuUs: number | null
  readonly settleMs: number | null
  /** Requests of all rounds that failed. */
  readonly failed: number
  readonly rates: readonly number[]
}
type Plan = {
  readonly age: Age
  readonly callers: readonly number[]
  readonly rounds: number
  readonly seconds: number
  /** Called before a case that writes, once for each number of callers. */
  readonly checkpoint: () => Promise<void>
  readonly tell: (line: string) => void
}

/** Measures running contestants in one case, alternating round by round, each time another one first. */
export const measureCase = async (
  one: Case,
  contestants: readonly Contestant[],
  { age, callers, rounds, seconds, checkpoint, tell }: Plan,
): Promise<Cell[]> => {
  const cells: Cell[] = []
  for (const count of callers) {
    const samples = new Map<Contestant, Sample[]>(contestants.map((contestant) => [contestant, []]))
    if (one.writes) await checkpoint()
    for (let round = 0; round < rounds; round++)
      for (const contestant of rotated(contestants, round))
        samples.get(contestant)?.push(await measured(contestant, one, { callers: count, seconds }))
    for (const [contestant, all] of samples) {
      const cell = cellOf(contestant.name, one.name, count, age, all)
      cells.push(cell)
      tell(`${one.name} ${age} ${count} × ${contestant.name}: ${Math.round(cell.rate)}/s`)
    }
  }
  return cells
}

/** Measures one running contestant in all cases, alternating round by round; what slows a minute slows every case. */
export const measureInTurn = async (
  cases: readonly Case[],
  contestant: Contestant,
  { age, callers, rounds, seconds, checkpoint, tell }: Omit<Plan, 'callers'> & { readonly callers: number },
): Promise<Cell[]> => {
  const samples = new Map<Case, Sample[]>(cases.map((one) => [one, []]))
  for (let round = 0; round < rounds; round++) {
    await checkpoint()
    for (const [one, all] of samples) all.push(await measured(contestant, one, { callers, seconds }))
  }
  return [...samples].map(([one, all]) => {
    const cell = cellOf(contestant.name, one.name, callers, age, all)
    tell(`${one.name} ${age} ${callers} × ${contestant.name}: ${Math.round(cell.rate)}/s`)
    return cell
  })
}

/**
 * So that a fresh process is measured compiled, with its connections open and every email active. With fewer callers for large
 * batches: 64,000 activities that wait at once may be more than the service lets wait.
 */
export const warmUp = async (one: Case, contestants: readonly Contestant[]): Promise<void> => {
  const callers = (one.items ?? 1) < 1_000 ? 64 : 16
  for (const contestant of contestants) await measured(contestant, one, { callers, seconds: 3 })
}

const measured = async (contestant: Contestant, one: Case, force: Force): Promise<Sample> => {
  try {
    const { items = 1 } = one
    // 64,000 activities at once take a rival longer than a round.
    const seconds = items < 1_000 ? force.seconds : 3 * force.seconds
    const { rate, cpuUs, ...sample } = await contestant.measure(one, { ...force, seconds })
    return { ...sample, rate: rate * items, ...(cpuUs !== undefined && { cpuUs: cpuUs / items }) }
  } catch (cause) {
    throw new Error(`${contestant.name}, ${one.title}, ${force.callers} callers`, { cause })
  }
}

export const rotated = <One>(all: readonly One[], by: number): One[] => {
  const first = by % all.length
  return [...all.slice(first), ...all.slice(0, first)]
}

const cellOf = (
  contestant: string,
  name: CaseName,
  callers: number,
  age: Age,
  samples: readonly Sample[],
): Cell => {
  const rates = samples.map((sample) => sample.rate)
  const rate = median(rates)
  return {
    contestant,
    case: name,
    callers,
    age,
    rate,
    spread: (Math.max(...rates) - Math.min(...rates)) / rate,
    meanMs: median(samples.map((sample) => sample.meanMs)),
    p50Ms: median(samples.map((sample) => sample.p50Ms)),
    p99Ms: median(samples.map((sample) => sample.p99Ms)),
    cpuUs: medianOrNull(samples.map((sample) => sample.cpuUs)),
    settleMs: medianOrNull(samples.map((sample) => sample.settleMs)),
    failed: samples.reduce((failed, sample) => failed + sample.failed, 0),
    rates,
  }
}

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}
const medianOrNull = (values: readonly (number | undefined)[]): number | null => {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? null : median(known)
}
