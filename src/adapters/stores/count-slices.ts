import type { Counts, LogCount, LogCounts } from '../../core/ports/counts.ts'

type Lookup = Parameters<Counts['list']>[0]

/** The count to start from along the index: after this place, and from the beginning of its hour or day. */
export const placeOf = ({ since, after }: Lookup) => {
  const { at = since, source = '', type = '' } = after ?? {}
  return { at, afterSource: source, afterType: type, isFirst: after === null }
}

/** Counts that match, and the count at place `limit`, matching or not, where the scan ended. */
export const matchingCounts = (
  found: readonly (LogCount & { readonly place: number })[],
  { source, type, limit }: Lookup,
): LogCounts => {
  const counts = found.map(({ place, ...count }) => count)
  const matches = (count: LogCount) =>
    count.source === (source ?? count.source) && count.type === (type ?? count.type)
  const rows = counts.filter(matches)
  if (found.at(-1)?.place !== limit) return { rows, resume: null }
  return { rows, resume: counts.at(-1) ?? null }
}
