import type { NewLog } from './activities.ts'

/** A logged activity as callers see it. Its payload is its exact text. */
export type StoredLog = Omit<NewLog, 'requestHash'>
/** The logs of a tenant whose ids lie between these two. */
export type OldestLogsWant = {
  readonly tenantId: string
  readonly afterId: string
  readonly beforeId: string
  readonly limit: number
}
/** The part of a store that reads logged activities. */
export type ProspectLogs = {
  /**
   * The oldest of those logs, oldest first: at most `limit`, or fewer if the texts of all but the last of them are larger
   * than a slice; none only if there are none.
   */
  listOldest(want: OldestLogsWant): Promise<readonly StoredLog[]>
}
