import type { IdentifierConflict, MatchedProspect, ProspectMerge } from '../../shapes/prospect.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { MergeChanges } from '../ports/merges.ts'
import type { FoundProspect, ProspectKey, Prospects } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import type { NewId, Timestamp } from '../ports/world.ts'
import { type GainedAttributes, ignoredAttributes, mergedAttributes } from './attributes.ts'
import { livingProspect, prospectOf } from './get-prospect.ts'
import { IDENTIFIER_KINDS } from './identifiers.ts'
import { findSurvivor, survivorOf } from './survivors.ts'

/** Maximum number of prospects merged into one survivor. They are erased in one statement. */
const MERGED_MAX = 100

export type ProspectMerging = ProspectKey & ProspectMerge & Requester

/**
 * Merges a prospect into another one, for good: from now on its id and all its identifiers lead to that survivor, whose
 * blanks it fills. `moveMerged` moves its activities. An id that was merged before stands for its survivor; repeating a
 * merge changes nothing. `ignored` names attributes that the survivor has no room for; `conflicts` names the merged
 * prospect's email and external id that the survivor is not shown with, because it has its own.
 *
 * Refuses `invalid_request` for a prospect into itself, `prospect_not_found`, `prospect_erased`, `limit_reached`.
 */
export const mergeProspect =
  ({ store: { prospects, merges }, clock, newId }: Needs<'prospects' | 'merges'>) =>
  (merging: ProspectMerging): Promise<Result<MatchedProspect>> =>
    decideAndSave({
      recall: () => recall(prospects, merging),
      decide: (known) => decide(merging, known, isoTime(clock()), newId),
      record: (changes) => merges.record(changes, eventsOf(changes, newId)),
    })

type Known = {
  /** The prospect with the id in the path, and its survivor. */
  readonly named: FoundProspect | null
  readonly from: FoundProspect | null
  readonly to: FoundProspect | null
  /** Each of the two, if they are two, followed by the prospects that were merged into it. */
  readonly ofFrom: readonly FoundProspect[]
  readonly ofTo: readonly FoundProspect[]
}

/** Reads no more than the decision needs. */
const recall = async (
  prospects: Prospects,
  { tenantId, prospectId, into }: ProspectMerging,
): Promise<Known> => {
  const named = await prospects.find({ tenantId, prospectId })
  const from = await survivorOf(prospects, named)
  const to = from?.erasedAt === null ? await findSurvivor(prospects, { tenantId, prospectId: into }) : null
  if (from === null || to?.erasedAt !== null || from.prospectId === to.prospectId)
    return { named, from, to, ofFrom: [], ofTo: [] }
  return {
    named,
    from,
    to,
    ofFrom: await prospects.findWithMerged(from),
    ofTo: await prospects.findWithMerged(to),
  }
}

const decide = (
  { tenantId, prospectId, into, apiKeyId = null }: ProspectMerging,
  known: Known,
  now: Timestamp,
  newId: NewId,
): { readonly answer: Result<MatchedProspect>; readonly change: MergeChanges | null } => {
  const from = livingProspect(known.from)
  const to = livingProspect(known.to)
  if (from.prospectId === to.prospectId) {
    if (from.prospectId !== prospectId && into !== prospectId)
      return { answer: { value: mergedAnswer(known.named ?? from, to) }, change: null }
    refuse('invalid_request', 'A prospect cannot be merged into itself.', {
      errors: [{ detail: 'must be another prospect', pointer: '/into' }],
    })
  }
  // A list is empty if its prospect was erased or merged since: then the store returns `overtaken`.
  const [merged = from, ...mergedBefore] = known.ofFrom
  const [survivor = to, ...others] = known.ofTo
  if (mergedBefore.length + others.length >= MERGED_MAX)
    refuse('limit_reached', `At most ${MERGED_MAX} prospects can be merged into one.`)
  const ids = { prospectId: merged.prospectId, intoId: survivor.prospectId }
  const merge = { tenantId, apiKeyId, ...ids, mergeId: newId('merge'), requestedAt: now }
  const { leftOut, ...states } = mergedStates(merged, survivor, now)
  const ignored = leftOut.length === 0 ? {} : { ignored: ignoredAttributes(leftOut) }
  const value = { ...mergedAnswer(merged, states.survivor.after), ...ignored }
  return { answer: { value }, change: { merge, ...states } }
}

const mergedAnswer = (merged: FoundProspect, survivor: FoundProspect): MatchedProspect => ({
  ...prospectOf(survivor),
  conflicts: IDENTIFIER_KINDS.filter(
    (field) => merged[field] !== null && merged[field] !== survivor[field],
  ).map((field): IdentifierConflict => ({ field, reason: 'different' })),
})

const FILLED = ['email', 'externalId', 'name', 'attributes'] as const
/** The event of a survivor whose blanks are filled. */
const eventsOf = ({ merge, survivor: { before, after } }: MergeChanges, newId: NewId) => {
  const isFilled = FILLED.some((field) => before[field] !== after[field])
  if (!isFilled) return []
  return [
    newEvent(newId, {
      type: 'prospect.updated',
      sender: merge,
      ids: { prospectId: merge.intoId },
      createdAt: merge.requestedAt,
    }),
  ]
}

/** The survivor's blanks are filled. The merged one keeps what it is shown with; all its identifiers lead to the survivor. */
const mergedStates = (
  merged: FoundProspect,
  survivor: FoundProspect,
  now: Timestamp,
): Omit<MergeChanges, 'merge'> & Pick<GainedAttributes, 'leftOut'> => {
  const { attributes, leftOut } = mergedAttributes(survivor.attributes, merged.attributes)
  return {
    leftOut,
    merged: {
      before: merged,
      after: {
        ...merged,
        email: survivor.email === null ? null : merged.email,
        externalId: survivor.externalId === null ? null : merged.externalId,
        name: null,
        attributes: null,
        mergedInto: survivor.prospectId,
        updatedAt: laterThan(merged.updatedAt, now),
      },
    },
    survivor: {
      before: survivor,
      after: {
        ...survivor,
        email: survivor.email ?? merged.email,
        externalId: survivor.externalId ?? merged.externalId,
        name: survivor.name ?? merged.name,
        attributes,
        updatedAt: laterThan(survivor.updatedAt, now),
      },
    },
  }
}
