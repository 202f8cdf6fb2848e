import { writeJson } from '../../json/write-json.ts'
import { DomainFailure } from '../engine/failures.ts'
import { countThatFit, type Outcome } from '../engine/outcome.ts'
import { SLICE_BYTES_MAX } from '../engine/slices.ts'
import type { FoundTimeline, StoredLog, TimelineWant } from '../ports/prospect-logs.ts'
import type { Scanned } from '../ports/world.ts'

type Found = Outcome<FoundTimeline>

/** Whether it is the whole timeline: neither was the prospect merged, nor are logs on their way to it. */
export const isWhole = (found: Found): boolean =>
  found instanceof DomainFailure ||
  typeof found === 'string' ||
  (found.mergedInto === null && found.unmoved === null)

/**
 * A slice of the timeline of a survivor, while logs are on their way to it. Those that were merged into it are read first
 * and it is read last: a log that moves meanwhile is found twice, which does no harm, and never missed.
 */
export const gatherTimeline = async (
  read: (want: TimelineWant) => Promise<Found>,
  want: TimelineWant,
  found: Found,
): Promise<Found> => {
  const seen = new Set<string>()
  let part: Part = { rows: [], end: '' }
  for (;;) {
    if (found instanceof DomainFailure || typeof found === 'string') return found
    const { mergedInto, unmoved } = found
    const unread = mergedInto === null ? (unmoved?.split(' ') ?? []).filter((id) => !seen.has(id)) : []
    if (mergedInto !== null) want = { ...want, prospectId: mergedInto }
    else if (unread.length === 0) {
      const { rows, end } = joined(part, found, want.limit)
      // A row at the end is shown by the next slice.
      return {
        ...found,
        rows,
        resume: rows.length > want.limit || end === '' ? null : (end.split(' ')[0] ?? ''),
      }
    }
    for (const prospectId of unread) {
      const moving = await read({ ...want, prospectId })
      if (moving instanceof DomainFailure) return moving
      if (typeof moving === 'object') part = joined(part, moving, want.limit)
      seen.add(prospectId)
    }
    found = await read(want)
  }
}

/** Newest first. What lies before its end is not known. */
type Part = { readonly rows: readonly StoredLog[]; readonly end: string }

const placeOf = ({ occurredAt, prospectLogId }: StoredLog): string => `${occurredAt} ${prospectLogId}`

const joined = (part: Part, { rows, resume }: Scanned<StoredLog>, limit: number): Part => {
  const more = upToSlice({ rows, end: resume === null ? '' : `${resume} ` }, limit)
  const end = part.end > more.end ? part.end : more.end
  const logs = new Map([...part.rows, ...more.rows].map((row) => [row.prospectLogId, row]))
  const known = [...logs.values()].filter((row) => placeOf(row) >= end)
  return upToSlice({ rows: known.sort((a, b) => (placeOf(a) < placeOf(b) ? 1 : -1)), end }, limit)
}

/** One row more than fits into a slice, if there is one. */
const upToSlice = ({ rows, end }: Part, limit: number): Part => {
  const bytesOf = (row: StoredLog) => Buffer.byteLength(writeJson(row)) + 1
  const fitting = Math.min(limit, countThatFit(rows, bytesOf, SLICE_BYTES_MAX))
  const last = rows[fitting]
  return last === undefined ? { rows, end } : { rows: rows.slice(0, fitting + 1), end: placeOf(last) }
}
