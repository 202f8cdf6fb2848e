import type { Erasure } from '../../shapes/erasure.ts'
import type { StoredProspect } from './activities.ts'
import type { NewEvent } from './events.ts'
import type { Identifier, StoredIdentifier } from './identifiers.ts'
import type { StoredLog } from './prospect-logs.ts'
import type { ClaimQuery } from './versions.ts'
import type { Backlog, Moment, Recorded, RowsQuery, Served, Timestamp } from './world.ts'

/** Where an erasure stands: two passes search logs, then it waits for `purgeDeleted`, and then for its completion. */
export const ERASURE_PASSES = { first: 1, second: 2, waitsForRewrite: 3, rewritten: 4 } as const
type ErasurePass = (typeof ERASURE_PASSES)[keyof typeof ERASURE_PASSES]

/** An erasure as callers see it. `blockedUntil`: when the last of the identifiers that it blocks is free again. */
export type StoredErasure = Readonly<Omit<Erasure, 'waitingFor'>> & {
  readonly tenantId: string
  /** The erasure that it is part of: that of the prospect into which its prospect was merged. */
  readonly partOf: string | null
  readonly pass: ErasurePass
  /** The second pass begins once this moment is past. */
  readonly settlesAfter: Moment | null
}
/** An erasure to add. The store fills `stillLeadsTo`. */
export type NewStoredErasure = Omit<StoredErasure, 'stillLeadsTo'>
/** Finds an erasure by its id or that of an erased prospect, or the one in `processing` of this prospect. Never a part. */
export type ErasureLookup = { readonly tenantId: string } & (
  | { readonly erasureId: string }
  | { readonly erasedId: string }
  | { readonly prospectId: string }
)
/** Prospects that an erasure names in `formerlyOf` and in `stillLeadsTo`, each. */
export const ERASURE_NAMES_MAX = 20
/** The changes by a request for an erasure. All of them are saved, or nothing. */
export type ErasureChanges = {
  readonly tenantId: string
  readonly now: Timestamp
  /**
   * The erased prospect, if any, followed by those that were merged into it, in their state when this was decided. They
   * become tombstones. Overtaken if the first has changed. Every identifier that leads to it is blocked, as are former ones
   * of all of them, unless they lead to another prospect: `stillLeadsTo` of the first erasure lists these.
   */
  readonly prospects: readonly StoredProspect[]
  /** An identifier to block that led to no prospect. Overtaken if it leads to one. */
  readonly identifier: Identifier | null
  /** Erasures to add: the first one blocks the identifiers. The others are its parts. */
  readonly erasures: readonly NewStoredErasure[]
  /** Until when they are blocked at least. */
  readonly until: Timestamp
}
/** An erasure that an eraser has claimed: `attempt` proves ownership. */
export type ClaimedErasure = Omit<StoredErasure, 'blockedUntil' | 'formerlyOf' | 'stillLeadsTo'> & {
  readonly attempt: number
  /** How far the pass is; empty at the beginning. */
  readonly position: string
}
/** A saved step of a claimed erasure: it is completed, or can be claimed again from that time. */
export type ErasureStep = ClaimedErasure & { readonly claimableAt: Timestamp }
/** The identifiers in a log. */
export type NamingLog = Pick<StoredLog, 'prospectLogId' | 'email' | 'externalId'>
/** The part of a store that erases people and deletes expired rows. */
export type Erasures = {
  find(lookup: ErasureLookup): Promise<StoredErasure | null>
  /** The identifiers that these erasures of a tenant block. */
  blockedBy(tenantId: string, erasureIds: readonly string[]): Promise<readonly StoredIdentifier[]>
  /** Erasures, newest first, without parts. */
  list(query: RowsQuery): Promise<readonly StoredErasure[]>
  record(changes: ErasureChanges, events?: readonly NewEvent[]): Promise<Recorded>
  /** Claims erasures in `processing`, as `versions.claim` does. */
  claim(query: ClaimQuery): Promise<readonly ClaimedErasure[]>
  /**
   * Deletes up to `max` logs of its prospect and counts them in the erasure, or in the one that it is part of, both or
   * neither. Returns how many it found.
   */
  deleteLogs(erasure: Omit<ClaimedErasure, 'attempt' | 'position'>, max: number): Promise<number>
  /** The logs of the tenant after this id, oldest first: at most `max`, or fewer if their emails fill a slice. */
  namesAfter(tenantId: string, afterId: string, max: number): Promise<readonly NamingLog[]>
  /**
   * Saves steps of one tenant, except for erasures that another eraser has claimed. One with `completedAt` is completed,
   * unless a part of it is not.
   * `foreign`: ids of other prospects' logs, which lose email, external id, name and request hash.
   */
  settle(tenantId: string, steps: readonly ErasureStep[], foreign?: readonly string[]): Promise<void>
  /**
   * Removes the data that deleted rows left on disk; all erasures that waited for this are then `rewritten`. Returns true
   * at once if deleted rows leave nothing, and false if it is too early.
   */
  purgeDeleted(now: Timestamp): Promise<boolean>
  /** Extends the blocks of an erasure at least to this time. */
  extend(query: Pick<StoredErasure, 'tenantId' | 'erasureId'>, until: Timestamp): Promise<void>
  /** Ends them now: `expire` deletes them. */
  unblock(query: Pick<StoredErasure, 'tenantId' | 'erasureId'>, now: Timestamp): Promise<void>
  /** Counts pending erasures, as `versions.backlog` does, by when they were requested. */
  backlog(countMax: number): Promise<Backlog>
  /**
   * Deletes up to `max` blocks of a tenant that have ended, but none of an erasure in `processing`, and up to `max`
   * of its logs before an id, if there is one, or fewer if they are large. Returns whether there may be more.
   */
  expire(query: {
    readonly tenantId: string
    readonly now: Timestamp
    readonly beforeLogId: string | null
    readonly max: number
  }): Promise<boolean>
  /** Returns the last value saved by `saveClock`, in any process on the database. */
  lastServed(): Promise<Served | null>
  saveClock(served: Served): Promise<void>
}
