import type { Erasure, NewErasure } from '../../shapes/erasure.ts'
import { prospectErased, prospectNotFound, refuse } from '../engine/failures.ts'
import { DAY_MS, isoTime } from '../engine/times.ts'
import { untilRecorded } from '../engine/until-recorded.ts'
import { newEvent } from '../events/new-event.ts'
import type { StoredErasure } from '../ports/erasures.ts'
import type { Requester } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import { identifiersOf, wantedBy } from '../prospects/identifiers.ts'
import { recallWithSurvivor } from '../prospects/match-prospect.ts'
import { NO_IDENTIFIER } from '../prospects/refuse-unidentified.ts'
import { getErasure } from './list-erasures.ts'

/** The shortest block. None ends before its erasure: the second pass would erase logs of a person who returned. */
const BLOCK_MS_MIN = 60 * 60_000

/** Identifies the person to erase: exactly one of prospect id, external id and email. */
export type ErasureRequest = NewErasure & Requester & { readonly tenantId: string }

/**
 * Erases a person, by prospect id, external id or email. When this resolves, the prospect is a tombstone, as are all
 * prospects merged into it, and every identifier that they have or had is blocked, unless it leads to another prospect
 * today. `eraseProspects` does the rest. A request for a person who is being erased returns that erasure; it may extend
 * the block.
 *
 * Refuses `invalid_request`, `prospect_not_found`, and `prospect_erased` for a prospect whose erasure is completed.
 */
export const requestErasure =
  ({ store, clock, newId }: Needs<'activities' | 'prospects' | 'erasures'>) =>
  async (request: ErasureRequest): Promise<Erasure> => {
    const { tenantId, blockDays, apiKeyId } = request
    const target = erasureTarget(request)
    const nowMs = clock()
    const now = isoTime(nowMs)
    const until = isoTime(nowMs + Math.max(blockDays * DAY_MS, BLOCK_MS_MIN))

    return untilRecorded(async () => {
      const { prospects: found, identifiers } = await recallWithSurvivor(store.activities, target)
      const live = found.find(({ erasedAt, mergedInto }) => erasedAt === null && mergedInto === null)
      if (live === undefined) {
        const [blocked] = identifiers
        const erasedId = found.at(-1)?.prospectId
        const running =
          erasedId === undefined
            ? blocked?.erasureId && (await store.erasures.find({ tenantId, erasureId: blocked.erasureId }))
            : await store.erasures.find({ tenantId, prospectId: erasedId })
        if (running && running.status === 'processing') {
          await store.erasures.extend(running, until)
          return getErasure({ store })(running)
        }
        if (request.prospectId !== undefined) return erasedId ? prospectErased() : prospectNotFound()
      }
      const prospects = live === undefined ? [] : await store.prospects.findWithMerged(live)
      if (live !== undefined && prospects.length === 0) return 'overtaken'

      const begun = (prospectId: string | null, partOf: string | null): StoredErasure => ({
        tenantId,
        erasureId: newId('erasure'),
        prospectId,
        partOf,
        status: 'processing',
        requestedAt: now,
        completedAt: null,
        logsErased: 0,
        blockedUntil: null,
        pass: 1,
        settlesAfter: null,
      })
      const [person, ...merged] = prospects
      const own = begun(person?.prospectId ?? null, null)
      const parts = merged.map(({ prospectId }) => begun(prospectId, own.erasureId))
      const [identifier = null] = person === undefined ? target.identifiers : []
      const events = prospects.map(({ prospectId }) =>
        newEvent(newId, 'prospect.erased', { tenantId, apiKeyId }, { prospectId }, now),
      )
      const changes = { tenantId, now, until, prospects, identifier, erasures: [own, ...parts] }
      const recorded = await store.erasures.record(changes, events)
      return recorded === 'recorded' ? getErasure({ store })(own) : recorded
    })
  }

/** Whom to look up: the prospect with this id, or the one that an identifier leads to. */
const erasureTarget = ({ tenantId, prospectId, email, externalId }: ErasureRequest) => {
  const refuseAs = (detail: string, name = 'email') =>
    refuse('invalid_request', 'An erasure names a person by one of prospectId, externalId and email.', {
      errors: [{ detail, pointer: `/${name}` }],
    })
  if (prospectId !== undefined && email !== undefined) refuseAs('must not be given with a prospectId')
  if (externalId !== undefined && (prospectId ?? email) !== undefined)
    refuseAs('must not be given with a prospectId or an email', 'externalId')
  if (prospectId !== undefined) return { tenantId, prospectId, identifiers: [] }
  const identifiers = wantedBy(tenantId, identifiersOf({ email, externalId }))
  if (identifiers.length > 0) return { tenantId, identifiers }
  if (externalId !== undefined) return refuseAs(NO_IDENTIFIER.externalId, 'externalId')
  const isMissing = email === undefined
  return refuseAs(isMissing ? 'is required without a prospectId or externalId' : NO_IDENTIFIER.email)
}
