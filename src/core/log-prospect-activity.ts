import type { RawJson } from '../shapes/json.ts'
import type { NewProspectLog, ProspectLogReceipt } from '../shapes/prospect-log.ts'
import { decideAndSave } from './decide-and-save.ts'
import { matchableEmail } from './emails.ts'
import { refuse } from './failures.ts'
import { earlierRequests, requestHashOf } from './idempotency.ts'
import { keyOf } from './keys.ts'
import { knownProspects } from './known-prospects.ts'
import { attempt, type Outcome } from './outcome.ts'
import type { ActivityChanges, ActivityWants, KnownActivities, NewLog } from './ports/activities.ts'
import type { Needs } from './ports/store.ts'
import { isoTime } from './times.ts'

/** What a prospect did, to be logged. `payload.rawJson` is the text of a JSON object. */
export type NewActivity = Omit<NewProspectLog, 'payload'> & {
  readonly tenantId: string
  readonly payload: RawJson
}
/** `replayed`: the same request was made before under this idempotency key, and this is its first answer. */
export type LoggedActivity = { readonly receipt: ProspectLogReceipt; readonly replayed: boolean }

type Deps = Needs<'activities'> & {
  /** Refuse an activity without a prospect id or an email to find its prospect by. */
  readonly requireIdentity?: boolean
}

/**
 * Logs what prospects did, many at once, each in the order given. Checks neither the tenant nor any field:
 * what it is given is stored. `createService` checks.
 *
 * The prospect is the one named by `prospectId`, else the one with this email, else a new one. The activity's email and
 * name fill its blanks; nothing is overwritten. A request repeated under its idempotency key gets its first answer.
 *
 * Refuses, per activity: `prospect_not_found`, `idempotency_key_reused`, `invalid_request`.
 */
export const logProspectActivities =
  (deps: Deps) =>
  async (inputs: readonly NewActivity[]): Promise<readonly Outcome<LoggedActivity>[]> => {
    const now = isoTime(deps.clock())
    const activities = inputs.map(read)
    return decideAndSave(activities, {
      recall: (activities) => deps.store.activities.recall(wantsOf(activities)),
      decide: (activities, known) => decide(activities, known, now, deps),
      record: (changes) => deps.store.activities.record(changes),
    })
  }

/** An activity with what identifies its prospect and, if it has an idempotency key, the request. */
type Activity = ReturnType<typeof read>
const read = (input: NewActivity) => {
  const { tenantId, source, type, payload, prospectId, email, name, idempotencyKey } = input
  const key = idempotencyKey === undefined ? null : keyOf(tenantId, source, idempotencyKey)
  return {
    ...input,
    matchable: matchableEmail(email),
    prospectName: name?.trim() ? name : null,
    key,
    requestHash: key === null ? null : requestHashOf([type, prospectId, email, name], payload),
  }
}

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

/** Pure. An activity sees what was decided for those before it in the list. */
const decide = (
  activities: readonly Activity[],
  known: KnownActivities,
  now: string,
  { newId, requireIdentity = false }: Deps,
): { outcomes: Outcome<LoggedActivity>[]; changes: ActivityChanges | null } => {
  const prospects = knownProspects(known.prospects, now)
  const earlier = earlierRequests<Logged>(
    known.receipts.map((r) => [keyOf(r.tenantId, r.source, r.idempotencyKey), r]),
    ({ prospectLogId }) => ({ prospectLogId }),
  )
  const logs: NewLog[] = []

  const logOne = (activity: Activity): LoggedActivity => {
    const { tenantId, source, type, payload, email, name, idempotencyKey, key, requestHash } = activity
    const first = earlier.find(key, requestHash)
    if (first !== undefined) return { receipt: receiptOf(first), replayed: true }

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
    earlier.add(key, log)
    return { receipt: receiptOf(log), replayed: false }
  }

  const prospectFor = (activity: Activity): { prospectId: string; createdProspect: boolean } => {
    const { tenantId, prospectId, matchable, prospectName: name } = activity
    const found =
      prospectId !== undefined
        ? (prospects.byId(tenantId, prospectId) ?? refuse('prospect_not_found', 'Prospect not found.'))
        : matchable && prospects.byEmail(tenantId, matchable.emailHash)
    if (found) {
      prospects.fillBlanks(found, matchable, name)
      return { prospectId: found.prospectId, createdProspect: false }
    }
    if (matchable === null && requireIdentity)
      refuse('invalid_request', 'An activity must identify its prospect.', {
        errors: [{ detail: 'is required without a prospectId', pointer: '/email' }],
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

/** What a receipt is made of, new or recalled. */
type Logged = Pick<NewLog, keyof ProspectLogReceipt | 'requestHash'>
const receiptOf = (log: Logged): ProspectLogReceipt => ({
  prospectId: log.prospectId,
  prospectLogId: log.prospectLogId,
  createdAt: log.createdAt,
  createdProspect: log.createdProspect,
  source: log.source,
  type: log.type,
})
