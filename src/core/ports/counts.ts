import type { ProspectCount, ProspectDay } from './prospect-counts.ts'
import type { Recorded, Timestamp } from './world.ts'

/** The units of counting: whole hours and whole days, in UTC. */
export type CountUnit = 'hour' | 'day'
/** How many logs of a source and a type arrived in an hour or a day. Both are empty for the rest: see `PAIRS_MAX`. */
export type LogCount = {
  readonly unit: CountUnit
  /** When it begins, in UTC. */
  readonly at: Timestamp
  readonly source: string
  readonly type: string
  readonly count: number
  /** How many of them created their prospect. */
  readonly newProspects: number
}
/** Counts in order, and where to go on if there may be more. */
export type LogCounts = { readonly rows: readonly LogCount[]; readonly resume: LogCount | null }
/** How far the logs of a tenant are counted. */
export type CountedTenant = {
  /** Logs up to here are counted: an id, or the beginning of one; empty before the first. */
  readonly position: string
  /** Only logs after this id are recorded: see `close`. At least the position. */
  readonly closedTo: string
  /** When the counts were last read, to the day. */
  readonly readAt: Timestamp
  /** The first log after the position. */
  readonly nextId: string | null
}
/** Usage of an API key, or of a hook under its id: requests, logged activities, bytes of bodies. */
export type Used = Record<'requests' | 'activities' | 'bytes', number> &
  Readonly<Record<'tenantId' | 'apiKeyId', string>>
/** `since`: the oldest minute of all that were summed. */
export type UsageSum = Used & { readonly since: Timestamp }
/** How far the position of a tenant moves. */
type Moved = { readonly tenantId: string; readonly from: string; readonly to: string }
/** Counts to add, by source and type and by prospects. The days of prospects that were erased since are left out. */
type Added = {
  readonly removeFrom: null
  readonly add: readonly LogCount[]
  readonly addProspects: readonly ProspectCount[]
  readonly addDays: readonly ProspectDay[]
}
/** The part of a store that counts logs, for tenants whose counts are read, and the usage of API keys. */
export type Counts = {
  /** Begins or resumes counting for a tenant. */
  markRead(tenantId: string, readAt: Timestamp): Promise<void>
  find(tenantId: string): Promise<CountedTenant | null>
  /**
   * Tenants whose counts were read since a time and that have logs to count before one id, or are closed beyond the
   * other: at most `max`, the first after this one.
   */
  waiting(query: {
    readonly afterTenantId: string
    readonly readSince: Timestamp
    readonly beforeId: string
    readonly beyondId: string
    readonly max: number
  }): Promise<readonly string[]>
  /**
   * Closes a tenant up to an id: writes that begin from now on record only logs after it. Returns whether it is closed:
   * not if this time is yet to come by the clock of the database.
   */
  close(tenantId: string, to: string, time: Timestamp): Promise<boolean>
  /** Counts the first `max` logs after one id and before another by source and type. `lastId`: the last one counted. */
  tally(query: {
    readonly tenantId: string
    readonly afterId: string
    readonly beforeId: string
    readonly max: number
  }): Promise<
    readonly (Pick<LogCount, 'source' | 'type' | 'count' | 'newProspects'> & { readonly lastId: string })[]
  >
  /**
   * Adds to the counts of a tenant, or removes those from `removeFrom` on, the beginning of a day, and moves its position;
   * overtaken if that is no longer `from`. With `removeFrom` it is closed only up to the new position again.
   */
  record(change: Moved & (Added | { readonly removeFrom: Timestamp })): Promise<Recorded>
  /**
   * Counts from one time up to another, oldest first, of a source and a type unless they are null. Reads no more than
   * `limit`, the first ones after a count. `resume`: the last one it read, if there may be more.
   */
  list(query: {
    readonly tenantId: string
    readonly unit: CountUnit
    readonly since: Timestamp
    readonly until: Timestamp
    readonly source: string | null
    readonly type: string | null
    readonly after: LogCount | null
    readonly limit: number
  }): Promise<LogCounts>
  /** Adds usage to a minute, each key once, and removes at most `max` minutes before one or after another. */
  addUsage(
    at: Timestamp,
    used: readonly Used[],
    remove: { readonly before: Timestamp; readonly after: Timestamp; readonly max: number },
  ): Promise<void>
  /** Sums the newest `rowsMax` rows from a time on by key, most requests first: for one tenant, or for all. */
  sumUsage(query: {
    readonly tenantId: string | null
    readonly since: Timestamp
    readonly rowsMax: number
    readonly limit: number
  }): Promise<readonly UsageSum[]>
}
