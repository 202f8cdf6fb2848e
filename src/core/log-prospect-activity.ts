import type { RawJson } from '../shapes/json.ts'
import type { NewProspectLog, ProspectLogReceipt } from '../shapes/prospect-log.ts'
import { attempt } from './attempt.ts'
import { canonicalJson } from './canonical-json.ts'
import { decideAndSave } from './decide-and-save.ts'
import { matchableEmail } from './emails.ts'
import { type Outcome, refuse } from './failures.ts'
import { sha256 } from './hashes.ts'
import { keyOf } from './key-of.ts'
import { knownProspects } from './known-prospects.ts'
import type { ActivityChanges, ActivityWants, Clock, KnownActivities, NewId, NewLog, Store } from './ports.ts'
import { isoTime } from './times.ts'

export type NewActivity = Omit<NewProspectLog, 'payload'> & {
  readonly tenantId: string
  readonly payload: RawJson
}
/** `replayed`: the first answer to a request that came before under the same idempotency key. */
export type LoggedActivity = { readonly receipt: ProspectLogReceipt; readonly replayed: boolean }

type Deps = {
  readonly store: Pick<Store, 'activities'>
  readonly clock: Clock
  readonly newId: NewId
  /** Refuse an activity that has neither a prospect's id nor an email to find one by. */
  readonly requireIdentity?: boolean
}

/**
 * Logs what prospects did, many at once, each in the order given (specification 4.1).
 *
 * A prospect is the one named by `prospectId`, else the one with this email, else a new one. What is blank in it is
 * filled from the activity's email and name; nothing is overwritten. A request whose idempotency key came before
 * from the same source is answered as it was then.
 *
 * Refuses, each activity by itself: `prospect_not_found`, `idempotency_key_reused`, `invalid_request`.
 */
export const logProspectActivities =
  (deps: Deps) =>
  async (inputs: readonly NewActivity[]): Promise<readonly Outcome<LoggedActivity>[]> => {
    const now = isoTime(deps.clock())
    const activities = inputs.map(read)
    return decideAndSave({
      recall: () => deps.store.activities.recall(wantsOf(activities)),
      decide: (known) => decide(activities, known, now, deps),
      record: (changes) => deps.store.activities.record(changes),
    })
  }

/** An activity with what identifies its prospect and, where it has an idempotency key, itself. */
type Activity = ReturnType<typeof read>
const read = (input: NewActivity) => ({
  ...input,
  matchable: matchableEmail(input.email),
  prospectName: input.name?.trim() ? input.name : null,
  requestHash: input.idempotencyKey === undefined ? null : requestHashOf(input),
})

const requestHashOf = ({ type, payload, prospectId, email, name }: NewActivity): string =>
  sha256(JSON.stringify([type, prospectId ?? null, email ?? null, name ?? null]) + canonicalJson(payload))

const wantsOf = (activities: readonly Activity[]): ActivityWants => ({
  prospects: activities.flatMap(({ tenantId, prospectId }) =>
    prospectId === undefined ? [] : [{ tenantId, prospectId }],
  ),
  emails: activities.flatMap(({ tenantId, matchable }) =>
    matchable === null ? [] : [{ tenantId, emailHash: matchable.emailHash }],
  ),
  keys: activities.flatMap(({ tenantId, source, idempotencyKey }) =>
    idempotencyKey === undefined ? [] : [{ tenantId, source, idempotencyKey }],
  ),
})

/** Pure. An activity sees what the ones before it in the list decided. */
const decide = (
  activities: readonly Activity[],
  known: KnownActivities,
  now: string,
  { newId, requireIdentity = false }: Deps,
): { outcomes: Outcome<LoggedActivity>[]; changes: ActivityChanges | null } => {
  const prospects = knownProspects(known.prospects)
  const receipts = new Map(known.receipts.map((r) => [keyOf(r.tenantId, r.source, r.idempotencyKey), r]))
  const logs: NewLog[] = []

  const logOne = (activity: Activity): LoggedActivity => {
    const { tenantId, source, type, payload, email, name, idempotencyKey, requestHash } = activity
    const key = idempotencyKey === undefined ? null : keyOf(tenantId, source, idempotencyKey)
    const first = key === null ? undefined : receipts.get(key)
    if (first !== undefined) {
      if (first.requestHash !== requestHash)
        refuse('idempotency_key_reused', 'This idempotency key came before with another request.', {
          prospectLogId: first.prospectLogId,
        })
      return { receipt: receiptOf(first), replayed: true }
    }

    const { prospectId, createdProspect } = prospectFor(activity)
    const log: NewLog = {
      tenantId,
      prospectLogId: newId('prospectlog'),
      prospectId,
      source,
      type,
      payload,
      email: email ?? null,
      name: name ?? null,
      idempotencyKey: idempotencyKey ?? null,
      requestHash,
      createdProspect,
      createdAt: now,
    }
    logs.push(log)
    if (key !== null && idempotencyKey !== undefined && requestHash !== null)
      receipts.set(key, { ...log, idempotencyKey, requestHash })
    return { receipt: receiptOf(log), replayed: false }
  }

  const prospectFor = (activity: Activity): { prospectId: string; createdProspect: boolean } => {
    const { tenantId, prospectId, matchable, prospectName: name } = activity
    const found =
      prospectId !== undefined
        ? (prospects.byId(tenantId, prospectId) ??
          refuse('prospect_not_found', 'There is no prospect with this id.'))
        : matchable && prospects.byEmail(tenantId, matchable.emailHash)
    if (found) {
      prospects.fillBlanks(found, matchable, name, now)
      return { prospectId: found.prospectId, createdProspect: false }
    }
    if (matchable === null && requireIdentity)
      refuse('invalid_request', 'An activity must say whose it is.', {
        errors: [{ detail: 'is required where there is no prospectId: an email', pointer: '/email' }],
      })
    const added = newId('prospect')
    prospects.add({
      tenantId,
      prospectId: added,
      email: matchable?.email ?? null,
      emailHash: matchable?.emailHash ?? null,
      name,
      createdAt: now,
    })
    return { prospectId: added, createdProspect: true }
  }

  const outcomes = activities.map((activity) => attempt(() => logOne(activity)))
  return { outcomes, changes: logs.length === 0 ? null : { prospects: prospects.changes(), logs } }
}

const receiptOf = (
  log: Pick<NewLog, 'prospectId' | 'prospectLogId' | 'createdAt' | 'createdProspect' | 'source' | 'type'>,
): ProspectLogReceipt => ({
  prospectId: log.prospectId,
  prospectLogId: log.prospectLogId,
  createdAt: log.createdAt,
  createdProspect: log.createdProspect,
  source: log.source,
  type: log.type,
})
