import type { Erasure, NewErasure } from '../../shapes/erasure.ts'
import { untilRecorded } from '../engine/decide-and-save.ts'
import { prospectErased, prospectNotFound, refuse } from '../engine/failures.ts'
import { DAY_MS, isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { StoredErasure } from '../ports/erasures.ts'
import type { Requester } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import { matchableEmail } from '../prospects/emails.ts'
import { erasureOf, getErasure } from './list-erasures.ts'

/** The shortest block. None ends before its erasure: the second pass would clean what a person who returned has logged. */
const BLOCK_MS_MIN = 60 * 60_000

/** Whom to erase: exactly one of prospect id and email. */
export type ErasureRequest = NewErasure & Requester & { readonly tenantId: string }

/**
 * Erases a person, by prospect id or by email. The prospect is a tombstone and the email is blocked when this resolves;
 * `eraseProspects` does the rest. A request for a person who is being erased answers that erasure; it may extend the block.
 *
 * Refuses `invalid_request`, `prospect_not_found`, and `prospect_erased` for a prospect whose erasure is completed.
 */
export const requestErasure =
  ({ store, clock, newId }: Needs<'activities' | 'erasures'>) =>
  async (request: ErasureRequest): Promise<Erasure> => {
    const { tenantId, blockDays, apiKeyId } = request
    const whom = whomOf(request)
    const nowMs = clock()
    const now = isoTime(nowMs)
    const until = isoTime(nowMs + Math.max(blockDays * DAY_MS, BLOCK_MS_MIN))

    return untilRecorded(async () => {
      const wants = { prospects: [whom.prospect ?? []].flat(), emails: [whom.email ?? []].flat(), keys: [] }
      const [found] = (await store.activities.recall(wants)).prospects
      const live = found?.erasedAt === null ? found : null
      // In progress for a tombstone, or for an email that no prospect had.
      const running = live ? null : await store.erasures.find(whom.email ?? whom.prospect)
      if (whom.prospect && !live && !running) return found ? prospectErased() : prospectNotFound()

      const emailHash = (running ?? live ?? whom.email)?.emailHash ?? null
      const erasure: StoredErasure = running ?? {
        tenantId,
        erasureId: newId('erasure'),
        prospectId: live?.prospectId ?? null,
        emailHash,
        status: 'processing',
        requestedAt: now,
        completedAt: null,
        logsErased: 0,
        // An email that is blocked already is found as the tombstone that blocks it.
        blockId: emailHash && (live || !found ? newId('prospect') : found.prospectId),
        blockedUntil: null,
        pass: 1,
      }
      const block = emailHash && erasure.blockId ? { prospectId: erasure.blockId, emailHash, until } : null
      if (running && !block) return erasureOf(running)
      const { prospectId } = erasure
      const isErased = !running && prospectId !== null
      const by = { tenantId, apiKeyId }
      const recorded = await store.erasures.record(
        { tenantId, now, erasure: running ? null : erasure, block },
        isErased ? [newEvent(newId, 'prospect.erased', by, { prospectId }, now)] : [],
      )
      return recorded === 'recorded' ? getErasure({ store })(erasure) : recorded
    })
  }

const whomOf = ({ tenantId, prospectId, email }: ErasureRequest) => {
  const refuseAs = (detail: string) =>
    refuse('invalid_request', 'An erasure names either a prospect or an email.', {
      errors: [{ detail, pointer: '/email' }],
    })
  if (prospectId !== undefined)
    return email === undefined
      ? { prospect: { tenantId, prospectId } }
      : refuseAs('must not be given with a prospectId')
  if (email === undefined) return refuseAs('is required without a prospectId')
  const { emailHash } = matchableEmail(email) ?? refuseAs('is blank or a placeholder')
  return { email: { tenantId, emailHash } }
}
