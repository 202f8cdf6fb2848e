import type { Prospect, ProspectMerge } from '../../shapes/prospect.ts'
import { refuse } from '../engine/failures.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import { untilRecorded } from '../engine/until-recorded.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { MergeChanges } from '../ports/merges.ts'
import type { FoundProspect, ProspectWant } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import type { Timestamp } from '../ports/world.ts'
import { shownProspect } from './get-prospect.ts'
import { findSurvivor } from './survivors.ts'

/** Maximum number of prospects merged into one survivor. They are erased in one statement. */
const MERGED_MAX = 100

export type ProspectMerging = ProspectWant & ProspectMerge & Requester

/**
 * Merges a prospect into another one, for good: from now on its id and all its identifiers lead to that survivor, whose
 * blanks it fills. `moveMerged` moves its activities. An id that was merged before stands for its survivor; repeating a
 * merge changes nothing.
 *
 * Refuses `invalid_request` for a prospect into itself, `prospect_not_found`, `prospect_erased`, `limit_reached`.
 */
export const mergeProspect =
  ({ store: { prospects, merges }, clock, newId }: Needs<'prospects' | 'merges'>) =>
  ({ tenantId, prospectId, into, apiKeyId }: ProspectMerging): Promise<Prospect> =>
    untilRecorded(async () => {
      const from = shownProspect(await findSurvivor(prospects, { tenantId, prospectId }))
      const to = shownProspect(await findSurvivor(prospects, { tenantId, prospectId: into }))
      if (from.prospectId === to.prospectId) {
        if (from.prospectId !== prospectId && into !== prospectId) return to
        refuse('invalid_request', 'A prospect cannot be merged into itself.', {
          errors: [{ detail: 'must be another prospect', pointer: '/into' }],
        })
      }
      const [merged, ...mergedBefore] = await prospects.findWithMerged(from)
      const [survivor, ...others] = await prospects.findWithMerged(to)
      if (merged === undefined || survivor === undefined) return 'overtaken'
      if (mergedBefore.length + others.length >= MERGED_MAX)
        refuse('limit_reached', `At most ${MERGED_MAX} prospects can be merged into one.`)

      const now = isoTime(clock())
      const by = { tenantId, apiKeyId: apiKeyId ?? null }
      const ids = { prospectId: merged.prospectId, intoId: survivor.prospectId }
      const merge = { ...by, ...ids, mergeId: newId('merge'), requestedAt: now }
      const changes = { merge, ...mergedStates(merged, survivor, now) }
      const { before, after } = changes.survivor
      const isFilled = (['email', 'externalId', 'name'] as const).some(
        (field) => before[field] !== after[field],
      )
      const about = { prospectId: survivor.prospectId }
      const events = isFilled ? [newEvent(newId, 'prospect.updated', by, about, now)] : []
      const recorded = await merges.record(changes, events)
      return recorded === 'recorded' ? shownProspect(after) : recorded
    })

/** The survivor's blanks are filled. The merged one keeps what it is shown with; all its identifiers lead to the survivor. */
const mergedStates = (
  merged: FoundProspect,
  survivor: FoundProspect,
  now: Timestamp,
): Omit<MergeChanges, 'merge'> => ({
  merged: {
    before: merged,
    after: {
      ...merged,
      email: survivor.email === null ? null : merged.email,
      externalId: survivor.externalId === null ? null : merged.externalId,
      name: null,
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
      updatedAt: laterThan(survivor.updatedAt, now),
    },
  },
})
