import { writeJson } from '../../json/write-json.ts'
import { countThatFit } from '../engine/outcome.ts'
import { SLICE_BYTES_MAX } from '../engine/slices.ts'
import type { FoundTimeline, StoredLog, TimelineWant } from '../ports/prospect-logs.ts'
import type { Scanned } from '../ports/world.ts'

/**
 * Reads a slice of a survivor's timeline while logs are still moving to it. The prospects merged into it are read first
 * and the survivor last, so a log that moves in between is found twice, which is harmless, and never missed.
 */
export const gatherTimeline = async (
  read: (want: TimelineWant) => Promise<FoundTimeline>,
  want: TimelineWant,
  found: FoundTimeline,
): Promise<FoundTimeline> => {
  if (isComplete(found)) return found
  const seen = new Set<string>()
  let part: Part = { rows: [], end: '' }
  for (;;) {
    if (typeof found === 'string') return found
    const { mergedInto, unmoved } = found
    const unread = mergedInto === null ? (unmoved?.split(' ') ?? []).filter((id) => !seen.has(id)) : []
    if (mergedInto !== null) want = { ...want, prospectId: mergedInto }
    else if (unread.length === 0) {
      const { rows, end } = joined(part, found, want.limit)
      // The next slice shows a row at the end.
      return {
        ...found,
        rows,
        resume: rows.length > want.limit || end === '' ? null : (end.split(' ')[0] ?? ''),
      }
    }
    for (const prospectId of unread) {
      const moving = await read({ ...want, prospectId })
      if (typeof moving === 'object') part = joined(part, moving, want.limit)
      seen.add(prospectId)
    }
    found = await read(want)
  }
}

/** Whether the timeline is complete: the prospect was not merged, and no logs are still moving to it. */
const isComplete = (found: FoundTimeline): boolean =>
  typeof found === 'string' || (found.mergedInto === null && found.unmoved === null)

/** Rows, newest first. Anything before `end` is unknown. */
type Part = { readonly rows: readonly StoredLog[]; readonly end: string }

const placeOf = ({ occurredAt, prospectLogId }: StoredLog): string => `${occurredAt} ${prospectLogId}`

const joined = (part: Part, { rows, resume }: Scanned<StoredLog>, limit: number): Part => {
  const more = upToSlice({ rows, end: resume === null ? '' : `${resume} ` }, limit)
  const end = part.end > more.end ? part.end : more.end
  const logs = new Map([...part.rows, ...more.rows].map((row) => [row.prospectLogId, row]))
  const known = [...logs.values()].filter((row) => placeOf(row) >= end)
  return upToSlice({ rows: known.sort((a, b) => (placeOf(a) < placeOf(b) ? 1 : -1)), end }, limit)
}

/** Cuts the rows to one more than fits into a slice, if there are that many. */
const upToSlice = ({ rows, end }: Part, limit: number): Part => {
  const bytesOf = (row: StoredLog) => Buffer.byteLength(writeJson(row)) + 1
  const fitting = Math.min(limit, countThatFit(rows, bytesOf, SLICE_BYTES_MAX))
  const last = rows[fitting]
  return last === undefined ? { rows, end } : { rows: rows.slice(0, fitting + 1), end: placeOf(last) }
}
