import type { Erasure, NewErasure } from '../../shapes/erasure.ts'
import { recallWithSurvivors } from '../activities/known-prospects.ts'
import { prospectErased, prospectNotFound, refuse } from '../engine/failures.ts'
import { DAY_MS, isoTime } from '../engine/times.ts'
import { untilRecorded } from '../engine/until-recorded.ts'
import { newEvent } from '../events/new-event.ts'
import type { StoredProspect } from '../ports/activities.ts'
import type { StoredErasure } from '../ports/erasures.ts'
import type { Requester } from '../ports/events.ts'
import type { KnownProspect } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import { identifiersOf, isIdentified, wantedBy } from '../prospects/identifiers.ts'
import { NO_IDENTIFIER } from '../prospects/refuse-unidentified.ts'
import { getErasure } from './list-erasures.ts'

/** The shortest block. None ends before its erasure: the second pass would erase logs of a person who returned. */
const BLOCK_MS_MIN = 60 * 60_000

/** Identifies the person to erase: exactly one of prospect id, external id and email. */
export type ErasureRequest = NewErasure & Requester & { readonly tenantId: string }

/**
 * Erases a person, by prospect id, external id or email. When this resolves, the prospect is a tombstone and its email
 * and external id are blocked, as are all prospects merged into it. `eraseProspects` does the rest. A request for a
 * person who is being erased returns that erasure; it may extend the block.
 *
 * Refuses `invalid_request`, `prospect_not_found`, and `prospect_erased` for a prospect whose erasure is completed.
 */
export const requestErasure =
  ({ store, clock, newId }: Needs<'activities' | 'prospects' | 'erasures'>) =>
  async (request: ErasureRequest): Promise<Erasure> => {
    const { tenantId, blockDays, apiKeyId } = request
    const whom = erasureTarget(request)
    const nowMs = clock()
    const now = isoTime(nowMs)
    const until = isoTime(nowMs + Math.max(blockDays * DAY_MS, BLOCK_MS_MIN))

    return untilRecorded(async () => {
      const known = (await recallWithSurvivors(store.activities, whom.wants)).prospects
      const isLive = ({ erasedAt, mergedInto }: StoredProspect) => erasedAt === null && mergedInto === null
      // More than one if an older version stored several spellings of the email as several people: an erasure each.
      const lives = [...new Map(known.filter(isLive).map((one) => [one.prospectId, one])).values()]
      const [live = null, ...others] = lives
      for (const { prospectId } of others)
        await requestErasure({ store, clock, newId })({ tenantId, prospectId, blockDays, apiKeyId })
      const found = live ?? known.at(-1)
      // An erasure in progress for a tombstone, or for an email or external id that no prospect had.
      const isById = request.prospectId !== undefined
      const by = isById && found ? { tenantId, prospectId: found.prospectId } : whom.by
      const running = live ? null : await store.erasures.find(by)
      if (running) {
        await store.erasures.extend(running, until)
        return getErasure({ store })(running)
      }
      if (isById && !live) return found ? prospectErased() : prospectNotFound()
      const prospects = live ? await store.prospects.findWithMerged(live) : []
      if (live && prospects.length === 0) return 'overtaken'

      const begun = (named: Named, partOf: string | null): StoredErasure => ({
        tenantId,
        erasureId: newId('erasure'),
        prospectId: live && named.prospectId,
        emailHash: named.emailHash,
        externalIdHash: named.externalIdHash,
        partOf,
        status: 'processing',
        requestedAt: now,
        completedAt: null,
        logsErased: 0,
        // Identifiers that are already blocked are found as their tombstone.
        blockId: isIdentified(named) ? ((live ? null : named.prospectId) ?? newId('prospect')) : null,
        blockedUntil: null,
        pass: 1,
      })
      const [person = found ?? { ...whom, prospectId: null }, ...merged] = prospects
      const own = begun(person, null)
      // Found only by the former hash of the email: the address itself is blocked too.
      const isFormer = found !== undefined && !known.some(({ emailHash }) => emailHash === whom.emailHash)
      const address = isFormer && whom.emailHash !== null ? [{ ...whom, prospectId: null }] : []
      const parts = [...merged, ...address].map((named) => begun(named, own.erasureId))
      // All blocks end together, so any of them has the end.
      const [blockId = null] = [own, ...parts].flatMap(({ blockId }) => blockId ?? [])
      const erasures = [{ ...own, blockId }, ...parts]
      const events = prospects.map(({ prospectId }) =>
        newEvent(newId, 'prospect.erased', { tenantId, apiKeyId }, { prospectId }, now),
      )
      const recorded = await store.erasures.record({ tenantId, now, until, prospects, erasures }, events)
      return recorded === 'recorded' ? getErasure({ store })(own) : recorded
    })
  }

type Named = Pick<KnownProspect, 'emailHash' | 'externalIdHash'> & { readonly prospectId: string | null }

/** The person to erase: wants that find prospects and an erasure, and the hashes of the given identifiers. */
const erasureTarget = ({ tenantId, prospectId, email, externalId }: ErasureRequest) => {
  const refuseAs = (detail: string, name = 'email') =>
    refuse('invalid_request', 'An erasure names a person by one of prospectId, externalId and email.', {
      errors: [{ detail, pointer: `/${name}` }],
    })
  if (prospectId !== undefined && email !== undefined) refuseAs('must not be given with a prospectId')
  if (externalId !== undefined && (prospectId ?? email) !== undefined)
    refuseAs('must not be given with a prospectId or an email', 'externalId')
  const matchable = identifiersOf({ email, externalId })
  const { emailHash, externalIdHash } = matchable
  const prospects = prospectId === undefined ? [] : [{ tenantId, prospectId }]
  const wants = { prospects, ...wantedBy([{ tenantId, matchable }]), keys: [] }
  const [by] = [...prospects, ...wants.emails, ...wants.externalIds]
  if (by !== undefined) return { by, wants, emailHash, externalIdHash }
  if (externalId !== undefined) return refuseAs(NO_IDENTIFIER.externalId, 'externalId')
  const isMissing = email === undefined
  return refuseAs(isMissing ? 'is required without a prospectId or externalId' : NO_IDENTIFIER.email)
}
