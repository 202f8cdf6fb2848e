import type { Erasure, NewErasure } from '../shapes/erasure.ts'
import { decideAndSave } from './decide-and-save.ts'
import { type MatchableEmail, matchableEmail } from './emails.ts'
import { DomainFailure, refuse } from './failures.ts'
import { erasureOf } from './list-erasures.ts'
import type { StoredProspect } from './ports/activities.ts'
import type { ErasureChanges, StoredErasure } from './ports/erasures.ts'
import type { Needs } from './ports/store.ts'
import type { NewId } from './ports/world.ts'
import { DAY_MS, isoTime } from './times.ts'

/**
 * Until nothing is left of the person, with a margin: the second pass would take what is logged for a person who has
 * returned for what was left.
 */
const BLOCK_MS_MIN = 60 * 60_000

/** Whom to erase: exactly one of prospect id and email. */
export type ErasureRequest = NewErasure & { readonly tenantId: string }

/** The prospect, live or erased, or the tombstone that blocks the email; and the erasure that is in progress, if any. */
type Known = { readonly prospect: StoredProspect | null; readonly running: StoredErasure | null }

/**
 * Erases a person, by prospect id or by email. The prospect is a tombstone and the email is blocked when this resolves;
 * `eraseProspects` does the rest. A request for a person who is being erased answers that erasure; it may extend the block.
 *
 * Refuses `invalid_request`, `prospect_not_found`, and `prospect_erased` for a prospect whose erasure is completed.
 */
export const requestErasure = ({ store, clock, newId }: Needs<'activities' | 'erasures'>) => {
  const recall = async ({ tenantId, prospectId }: ErasureRequest, email: MatchableEmail | null) => {
    const wanted = prospectId === undefined ? [] : [{ tenantId, prospectId }]
    const emails = email === null ? [] : [{ tenantId, emailHash: email.emailHash }]
    const { prospects } = await store.activities.recall({ prospects: wanted, emails, keys: [] })
    const [prospect = null] = prospects
    if (prospect?.erasedAt === null) return { prospect, running: null }
    return {
      prospect,
      running: await store.erasures.find({ tenantId, ...(emails[0] ?? { prospectId: prospectId ?? '' }) }),
    }
  }
  return async (request: ErasureRequest): Promise<Erasure> => {
    const now = clock()
    const email = checkedEmail(request)
    const [outcome] = await decideAndSave([request], {
      recall: () => recall(request, email),
      decide: (_, known) => decide(request, email, known, now, newId),
      record: (changes) => store.erasures.record(changes),
    })
    if (outcome === undefined || outcome instanceof DomainFailure) throw outcome
    return erasureOf(outcome)
  }
}

const checkedEmail = ({ prospectId, email }: ErasureRequest): MatchableEmail | null => {
  const refuseAt = (pointer: string, detail: string) =>
    refuse('invalid_request', 'An erasure names either a prospect or an email.', {
      errors: [{ detail, pointer }],
    })
  if (prospectId !== undefined && email !== undefined)
    refuseAt('/email', 'must not be given with a prospectId')
  if (prospectId !== undefined) return null
  if (email === undefined) return refuseAt('/email', 'is required without a prospectId')
  return matchableEmail(email) ?? refuseAt('/email', 'is blank or a placeholder')
}

const decide = (
  { tenantId, prospectId, blockDays }: ErasureRequest,
  email: MatchableEmail | null,
  { prospect, running }: Known,
  nowMs: number,
  newId: NewId,
): { outcomes: StoredErasure[]; changes: ErasureChanges | null } => {
  if (prospectId !== undefined && running === null) {
    if (prospect === null) refuse('prospect_not_found', 'Prospect not found.')
    if (prospect?.erasedAt !== null) refuse('prospect_erased', 'The prospect was erased.')
  }
  const now = isoTime(nowMs)
  const live = prospect?.erasedAt === null ? prospect : null
  const emailHash = (running ?? live ?? email)?.emailHash ?? null
  const erasure = running ?? {
    tenantId,
    erasureId: newId('erasure'),
    prospectId: live?.prospectId ?? null,
    emailHash,
    status: 'processing',
    requestedAt: now,
    completedAt: null,
    logsErased: 0,
  }
  const until = isoTime(nowMs + Math.max(blockDays * DAY_MS, BLOCK_MS_MIN))
  const block = emailHash === null ? null : { prospectId: newId('prospect'), emailHash, until }
  const changes = { tenantId, now, erasure: running === null ? erasure : null, block }
  return { outcomes: [erasure], changes: running && !block ? null : changes }
}
