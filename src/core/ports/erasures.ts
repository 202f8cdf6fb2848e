import type { Erasure } from '../../shapes/erasure.ts'
import type { EventsOf } from './events.ts'
import type { StoredLog } from './prospect-logs.ts'
import type { ClaimWant } from './versions.ts'
import type { Recorded, SliceWant, Timestamp } from './world.ts'

/** An erasure as callers see it, and the hash of the email that is erased: null once it is completed. */
export type StoredErasure = Readonly<Erasure> & {
  readonly tenantId: string
  readonly emailHash: string | null
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
   * Blocks an email by a tombstone with this id, or extends its block. Nobody may have the email, except the prospect
   * that is erased; without an erasure nothing is blocked in that case.
   */
  readonly block: {
    readonly prospectId: string
    readonly emailHash: string
    readonly until: Timestamp
  } | null
}
/** An erasure that an eraser has taken: `attempt` proves whose it is. All logs are gone through twice. */
export type ClaimedErasure = Omit<StoredErasure, 'status' | 'completedAt' | 'logsErased'> & {
  readonly attempt: number
  readonly pass: 1 | 2
  /** The last log that was looked at in this pass; empty at the beginning. */
  readonly position: string
}
/** What a step of the work came to. */
export type ErasureStep =
  | { readonly status: 'completed'; readonly at: Timestamp }
  /** `foreign`: ids of other prospects' logs, which lose their email and name. */
  | (Pick<ClaimedErasure, 'pass' | 'position'> & {
      readonly status: 'processing'
      readonly claimableAt: Timestamp
      readonly foreign: readonly string[]
    })
type LogEmail = Pick<StoredLog, 'prospectLogId' | 'email'>
/** The part of a store that erases persons and deletes what has expired. */
export type Erasures = {
  find(want: ErasureWant): Promise<StoredErasure | null>
  /** One list of rows for each want, in order. */
  list(wants: readonly SliceWant[]): Promise<readonly (readonly StoredErasure[])[]>
  record(changes: ErasureChanges, events?: EventsOf): Promise<Recorded>
  /** As `versions.claim`, of erasures in `processing`. */
  claim(want: ClaimWant): Promise<readonly ClaimedErasure[]>
  /** Deletes up to `max` logs of its prospect and counts them in the erasure, both or neither. Answers how many it found. */
  deleteLogs(erasure: ClaimedErasure, max: number): Promise<number>
  /** The logs of the tenant after this id, oldest first: at most `max`, or fewer if their emails fill a slice. */
  emailsAfter(tenantId: string, afterId: string, max: number): Promise<readonly LogEmail[]>
  /**
   * Saves a step, unless another eraser has claimed the erasure. A store that keeps deleted rows in a journal empties
   * it before an erasure is completed; false if it could not, and nothing was saved.
   */
  settle(erasure: ClaimedErasure, step: ErasureStep): Promise<boolean>
  /**
   * Deletes up to `max` blocks of a tenant that have ended, and up to `max` of its logs before an id, if there is one, or
   * fewer if they are large. Answers whether there may be more.
   */
  expire(want: {
    readonly tenantId: string
    readonly now: Timestamp
    readonly beforeLogId: string | null
    readonly max: number
  }): Promise<boolean>
}
