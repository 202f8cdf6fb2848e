/** A time as ISO 8601 in UTC with milliseconds: `2026-01-31T12:00:00.000Z`. */
export type Timestamp = string
/** Milliseconds since 1970. Asked once per use case. */
export type Clock = () => number
/** The prefix of an id, which shows its kind. */
export type IdPrefix =
  | 'prospect'
  | 'prospectlog'
  | 'pagegroup'
  | 'page'
  | 'pageversion'
  | 'tenant'
  | 'brand'
  | 'apikey'
  | 'erasure'
  | 'merge'
  | 'event'
  | 'webhookendpoint'
  | 'hook'
/** A new id, greater than every one made before in this process, and than `after`. */
export type NewId = (prefix: IdPrefix, after?: string) => string
/**
 * Call it before each piece of work that may take milliseconds: returns undefined if the work may begin at once, else a
 * promise of the tenant's turn. Within a tenant, work that `wasBegun` goes first.
 */
export type ShareLoop = (tenantId: string, wasBegun?: boolean) => Promise<void> | undefined
/** A moment of a store, in its own form: see `moments`. */
export type Moment = string
/** Whether a change was saved; nothing of it was if another writer was faster. */
export type Recorded = 'recorded' | 'overtaken'
/**
 * The newest rows older than `beforeId`: one more than `limit`, to show that more follow, or fewer if the texts of all
 * but the last of them already fill a slice.
 */
export type RowsQuery = {
  readonly tenantId: string
  readonly beforeId: string | null
  readonly limit: number
}
/** Rows that match a filter. `resume`: where the list goes on, if it stopped after looking at 10,000 rows. */
export type Scanned<Row> = { readonly rows: readonly Row[]; readonly resume: string | null }
/** The number of pending items, up to a bound, and when the oldest counted one was created. */
export type Backlog = { readonly count: number; readonly oldest: Timestamp | null }
/** When the database was last served, and since when deletion of expired rows is paused, if it is. */
export type Served = { readonly servedAt: Timestamp; readonly pausedAt: Timestamp | null }
