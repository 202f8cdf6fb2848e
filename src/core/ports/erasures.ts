import type { Erasure } from '../../shapes/erasure.ts'
import type { NewEvent } from './events.ts'
import type { StoredLog } from './prospect-logs.ts'
import type { ClaimWant } from './versions.ts'
import type { Backlog, Recorded, Served, SliceWant, Timestamp } from './world.ts'

/** An erasure as callers see it, and the hash of the email that is erased: null once it is completed. */
export type StoredErasure = Readonly<Omit<Erasure, 'waitingFor'>> & {
  readonly tenantId: string
  readonly emailHash: string | null
  /** The tombstone that blocks the email, which may be gone. */
  readonly blockId: string | null
  /** Logs are searched in 1 and 2. It waits for `rewrite` in 3, and for nothing in 4. */
  readonly pass: 1 | 2 | 3 | 4
}
/** By its own id; or the one in `processing` of this prospect, or one of this email. */
export type ErasureWant = { readonly tenantId: string } & (
  | { readonly erasureId: string }
  | { readonly prospectId: string }
  | { readonly emailHash: string }
)
/** What a request for an erasure changes. All of it is saved, or nothing. */
export type ErasureChanges = {
  readonly tenantId: string
  readonly now: Timestamp
  /** To add. Its prospect becomes a tombstone, if it still has this email hash and is none yet. */
  readonly erasure: StoredErasure | null
  /**
   * Blocks an email by a tombstone with this id, or extends its block. Overtaken if another prospect has the email, except
   * the one that is erased. If a block is only extended, nothing happens in that case.
   */
  readonly block: {
    readonly prospectId: string
    readonly emailHash: string
    readonly until: Timestamp
  } | null
}
/** An erasure that an eraser has taken: `attempt` proves whose it is. */
export type ClaimedErasure = Omit<StoredErasure, 'blockedUntil'> & {
  readonly attempt: number
  /** How far the pass is; empty at the beginning. */
  readonly position: string
}
/** What becomes of a claimed erasure: it is completed, or can be claimed again from then on. */
export type ErasureStep = ClaimedErasure & { readonly claimableAt: Timestamp }
type LogEmail = Pick<StoredLog, 'prospectLogId' | 'email'>
/** The part of a store that erases people and deletes what has expired. */
export type Erasures = {
  find(want: ErasureWant): Promise<StoredErasure | null>
  /** One list of rows for each want, in order. */
  list(wants: readonly SliceWant[]): Promise<readonly (readonly StoredErasure[])[]>
  record(changes: ErasureChanges, events?: readonly NewEvent[]): Promise<Recorded>
  /** As `versions.claim`, of erasures in `processing`. */
  claim(want: ClaimWant): Promise<readonly ClaimedErasure[]>
  /** Deletes up to `max` logs of its prospect and counts them in the erasure, both or neither. Returns how many it found. */
  deleteLogs(erasure: ClaimedErasure, max: number): Promise<number>
  /** The logs of the tenant after this id, oldest first: at most `max`, or fewer if their emails fill a slice. */
  emailsAfter(tenantId: string, afterId: string, max: number): Promise<readonly LogEmail[]>
  /**
   * Saves steps of one tenant, except for erasures that another eraser has claimed. One with `completedAt` is completed.
   * `foreign`: ids of other prospects' logs, which lose email, name and request hash.
   */
  settle(tenantId: string, steps: readonly ErasureStep[], foreign?: readonly string[]): Promise<void>
  /**
   * Removes what deleted rows left on disk; all erasures that were in pass 3 are then in pass 4. Returns true at once if a
   * store need not do so, and false if it is not the time.
   */
  rewrite(now: Timestamp): Promise<boolean>
  /** Lets the block of an erasure end now: `expire` deletes it. */
  unblock(want: Pick<StoredErasure, 'tenantId' | 'erasureId'>, now: Timestamp): Promise<void>
  /** As `versions.backlog`, by when they were requested. */
  backlog(countMax: number): Promise<Backlog>
  /**
   * Deletes up to `max` blocks of a tenant that have ended, but none whose email is still being erased, and up to `max`
   * of its logs before an id, if there is one, or fewer if they are large. Returns whether there may be more.
   */
  expire(want: {
    readonly tenantId: string
    readonly now: Timestamp
    readonly beforeLogId: string | null
    readonly max: number
  }): Promise<boolean>
  /** What `markServed` saved last, in any process on the database. */
  lastServed(): Promise<Served | null>
  markServed(served: Served): Promise<void>
}
