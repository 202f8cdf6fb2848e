import type { Prospect, ProspectChanges } from '../../shapes/prospect.ts'
import type { RememberedProspects } from '../activities/remember-prospects.ts'
import { refuse } from '../engine/failures.ts'
import { isoTime } from '../engine/times.ts'
import { untilRecorded } from '../engine/until-recorded.ts'
import { newEvent } from '../events/new-event.ts'
import type { StoredProspect } from '../ports/activities.ts'
import type { Requester } from '../ports/events.ts'
import type { ProspectWant } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import { prospectOf, shownProspect } from './get-prospect.ts'
import { type Identifiers, identifiersOf, wantedBy } from './identifiers.ts'
import { NO_IDENTIFIER } from './refuse-unidentified.ts'
import { findSurvivors } from './survivors.ts'

/** The prospect to correct, and its new values. */
export type ProspectCorrection = ProspectWant & ProspectChanges & Requester
type Deps = Needs<'prospects' | 'activities'> & {
  readonly remembered?: RememberedProspects | undefined
}

/**
 * Corrects a prospect: the only use case that overwrites an email, an external id or a name; null clears it. The email
 * is normalized as when an activity is logged, and this process forgets its remembered prospects.
 * Refuses `prospect_not_found`, `prospect_erased`, `email_taken`, `external_id_taken`, and `invalid_request`: an email
 * or an external id that identifies no one. For a merged prospect, its survivor is corrected.
 */
export const updateProspect =
  ({ store, clock, newId, remembered }: Deps) =>
  async ({ tenantId, prospectId, apiKeyId, ...changes }: ProspectCorrection): Promise<Prospect> => {
    let want = { tenantId, prospectId }
    const matchable = identifiersOf(changes)
    const { email, externalId } = corrected(changes, matchable)
    const name = changes.name?.trim() === '' ? null : changes.name
    const update = { email, externalId, name, updatedAt: isoTime(clock()) }
    const by = { tenantId, apiKeyId }
    const isChange = [email, externalId, name].some((change) => change !== undefined)
    const refuseTaken = async (): Promise<void> => {
      const wants = { prospects: [], ...wantedBy([{ tenantId, matchable }]), keys: [] }
      const known = await store.activities.recall(wants)
      const ownerIdOf = (one: StoredProspect) => one.mergedInto ?? one.prospectId
      const owner = known.prospects.find((one) => ownerIdOf(one) !== want.prospectId)
      if (owner === undefined) return
      if (owner.erasedAt !== null)
        refuse('prospect_erased', 'The email or the external id is blocked after an erasure.')
      const facts = { prospectId: ownerIdOf(owner) }
      if (
        owner.emailHash !== null &&
        [matchable.emailHash, matchable.formerEmailHash].includes(owner.emailHash)
      )
        refuse('email_taken', 'Another prospect has this email.', facts)
      refuse('external_id_taken', 'Another prospect has this external id.', facts)
    }
    return untilRecorded(async () => {
      // No unique index contains the former hash of an email.
      if (matchable.formerEmailHash !== null) await refuseTaken()
      const about = { prospectId: want.prospectId }
      const events = [newEvent(newId, 'prospect.updated', by, about, update.updatedAt)]
      const updated = isChange ? await store.prospects.update({ ...want, ...update }, events) : null
      if (updated === null) {
        const shown = shownProspect((await findSurvivors(store.prospects, [want]))[0])
        if (!isChange || shown.prospectId === want.prospectId) return shown
        want = { tenantId, prospectId: shown.prospectId }
        return 'overtaken'
      }
      remembered?.forget(tenantId)
      if (updated !== 'overtaken') return prospectOf(updated)
      await refuseTaken()
      return updated
    })
  }

/** The identifiers to set: undefined for a member that was left out. */
const corrected = (
  changes: ProspectChanges,
  { email, emailHash, externalId, externalIdHash }: Identifiers,
) => {
  if (changes.email != null && email === null) refuseMember('email')
  if (changes.externalId != null && externalId === null) refuseMember('externalId')
  return {
    email: changes.email === undefined ? undefined : { email, emailHash },
    externalId: changes.externalId === undefined ? undefined : { externalId, externalIdHash },
  }
}

const refuseMember = (member: keyof typeof NO_IDENTIFIER): never =>
  refuse('invalid_request', 'This identifies no one.', {
    errors: [{ detail: NO_IDENTIFIER[member], pointer: `/${member}` }],
  })
