import type { NewEvent, Requester } from './events.ts'
import type { FoundProspect } from './prospects.ts'
import type { ClaimQuery } from './versions.ts'
import type { Backlog, Moment, Recorded, Timestamp } from './world.ts'

/** The merge of one prospect into another one: in `processing` until its logs have moved there. */
export type NewMerge = Requester & {
  readonly tenantId: string
  readonly mergeId: string
  readonly prospectId: string
  readonly intoId: string
  readonly requestedAt: Timestamp
}
/** The changes by merging. All of them are saved, or nothing. */
export type MergeChanges = {
  readonly merge: NewMerge
  /** Both prospects, each before and after the merge, the merged one first. */
  readonly merged: ProspectStates
  readonly survivor: ProspectStates
}
/** A prospect before and after a change. */
export type ProspectStates = { readonly before: FoundProspect; readonly after: FoundProspect }
/** A merge that a worker has claimed: `attempt` proves ownership. */
export type ClaimedMerge = NewMerge & {
  readonly apiKeyId: string | null
  /** Pass of the merge: logs are searched twice. */
  readonly pass: 1 | 2
  /** The second pass begins once this moment is past. */
  readonly settlesAfter: Moment | null
  readonly attempt: number
  readonly status: 'processing' | 'completed'
}
/** A saved step of a claimed merge: it is completed, or can be claimed again from that time. */
export type MergeStep = ClaimedMerge & {
  readonly claimableAt: Timestamp
  readonly completedAt: Timestamp | null
}
/** The part of a store that merges prospects. */
export type Merges = {
  /**
   * Merges a prospect into another one. Its identifiers, prospects merged into it before, and merges into it that are
   * processing, lead to the other one from then on. Overtaken unless both prospects are unchanged.
   */
  record(changes: MergeChanges, events?: readonly NewEvent[]): Promise<Recorded>
  /** Claims merges in `processing`, as `versions.claim` does. */
  claim(query: ClaimQuery): Promise<readonly ClaimedMerge[]>
  /**
   * Moves up to `max` logs of the merged prospect to the other one, or fewer if they are large. Returns how many it
   * found: none if the merge is no longer this worker's, was changed, or leads elsewhere.
   */
  moveLogs(merge: ClaimedMerge, max: number): Promise<number>
  /** The first completed merges of a tenant after this id. */
  completed(query: {
    readonly tenantId: string
    readonly afterId: string
    readonly limit: number
  }): Promise<readonly ClaimedMerge[]>
  /** Saves a step. Overtaken, with nothing saved, if the merge is no longer this worker's, or leads elsewhere. */
  settle(step: MergeStep, events?: readonly NewEvent[]): Promise<Recorded>
  /** Counts pending merges, as `versions.backlog` does, by when they were requested. */
  backlog(countMax: number): Promise<Backlog>
}
