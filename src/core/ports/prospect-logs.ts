import type { ProspectLog } from '../../shapes/prospect-log.ts'
import type { ProspectKey } from './prospects.ts'
import type { RowsQuery, Scanned, Timestamp } from './world.ts'

/** A logged activity as callers see it. Its payload is its exact text. */
export type StoredLog = Readonly<ProspectLog>
/** Identifies one log. */
export type ProspectLogKey = Pick<StoredLog, 'tenantId' | 'prospectLogId'>
type Filter = { readonly source: string | null; readonly type: string | null }
/** The slice of a tenant's logs to read. With a source and an idempotency key: the logs whose keys have this text. */
export type ProspectLogsQuery = RowsQuery &
  Filter & { readonly fromId: string | null; readonly idempotencyKey: string | null }
/** A position in a timeline, which is ordered by time, then by id. */
export type TimelinePosition = Pick<StoredLog, 'occurredAt' | 'prospectLogId'>
/** The slice of a prospect's timeline to read: from a time on, and before a position in it. */
export type TimelineRowsQuery = ProspectKey &
  Filter & {
    readonly since: Timestamp | null
    readonly before: TimelinePosition | null
    readonly limit: number
  }
/** A slice of a timeline, or why there is none. */
export type FoundTimeline = TimelineSlice | 'prospect_not_found' | 'prospect_erased'
/** A slice of the logs of one prospect, and whether there are others of the same person. */
export type TimelineSlice = Scanned<StoredLog> & {
  /** The prospect that this one was merged into. */
  readonly mergedInto: string | null
  /** The ids of the prospects merged into this one whose logs have not all moved. */
  readonly unmoved: readonly string[]
}
/** The logs of a tenant whose ids lie between these two. */
export type OldestLogsQuery = Pick<RowsQuery, 'tenantId' | 'limit'> & {
  readonly afterId: string
  readonly beforeId: string
}
/**
 * The part of a store that shows logged activities. As in `RowsQuery`, each list has one row more than its limit.
 */
export type ProspectLogs = {
  /** The log or null. */
  find(key: ProspectLogKey): Promise<StoredLog | null>
  /** Logs, newest first by id. Resumes before an id. */
  list(query: ProspectLogsQuery): Promise<Scanned<StoredLog>>
  /** Logs, newest first by `occurredAt`, then by id. Resumes before a time. */
  timeline(query: TimelineRowsQuery): Promise<FoundTimeline>
  /**
   * The oldest of those logs, oldest first: at most `limit`, or fewer if the texts of all but the last of them exceed a
   * slice; none only if there are none.
   */
  listOldest(query: OldestLogsQuery): Promise<readonly StoredLog[]>
}
