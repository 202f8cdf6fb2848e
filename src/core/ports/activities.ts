import type { ProspectLogReceipt } from '../../shapes/prospect-log.ts'
import type { NewEvent, Requester } from './events.ts'
import type { StoredLog } from './prospect-logs.ts'
import type { FoundProspect, ProspectWant } from './prospects.ts'
import type { Recorded } from './world.ts'

/**
 * A prospect with the fields that matching needs: found by its id, or by the hash of its email or external id.
 * `erasedAt` is set on a tombstone: an erased prospect, or an email or external id that is blocked after an erasure.
 */
export type StoredProspect = ProspectWant &
  Pick<FoundProspect, 'name' | 'erasedAt' | 'mergedInto'> & {
    readonly emailHash: string | null
    readonly externalIdHash: string | null
  }
/** The log stored under an idempotency key. */
export type StoredReceipt = Pick<StoredLog, 'tenantId' | keyof ProspectLogReceipt> & {
  readonly idempotencyKey: string
  readonly requestHash: string
}
/** Lookups for a list of activities: prospects by id, email and external id, receipts by key. */
export type ActivityWants = {
  readonly prospects: readonly ProspectWant[]
  readonly emails: readonly { readonly tenantId: string; readonly emailHash: string }[]
  readonly externalIds: readonly { readonly tenantId: string; readonly externalIdHash: string }[]
  readonly keys: readonly Pick<StoredReceipt, 'tenantId' | 'source' | 'idempotencyKey'>[]
}
/** The existing ones of the wanted prospects and receipts. */
export type KnownActivities = {
  readonly prospects: readonly StoredProspect[]
  readonly receipts: readonly StoredReceipt[]
}
/** A prospect to add. If its id exists, only its blanks are filled; if it was erased or merged, nothing is saved. */
export type ProspectChange = Omit<FoundProspect & StoredProspect, 'erasedAt' | 'mergedInto'>
/** A logged activity to store. Its payload is kept as its exact text. */
export type NewLog = StoredLog & Requester & { readonly requestHash: string | null }
/** The changes by logging a list of activities: all of them are saved, or nothing. */
export type ActivityChanges = {
  readonly prospects: readonly ProspectChange[]
  readonly logs: readonly NewLog[]
}
/** The part of a store that keeps prospects and their activities. */
export type Activities = {
  /** Returns the existing ones of the wanted prospects and receipts. */
  recall(wants: ActivityWants): Promise<KnownActivities>
  /** Saves all changes or, if another writer was faster, nothing. */
  record(changes: ActivityChanges, events?: readonly NewEvent[]): Promise<Recorded>
  /**
   * Adds logs of prospects that exist, each under a different idempotency key or none, with the event of each, and
   * returns their ids. Skips logs whose key is taken, and their events, and may skip all if another writer was faster.
   */
  recordLogs(logs: readonly NewLog[], events?: readonly NewEvent[]): Promise<readonly string[]>
}
