/** What the logs of prospects are counted by: the page that the payload names, or the source. */
export type CountedBy = 'page' | 'source'
/** A day in UTC, as the number of days since 1970. */
export type Day = number
/** A page by its id, or a source. */
type Place = { readonly kind: CountedBy; readonly name: string }

/** A payload with more bytes is not searched for a page. */
export const PAGE_PAYLOAD_BYTES_MAX = 65_536
/** How far back `lastDay` must reach. The days of a prospect are kept a little longer, in case the clock is set back. */
export const DAYS_BACK = 31
export const DAYS_KEPT = 40
/** `daysSince` if the prospect was there longer ago, or never. */
export const NOT_SINCE = DAYS_BACK + 1

/** How many logs of a day came from prospects that had last been there so many days before. */
export type ProspectCount = Place & {
  readonly day: Day
  /** 0: earlier on that day. */
  readonly daysSince: number
  readonly count: number
  /** How many of them created their prospect. */
  readonly newProspects: number
}
/** A prospect was there on this day. */
export type ProspectDay = Place & { readonly day: Day; readonly prospectId: string }
/** The logs of one prospect there. `lastDay`: the last day up to theirs on which it was there. */
export type ProspectTally = Place & {
  readonly prospectId: string
  readonly count: number
  readonly newProspects: number
  readonly lastDay: Day | null
}
/** What was counted on a day. An empty name stands for all names beyond `NAMES_MAX`, whose prospects are not counted. */
export type DayCount = {
  readonly day: Day
  readonly name: string
  readonly count: number
  readonly prospects: number
  readonly newProspects: number
}

/** The part of a store that counts prospects by page and by source. `counts.record` saves what was counted. */
export type ProspectCounts = {
  /**
   * The logs after one id and up to another, of one day, by source and by page: the member `pageId` at the top of the
   * payload, if the tenant has a page with this id. Without logs of erased prospects.
   */
  tally(query: {
    readonly tenantId: string
    readonly afterId: string
    readonly toId: string
    readonly day: Day
  }): Promise<readonly ProspectTally[]>
  /** The pages and sources that have counts on a day. */
  namesOn(tenantId: string, day: Day): Promise<readonly Place[]>
  /**
   * The counts of these days by day and name. A prospect counts on its first day since `firstDay`, or on each day if that
   * is null.
   */
  list(query: {
    readonly tenantId: string
    readonly kind: CountedBy
    readonly since: Day
    readonly until: Day
    readonly firstDay: Day | null
  }): Promise<readonly DayCount[]>
  /** Removes at most `max` days of an erased prospect, and returns how many. */
  removeOf(prospect: { readonly tenantId: string; readonly prospectId: string }, max: number): Promise<number>
  /**
   * Removes at most `max` days of prospects: those before `before`, and those more than `DAYS_KEPT` before the latest one of
   * the tenant. Returns whether there may be more.
   */
  expire(query: { readonly tenantId: string; readonly before: Day; readonly max: number }): Promise<boolean>
}
