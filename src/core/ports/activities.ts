import type { RawJson } from '../../shapes/json.ts'
import type { ProspectLogReceipt } from '../../shapes/prospect-log.ts'
import type { NewEvent, Requester } from './events.ts'
import type { AssumedIdentifier, IdentifierLookup, NewIdentifier, StoredIdentifier } from './identifiers.ts'
import type { StoredLog } from './prospect-logs.ts'
import type { FoundProspect, ProspectKey } from './prospects.ts'
import type { Recorded, Timestamp } from './world.ts'

/** A prospect with the fields that matching needs. */
export type StoredProspect = ProspectKey &
  Pick<FoundProspect, 'email' | 'externalId' | 'name' | 'updatedAt' | 'erasedAt' | 'mergedInto'> & {
    /** Where the store kept it when it was recalled, if the store finds it faster by that. It may have moved since. */
    readonly place?: string | null
  }
/** The log stored under an idempotency key. */
export type StoredReceipt = Pick<StoredLog, 'tenantId' | Exclude<keyof ProspectLogReceipt, 'ignored'>> & {
  readonly idempotencyKey: string
  readonly requestHash: string
}
/**
 * An idempotency key: its text, and what it belongs to besides its source, as a text. That is empty for a key of the API. The
 * same text in two scopes is two keys. Only hooks have keys in scopes.
 */
export type LogKey = Pick<StoredReceipt, 'source' | 'idempotencyKey'> & { readonly keyScope: string }
/**
 * A key to look up in all scopes from one to another, compared as texts: the log with the last of them has it. The two are
 * the same unless the key can be taken over: see `scopesToLookUp`.
 */
export type LogKeyLookup = LogKey & { readonly lastKeyScope: string }
/** The identifiers and the idempotency key to look up. Undefined: the request has none. */
export type ActivityLookup = {
  readonly tenantId: string
  readonly prospectId?: string | undefined
  /** At most one of each kind. */
  readonly identifiers: readonly IdentifierLookup[]
  readonly key?: LogKeyLookup | undefined
}
/** What the store knows of that lookup. */
export type KnownActivity = {
  /** The prospect with the id that was looked up, and those that the identifiers lead to, each once or several times. */
  readonly prospects: readonly StoredProspect[]
  readonly identifiers: readonly StoredIdentifier[]
  readonly receipt: StoredReceipt | null
  /** If the tenant's logs are counted: the id of a new log must come after this one. */
  readonly countedId: string | null
}
/** A logged activity to store. Its payload is kept as its exact text. */
export type NewLog = StoredLog &
  Requester & {
    readonly requestHash: string | null
    /** See `LogKey`. Empty without a key. */
    readonly keyScope: string
  }
/** An activity to log, or a prospect to create: all of it is saved, or nothing. */
export type ActivityChange = {
  /** What was looked up to decide this. */
  readonly lookup: ActivityLookup
  /** The prospect after the change. */
  readonly prospect: StoredProspect
  /** All attributes of the prospect after the change; null if it gains none. They are unchanged then. */
  readonly attributes: RawJson | null
  /**
   * The `updatedAt` of the recalled prospect; null if it is new. If the stored one is still the same, each identifier that
   * led to the prospect still does. The prospect is written only if its new `updatedAt` differs.
   */
  readonly unchangedSince: Timestamp | null
  /** Identifiers that lead to the prospect from now on. */
  readonly identifiers: readonly NewIdentifier[]
  /** The identifiers looked up that led elsewhere, or to no prospect. */
  readonly assumed: readonly AssumedIdentifier[]
  /** Null if only a prospect is created or filled. */
  readonly log: NewLog | null
}
/** A change with a log. */
export type LogChange = ActivityChange & { readonly log: NewLog }
/** A change to record with its events, besides those of its log. */
export type Recording = { readonly change: ActivityChange; readonly events: readonly NewEvent[] }
/** The part of a store that keeps prospects and their activities. */
export type Activities = {
  /** Not a promise if no look-up is needed. What is recalled may be stale: `record` checks it. */
  recall(lookup: ActivityLookup): Promise<KnownActivity> | KnownActivity
  /**
   * Saves all of a change or nothing. Nothing, and returns `overtaken`, if another writer was faster: the prospect was
   * changed, erased or merged; an identifier leads elsewhere than assumed; the idempotency key is taken; the tenant of a
   * new prospect is gone; or the id of the log lies at or before what is counted. Adds the events of the log, see
   * `eventsOfLog`, and these others.
   */
  record(change: ActivityChange, events?: readonly NewEvent[]): Promise<Recorded>
  /**
   * `record` for the changes of a batch: each is saved whole or not at all. A store without it records each alone. Those with
   * the same prospect, identifier or key only differ in their logs.
   */
  recordEach?(recordings: readonly Recording[]): Promise<readonly (Recorded | Error)[]>
}
