import type { Prospect, ProspectChanges } from '../../shapes/prospect.ts'
import type { RememberedProspects } from '../activities/remember-prospects.ts'
import { untilRecorded } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { ProspectWant } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import { matchableEmail } from './emails.ts'
import { prospectOf, shownProspect } from './get-prospect.ts'

/** What to correct of which prospect. */
export type ProspectCorrection = ProspectWant & ProspectChanges & Requester
type Deps = Needs<'prospects' | 'activities'> & {
  readonly remembered?: RememberedProspects | undefined
}

/**
 * Corrects a prospect: the only use case that overwrites an email or a name; null clears it. The email is normalised as
 * when an activity is logged, and this process forgets what it remembered of prospects.
 * Refuses `prospect_not_found`, `prospect_erased`, `email_taken`, and `invalid_request`: an email that identifies nobody.
 */
export const updateProspect =
  ({ store, clock, newId, remembered }: Deps) =>
  async ({ tenantId, prospectId, apiKeyId, ...changes }: ProspectCorrection): Promise<Prospect> => {
    const want = { tenantId, prospectId }
    const email = correctedEmail(changes.email)
    const name = changes.name?.trim() === '' ? null : changes.name
    const update = { ...want, email, name, updatedAt: isoTime(clock()) }
    const by = { tenantId, apiKeyId }
    const events = [newEvent(newId, 'prospect.updated', by, { prospectId }, update.updatedAt)]
    const isChange = email !== undefined || name !== undefined
    return untilRecorded(async () => {
      const updated = isChange ? await store.prospects.update(update, events) : null
      if (updated === null) return shownProspect((await store.prospects.find([want]))[0])
      remembered?.forget(tenantId)
      if (updated !== 'overtaken') return prospectOf(updated)
      const emails = [{ tenantId, emailHash: email?.emailHash ?? '' }]
      const [owner] = (await store.activities.recall({ prospects: [], emails, keys: [] })).prospects
      if (owner && owner.erasedAt !== null)
        refuse('prospect_erased', 'The email is blocked after an erasure.')
      if (owner && owner.prospectId !== prospectId)
        refuse('email_taken', 'Another prospect has this email.', { prospectId: owner.prospectId })
      return updated
    })
  }

const correctedEmail = (email: string | null | undefined) => {
  if (email === undefined) return undefined
  if (email === null) return { email: null, emailHash: null }
  const errors = [{ detail: 'is blank or a placeholder', pointer: '/email' }]
  return (
    matchableEmail(email) ??
    refuse('invalid_request', 'This is a placeholder, not an email address.', { errors })
  )
}
