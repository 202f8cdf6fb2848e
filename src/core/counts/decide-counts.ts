import { keyOf } from '../engine/keys.ts'
import type { CountUnit, LogCount } from '../ports/counts.ts'

/** Pairs of source and type counted separately in an hour or a day. Others are counted as the rest. */
export const PAIRS_MAX = 1_000

/** The amounts to add to the counts of an hour or a day that are known so far. */
export const decideCounts = (
  unit: CountUnit,
  at: string,
  known: readonly LogCount[],
  tallied: readonly Pick<LogCount, 'source' | 'type' | 'count' | 'newProspects'>[],
): LogCount[] => {
  const pairOf = ({ source, type }: Pick<LogCount, 'source' | 'type'>) => keyOf(source, type)
  const pairs = new Set(known.filter(({ source }) => source !== '').map(pairOf))
  const rest = { count: 0, newProspects: 0 }
  const add: LogCount[] = []
  for (const { source, type, count, newProspects } of tallied) {
    const pair = pairOf({ source, type })
    if (!pairs.has(pair) && pairs.size === PAIRS_MAX) {
      rest.count += count
      rest.newProspects += newProspects
    } else add.push({ unit, at, source, type, count, newProspects })
    if (pairs.size < PAIRS_MAX) pairs.add(pair)
  }
  return rest.count === 0 ? add : [...add, { unit, at, source: '', type: '', ...rest }]
}
