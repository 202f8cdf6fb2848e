import type { Erasure, NewErasure } from '../../shapes/erasure.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { prospectErased, prospectNotFound, refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { DAY_MS, isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { ActivityLookup, StoredProspect } from '../ports/activities.ts'
import {
  ERASURE_NAMES_MAX,
  ERASURE_PASSES,
  type ErasureChanges,
  type NewStoredErasure,
  type StoredErasure,
} from '../ports/erasures.ts'
import type { Requester } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import type { NewId, Timestamp } from '../ports/world.ts'
import { identifiersOf, identifiersToLookUp } from '../prospects/identifiers.ts'
import { isEmailPlaceholder, recallWithSurvivor } from '../prospects/match-prospect.ts'
import { NO_IDENTIFIER } from '../prospects/refuse-unidentified.ts'
import { getErasure } from './get-erasure.ts'

/** The shortest block. None ends before its erasure: the second pass would erase logs of a person who returned. */
const BLOCK_MS_MIN = 60 * 60_000

/** Identifies the person to erase: exactly one of prospect id, external id and email. */
export type ErasureRequest = NewErasure & Requester & { readonly tenantId: string }

/**
 * Erases a person, by prospect id, external id or email. When this resolves, the prospect is a tombstone, as are all
 * prospects merged into it, and every identifier that they have or had is blocked, unless it leads to another prospect
 * today: `stillLeadsTo` names that one. `eraseProspects` does the rest. A request for a person who is being erased returns
 * that erasure; it may extend the block.
 *
 * Other prospects that once had the email or the external id of the request are not erased: each may be another person.
 * `formerlyOf` names them, so that the caller decides.
 *
 * Refuses `invalid_request`, `prospect_not_found`, and `prospect_erased` for a prospect whose erasure is completed.
 */
export const requestErasure =
  ({ store, clock, newId }: Needs<'activities' | 'prospects' | 'erasures'>) =>
  async (request: ErasureRequest): Promise<Result<Erasure>> => {
    const { tenantId, blockDays, apiKeyId } = request
    const target = erasureTarget(request)
    const nowMs = clock()
    const now = isoTime(nowMs)
    const until = isoTime(nowMs + Math.max(blockDays * DAY_MS, BLOCK_MS_MIN))

    const erasureId = await decideAndSave({
      recall: () => recall(store, target),
      decide: (known) => decide(target, known, { now, until, newId }),
      record: async (change) => {
        if ('running' in change) {
          await store.erasures.extend(change.running, until)
          return 'recorded'
        }
        const events = change.prospects.map(({ prospectId }) =>
          newEvent(newId, {
            type: 'prospect.erased',
            sender: { tenantId, apiKeyId },
            ids: { prospectId },
            createdAt: now,
          }),
        )
        return store.erasures.record(change, events)
      },
    })
    return getErasure({ store })({ tenantId, erasureId })
  }

type Known = {
  /** The person, followed by those that were merged into it; none if nobody is found who is not erased. */
  readonly people: readonly StoredProspect[]
  /** The id of the person that is found, but erased. */
  readonly erasedId: string | undefined
  /** The erasure of the person, or of the identifier, if nobody else is found. */
  readonly running: StoredErasure | null
  /** Ids of prospects that had the identifier of the request. */
  readonly formerOwners: readonly string[]
}

const recall = async (
  store: Needs<'activities' | 'prospects' | 'erasures'>['store'],
  target: ActivityLookup,
): Promise<Known> => {
  const { tenantId } = target
  const { prospects: found, identifiers } = await recallWithSurvivor(store.activities, target)
  if (isEmailPlaceholder({ identifiers })) refuseTarget(NO_IDENTIFIER.email)
  const [identifier] = target.identifiers
  const formerOwners = identifier
    ? await store.prospects.formerOwners({ ...identifier, limit: ERASURE_NAMES_MAX })
    : []
  const live = found.find(({ erasedAt, mergedInto }) => erasedAt === null && mergedInto === null)
  if (live !== undefined) {
    // None if the person was erased or merged since: then the store returns `overtaken`.
    const [person = live, ...merged] = await store.prospects.findWithMerged(live)
    return { people: [person, ...merged], erasedId: undefined, running: null, formerOwners }
  }
  const erasedId = found.at(-1)?.prospectId
  const blockedBy = identifiers[0]?.erasureId
  const lookup = erasedId !== undefined ? { prospectId: erasedId } : blockedBy && { erasureId: blockedBy }
  const running = lookup ? await store.erasures.find({ tenantId, ...lookup }) : null
  return { people: [], erasedId, running, formerOwners }
}

/** To erase a person, or to extend the block of an erasure that is running. */
type Change = ErasureChanges | { readonly running: StoredErasure }

/** The answer is the id of the erasure. */
const decide = (
  target: ActivityLookup,
  { people, erasedId, running, formerOwners }: Known,
  { now, until, newId }: { readonly now: Timestamp; readonly until: Timestamp; readonly newId: NewId },
): { readonly answer: string; readonly change: Change } => {
  const { tenantId, identifiers } = target
  const [person, ...merged] = people
  if (running?.status === 'processing') return { answer: running.erasureId, change: { running } }
  if (person === undefined && target.prospectId !== undefined)
    return erasedId === undefined ? prospectNotFound() : prospectErased()
  const begun = (prospectId: string | null, partOf: string | null): NewStoredErasure => ({
    tenantId,
    erasureId: newId('erasure'),
    prospectId,
    partOf,
    status: 'processing',
    requestedAt: now,
    completedAt: null,
    logsErased: 0,
    blockedUntil: null,
    pass: ERASURE_PASSES.first,
    settlesAfter: null,
    formerlyOf: [],
  })
  const others = formerOwners.filter((prospectId) => prospectId !== person?.prospectId)
  const own = { ...begun(person?.prospectId ?? null, null), formerlyOf: others }
  const parts = merged.map(({ prospectId }) => begun(prospectId, own.erasureId))
  const [identifier = null] = person === undefined ? identifiers : []
  const change = { tenantId, now, until, prospects: people, identifier, erasures: [own, ...parts] }
  return { answer: own.erasureId, change }
}

/** Whom to look up: the prospect with this id, or the one that an identifier leads to. */
const erasureTarget = ({ tenantId, prospectId, email, externalId }: ErasureRequest): ActivityLookup => {
  if (prospectId !== undefined && email !== undefined) refuseTarget('must not be given with a prospectId')
  if (externalId !== undefined && (prospectId ?? email) !== undefined)
    refuseTarget('must not be given with a prospectId or an email', 'externalId')
  if (prospectId !== undefined) return { tenantId, prospectId, identifiers: [] }
  const identifiers = identifiersToLookUp(tenantId, identifiersOf({ email, externalId }))
  if (identifiers.length > 0) return { tenantId, identifiers }
  if (externalId !== undefined) return refuseTarget(NO_IDENTIFIER.externalId, 'externalId')
  const isMissing = email === undefined
  return refuseTarget(isMissing ? 'is required without a prospectId or externalId' : NO_IDENTIFIER.email)
}

const refuseTarget = (detail: string, name = 'email'): never =>
  refuse('invalid_request', 'An erasure names a person by one of prospectId, externalId and email.', {
    errors: [{ detail, pointer: `/${name}` }],
  })
