import type { ProspectLogReceipt } from '../../shapes/prospect-log.ts'
import type { NewEvent, Requester } from './events.ts'
import type { AssumedIdentifier, Identifier, NewIdentifier, StoredIdentifier } from './identifiers.ts'
import type { StoredLog } from './prospect-logs.ts'
import type { FoundProspect, ProspectWant } from './prospects.ts'
import type { Recorded, Timestamp } from './world.ts'

/** A prospect with the fields that matching needs. */
export type StoredProspect = ProspectWant &
  Pick<FoundProspect, 'email' | 'externalId' | 'name' | 'updatedAt' | 'erasedAt' | 'mergedInto'>
/** The log stored under an idempotency key. */
export type StoredReceipt = Pick<StoredLog, 'tenantId' | keyof ProspectLogReceipt> & {
  readonly idempotencyKey: string
  readonly requestHash: string
}
/** Lookups for a list of activities: prospects by id, identifiers, receipts by key, and what is counted of tenants. */
export type ActivityWants = {
  readonly prospects: readonly ProspectWant[]
  readonly identifiers: readonly Identifier[]
  readonly keys: readonly Pick<StoredReceipt, 'tenantId' | 'source' | 'idempotencyKey'>[]
  /** Tenants for which logs are decided, each once. */
  readonly tenantIds: readonly string[]
}
/** The existing ones: prospects by id and those that the identifiers lead to, each once or several times. */
export type KnownActivities = {
  readonly prospects: readonly StoredProspect[]
  readonly identifiers: readonly StoredIdentifier[]
  readonly receipts: readonly StoredReceipt[]
  /** For tenants whose logs are counted: an id of a new log must come after this one. */
  readonly counted: readonly { readonly tenantId: string; readonly countedId: string }[]
}
/** A prospect to add. If its id exists, only its blanks are filled; if it was erased or merged, nothing is saved. */
export type ProspectChange = Omit<FoundProspect, 'erasedAt' | 'mergedInto'>
/** A logged activity to store. Its payload is kept as its exact text. */
export type NewLog = StoredLog & Requester & { readonly requestHash: string | null }
/** The changes by logging a list of activities: all of them are saved, or nothing. */
export type ActivityChanges = {
  readonly prospects: readonly ProspectChange[]
  readonly identifiers: readonly NewIdentifier[]
  readonly logs: readonly NewLog[]
  /** Every identifier in the list, as it was recalled. */
  readonly assumed: readonly AssumedIdentifier[]
}
/**
 * A log of a prospect that was found in memory, and when that prospect was last changed. If this still holds, so does all
 * that was seen with it: each identifier in the log leads to the prospect, which has no blank that the log could fill.
 */
export type RememberedLog = NewLog & { readonly prospectUpdatedAt: Timestamp }
/** The part of a store that keeps prospects and their activities. */
export type Activities = {
  /** Returns the existing ones of the wanted prospects, identifiers and receipts. */
  recall(wants: ActivityWants): Promise<KnownActivities>
  /**
   * Saves all changes or nothing. Nothing, if another writer was faster: an identifier leads elsewhere than assumed, is
   * taken, or is blocked; an idempotency key is taken; a prospect was erased or merged; the tenant is gone; or an id lies
   * at or before what is counted. Adds the events of the logs, see `eventsOfLog`, and these others.
   */
  record(changes: ActivityChanges, events?: readonly NewEvent[]): Promise<Recorded>
  /**
   * Adds logs of prospects that exist, each under a different idempotency key or none, with its events, and returns their
   * ids. Skips those whose prospect was changed, erased or merged since, whose key is taken, or whose id lies at or before
   * what is counted; and may skip all if another writer was faster.
   */
  recordLogs(logs: readonly RememberedLog[]): Promise<readonly string[]>
}
