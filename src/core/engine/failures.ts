import type { EventIds } from '../ports/events.ts'

/** Every expected failure, by kind. Over HTTP the kind is the `code` of the problem. */
export type FailureKind =
  // refused by the use cases
  | 'page_group_not_found'
  | 'page_not_found'
  | 'version_not_found'
  | 'prospect_not_found'
  | 'prospect_log_not_found'
  | 'erasure_not_found'
  | 'event_not_found'
  | 'webhook_endpoint_not_found'
  | 'delivery_not_found'
  | 'hook_not_found'
  | 'prospect_erased'
  | 'email_taken'
  | 'external_id_taken'
  | 'slug_taken'
  | 'schedule_taken'
  | 'page_group_not_active'
  | 'version_not_ready'
  | 'webhook_endpoint_disabled'
  | 'limit_reached'
  | 'precondition_failed'
  | 'idempotency_key_reused'
  | 'invalid_cursor'
  | 'cursor_expired'
  | 'invalid_signature'
  | 'loop_detected'
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'insufficient_scope'
  | 'tenant_suspended'
  // refused by the use cases and the API
  | 'invalid_request'
  | 'unavailable'
  // refused by the API
  | 'invalid_json'
  | 'not_found'
  | 'method_not_allowed'
  | 'payload_too_large'
  | 'headers_too_large'
  | 'unsupported_media_type'
  | 'rate_limited'

/** A failure, or a bug. */
export type ProblemCode = FailureKind | 'internal_error'

/** One fault of a request: a description, and where (a `pointer` into the body, or the name of a `parameter`). */
export type Fault = { readonly detail: string; readonly pointer?: string; readonly parameter?: string }

/** Problems that an operator can fix: the command line has a remedy for each. */
export type Obstacle =
  | 'not_migrated'
  | 'newer_database'
  | 'takes_no_writes'
  | 'unreleased_database'
  | 'wrong_settings'
  | 'no_source'
  | 'no_database_file'
  | 'no_folder'
  | 'no_room'
  | 'unknown_tenant'
  | 'unknown_api_key'

/** What a failure says besides its kind and a sentence, including the ids of its resource. Callers see all of it. */
export type FailureFacts = EventIds & {
  readonly errors?: readonly Fault[]
  readonly hookId?: string
  readonly revision?: number
  readonly requiredScope?: string
  readonly retryAfterS?: number
  readonly allow?: string
}

/** What only the program may know of a failure. No caller sees it. */
export type InternalFacts = ErrorOptions & {
  readonly obstacle?: Obstacle
  /** Set if there was no room for the request, because of other requests. */
  readonly isCrowded?: true
  /** Set if the request had to identify a prospect, and does not. */
  readonly isUnidentified?: true
  /** Set if other writers of the same resource were faster each time. */
  readonly isContended?: true
}

/** An expected failure. Anything else that is thrown is a bug. */
export class DomainFailure extends Error {
  override readonly name = 'DomainFailure'
  readonly kind: FailureKind
  readonly facts: FailureFacts
  readonly internal: InternalFacts

  constructor(kind: FailureKind, detail: string, facts: FailureFacts = {}, internal: InternalFacts = {}) {
    super(detail, internal)
    this.kind = kind
    this.facts = facts
    this.internal = internal
  }
}

/** Throws a failure: `const group = (await find(id)) ?? refuse('page_group_not_found', '…')`. */
export const refuse = (
  kind: FailureKind,
  detail: string,
  facts?: FailureFacts,
  internal?: InternalFacts,
): never => {
  throw new DomainFailure(kind, detail, facts, internal)
}

/** The database, or another dependency, cannot respond now: `throw unavailable('…')`. */
export const unavailable = (detail: string, cause?: unknown): DomainFailure =>
  new DomainFailure('unavailable', detail, { retryAfterS: 1 }, { cause })

export const isUnavailable = (error: unknown): error is DomainFailure =>
  error instanceof DomainFailure && error.kind === 'unavailable'

/** Whether the database cannot respond at all, so that the next attempt would fail in the same way. */
export const isAway = (error: unknown): error is DomainFailure =>
  isUnavailable(error) && !error.internal.isContended

export const prospectNotFound = (): never => refuse('prospect_not_found', 'Prospect not found.')
export const prospectErased = (): never => refuse('prospect_erased', 'The prospect was erased.')
export const versionNotFound = (): never => refuse('version_not_found', 'Version not found in this page.')
export const pageGroupNotFound = (): never => refuse('page_group_not_found', 'Page group not found.')

export const tooLarge = (bytesMax: number, subject = 'The body') =>
  new DomainFailure('payload_too_large', `${subject} is larger than ${bytesMax} bytes.`)
