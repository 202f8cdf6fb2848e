import type { Counts, LogCount, LogCounts } from '../../core/ports/counts.ts'

type Want = Parameters<Counts['list']>[0]

/** From which count on to look: after this place, and from the beginning of its hour or day, along the index. */
export const placeOf = ({ since, after }: Want) => {
  const { at = since, source = '', type = '' } = after ?? {}
  return { at, afterSource: source, afterType: type, isFirst: after === null }
}

/** Counts that match, and the one at the place `limit`, matching or not: there looking ended. */
export const lookedAt = (
  found: readonly (LogCount & { readonly place: number })[],
  { source, type, limit }: Want,
): LogCounts => {
  const all = found.map(({ place, ...count }) => count)
  const matches = (count: LogCount) =>
    count.source === (source ?? count.source) && count.type === (type ?? count.type)
  return { rows: all.filter(matches), resume: (found.at(-1)?.place === limit && all.at(-1)) || null }
}
