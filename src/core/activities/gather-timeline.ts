import { writeJson } from '../../json/write-json.ts'
import { countThatFit } from '../engine/count-that-fit.ts'
import { SLICE_BYTES_MAX } from '../engine/slices.ts'
import type { FoundTimeline, StoredLog, TimelinePosition, TimelineRowsQuery } from '../ports/prospect-logs.ts'
import type { Scanned } from '../ports/world.ts'

type Read = (query: TimelineRowsQuery) => Promise<FoundTimeline>

/**
 * Reads a slice of a timeline; for a merged prospect, that of its survivor. While logs are still moving to the survivor,
 * the prospects merged into it are read first and the survivor last, so a log that moves in between is found twice,
 * which is harmless, and never missed.
 */
export const gatherTimeline = async (read: Read, query: TimelineRowsQuery): Promise<FoundTimeline> => {
  const seen = new Set<string>()
  let survivorId = query.prospectId
  let moving: Part = { rows: [], end: null }
  for (;;) {
    const found = await read({ ...query, prospectId: survivorId })
    if (typeof found === 'string') return found
    const unread = found.unmoved.filter((prospectId) => !seen.has(prospectId))
    if (found.mergedInto !== null) {
      survivorId = found.mergedInto
    } else if (unread.length > 0) {
      moving = await readAll(read, query, unread, moving)
      for (const prospectId of unread) seen.add(prospectId)
    } else {
      return seen.size === 0
        ? found
        : { ...found, ...sliceIn(merge(moving, found, query.limit), query.limit) }
    }
  }
}

/** Adds the timelines of these prospects, one after the other: each may be as large as a slice. */
const readAll = async (
  read: Read,
  query: TimelineRowsQuery,
  prospectIds: readonly string[],
  before: Part,
): Promise<Part> => {
  let part = before
  for (const prospectId of prospectIds) {
    const found = await read({ ...query, prospectId })
    if (typeof found !== 'string') part = merge(part, found, query.limit)
  }
  return part
}

/** The beginning of a timeline: rows, newest first. Rows older than `end` have not been read; null: there are none. */
type Part = { readonly rows: readonly StoredLog[]; readonly end: TimelinePosition | null }

/** The part of a timeline that both know. */
const merge = (part: Part, { rows, resume }: Scanned<StoredLog>, limit: number): Part => {
  const added = cut({ rows, end: resume === null ? null : { occurredAt: resume, prospectLogId: '' } }, limit)
  const end = laterEnd(part.end, added.end)
  const logs = new Map<string, StoredLog>()
  for (const row of part.rows) logs.set(row.prospectLogId, row)
  for (const row of added.rows) logs.set(row.prospectLogId, row)
  const known = [...logs.values()].filter((row) => end === null || compare(row, end) >= 0)
  return cut({ rows: known.sort((a, b) => compare(b, a)), end }, limit)
}

/** Cuts the rows to one more than fits into a slice, if there are that many. */
const cut = ({ rows, end }: Part, limit: number): Part => {
  const bytesOf = (row: StoredLog) => Buffer.byteLength(writeJson(row)) + 1
  const fitting = Math.min(limit, countThatFit(rows, bytesOf, SLICE_BYTES_MAX))
  const last = rows[fitting]
  return last === undefined ? { rows, end } : { rows: rows.slice(0, fitting + 1), end: last }
}

/** A slice without `resume` if it has a row more than its limit: the next slice begins there. */
const sliceIn = ({ rows, end }: Part, limit: number): Scanned<StoredLog> => ({
  rows,
  resume: end === null || rows.length > limit ? null : end.occurredAt,
})

const laterEnd = (a: Part['end'], b: Part['end']): Part['end'] => {
  if (a === null || b === null) return a ?? b
  return compare(a, b) > 0 ? a : b
}

/** Positive if the first position is the later one. */
const compare = (a: TimelinePosition, b: TimelinePosition): number => {
  if (a.occurredAt !== b.occurredAt) return a.occurredAt > b.occurredAt ? 1 : -1
  if (a.prospectLogId === b.prospectLogId) return 0
  return a.prospectLogId > b.prospectLogId ? 1 : -1
}
