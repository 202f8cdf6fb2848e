import type { ProspectLogReceipt } from '../../shapes/prospect-log.ts'
import { decideAndSave, decideAndSaveRest } from '../engine/decide-and-save.ts'
import { DomainFailure, prospectNotFound } from '../engine/failures.ts'
import { type GatherOptions, gather } from '../engine/gather.ts'
import { earlierRequests, keyOf } from '../engine/keys.ts'
import { attempt, attemptEach, type Outcome } from '../engine/outcome.ts'
import { isoTime } from '../engine/times.ts'
import { eventsOfFilled } from '../events/new-event.ts'
import type {
  ActivityChanges,
  KnownActivities,
  NewLog,
  RememberedLog,
  StoredProspect,
} from '../ports/activities.ts'
import type { Needs } from '../ports/store.ts'
import { identifiersOf, isIdentified, wantedBy } from '../prospects/identifiers.ts'
import { refuseUnidentified } from '../prospects/refuse-unidentified.ts'
import { assumedOf, knownProspects, recallWithSurvivors } from './known-prospects.ts'
import type { KeyedActivity, LocatedActivity, Logged, NewActivity } from './new-log.ts'
import { nameIn, newLog, occurredAtOf, receiptOf, weightOf, withKey } from './new-log.ts'
import type { RememberedProspects } from './remember-prospects.ts'

/** `replayed`: the same request was already made under this idempotency key, and this is its first answer. */
export type LoggedActivity = { readonly receipt: ProspectLogReceipt; readonly replayed: boolean }

type Deps = Needs<'activities'> & {
  /** Refuse an activity without a prospect id, an external id or an email to find its prospect by. */
  readonly requireIdentity?: boolean
  /** Remembers the prospects that were looked up or added. */
  readonly remembered?: RememberedProspects | undefined
}

/**
 * Logs what prospects did, many at once, each in the order given. Checks neither the tenant nor any field: it stores
 * its input. `createService` checks.
 *
 * The prospect is the one named by `prospectId`, else by `externalId`, else the one with this email, else a new one. Its
 * blanks are filled, nothing is overwritten. A request repeated under its idempotency key gets its first answer.
 *
 * A list whose prospects are all remembered is written without a look-up. Activities that the store skips, because
 * their idempotency key is taken or what is remembered is no longer so, are then decided like any other list.
 *
 * Refuses, per activity: `prospect_not_found`, `prospect_erased`, `idempotency_key_reused`, `invalid_request`.
 */
export const logProspectActivities = (deps: Deps) => {
  const { store, clock, newId, remembered } = deps

  /** The slow path: looks up prospects and keys. */
  const steps = {
    recall: (activities: readonly Activity[]) => recallWithSurvivors(store.activities, wantsOf(activities)),
    // The time is read when the ids are made: what arrived since a time is found by the times in ids.
    decide: (activities: readonly Activity[], known: KnownActivities) =>
      decide(activities, known, isoTime(clock()), deps),
    record: async ({ seen, ...changes }: Decision) => {
      const recorded = await store.activities.record(changes, eventsOfFilled(newId, changes))
      if (recorded === 'recorded')
        for (const { activity, prospect } of seen) remembered?.add(activity, prospect)
      return recorded
    },
  }

  return async (inputs: readonly LocatedActivity[]): Promise<readonly Outcome<LoggedActivity>[]> => {
    const activities = inputs.map(withKey)
    const logs = logsOfRemembered(activities, deps)
    if (logs === undefined) return decideAndSave(activities.map(withIdentifiers), steps)

    const added = new Set(await store.activities.recordLogs(logs))
    if (added.size === logs.length) return logs.map((log) => ({ receipt: receiptOf(log), replayed: false }))
    const skipped = activities.filter((_, i) => !added.has(logs[i]?.prospectLogId ?? ''))
    for (const activity of skipped) remembered?.forget(activity)
    const decided = (await decideAndSaveRest(skipped.map(withIdentifiers), steps)).values()
    return logs.map((log) =>
      added.has(log.prospectLogId)
        ? { receipt: receiptOf(log), replayed: false }
        : (decided.next().value as Outcome<LoggedActivity>),
    )
  }
}

/** From this weight on, writing an activity takes the database many times as long as writing a small one. */
const LARGE_WEIGHT = 65_536

/**
 * Gathers single calls. No activity of a remembered prospect waits for the look-up of another one, and no small activity
 * for the write of a large one.
 */
export const gatherActivities = (
  logAll: ReturnType<typeof logProspectActivities>,
  { locate }: Pick<RememberedProspects, 'locate'>,
  options: GatherOptions<LocatedActivity>,
) => {
  const gathered = () => gather(logAll, { ...options, weightOf })
  const [logAtOnce, logWithLookup, logLarge] = [gathered(), gathered(), gathered()]
  return (activity: NewActivity): Promise<LoggedActivity> => {
    const located = locate(activity)
    if (weightOf(activity) >= LARGE_WEIGHT) return logLarge(located)
    return located.remembered ? logAtOnce(located) : logWithLookup(located)
  }
}

/** The logs, if all prospects were found in memory, no key comes twice and no time is refused. Else undefined. */
const logsOfRemembered = (activities: readonly KeyedActivity[], { clock, newId }: Deps) => {
  if (!activities.every(({ remembered }) => remembered)) return undefined
  const keys = activities.flatMap(({ key }) => key ?? [])
  if (new Set(keys).size < keys.length) return undefined
  const now = isoTime(clock())
  const logs = attempt(() => {
    const all: RememberedLog[] = []
    for (const activity of activities) {
      const { remembered } = activity
      if (remembered === undefined) return undefined
      const log = newLog(activity, remembered.prospectId, false, now, newId)
      all.push({ ...log, prospectUpdatedAt: remembered.updatedAt })
    }
    return all
  })
  return logs instanceof DomainFailure ? undefined : logs
}

type Activity = ReturnType<typeof withIdentifiers>
const withIdentifiers = (activity: KeyedActivity) => ({
  ...activity,
  matchable: identifiersOf(activity),
  prospectName: nameIn(activity),
})

const wantsOf = (activities: readonly Activity[]) => ({
  prospects: activities.flatMap(({ tenantId, prospectId }) =>
    prospectId === undefined ? [] : [{ tenantId, prospectId }],
  ),
  identifiers: activities.flatMap(({ tenantId, matchable }) => wantedBy(tenantId, matchable)),
  keys: activities.flatMap(({ tenantId, source, idempotencyKey }) =>
    idempotencyKey === undefined ? [] : [{ tenantId, source, idempotencyKey }],
  ),
  tenantIds: [...new Set(activities.map(({ tenantId }) => tenantId))],
})

/** An activity that needs no look-up the next time, and its prospect, once it is saved. */
type Seen = { readonly activity: Activity; readonly prospect: StoredProspect }
/** Changes to save, and the prospects seen, which are remembered once the changes are saved. */
type Decision = ActivityChanges & { readonly seen: readonly Seen[] }

const UNIDENTIFIED = { detail: 'is required without a prospectId or externalId', pointer: '/email' }

/** Decides a list. Pure. An activity sees the decisions for those before it in the list. */
const decide = (
  activities: readonly Activity[],
  known: KnownActivities,
  now: string,
  { newId, requireIdentity = false }: Deps,
): { outcomes: Outcome<LoggedActivity>[]; changes: Decision | null } => {
  const prospects = knownProspects(known, now)
  const counted = new Map(known.counted.map(({ tenantId, countedId }) => [tenantId, countedId]))
  const earlier = earlierRequests<Logged>(
    known.receipts.map((r) => [keyOf(r.tenantId, r.source, r.idempotencyKey), r]),
    ({ prospectLogId }) => ({ prospectLogId }),
  )
  const logs: NewLog[] = []
  const seen: Seen[] = []

  const logOne = (activity: Activity): LoggedActivity => {
    const { tenantId, prospectId, matchable } = activity
    // Refuses before a replay: its receipt would name an erased prospect.
    const found = prospects.find(tenantId, prospectId, matchable)
    const first = earlier.find(activity.key, activity.requestHash)
    if (first !== undefined) return { receipt: receiptOf(first), replayed: true }
    // Refuses before a prospect is added.
    occurredAtOf(activity, now)
    const { prospect, isNew } = prospectFor(activity, found ?? null)
    const log = newLog(activity, prospect.prospectId, isNew, now, newId, counted.get(tenantId))
    logs.push(log)
    // Without an id or an email that matches, each activity gets a new prospect.
    const isNamed = prospectId !== undefined || isIdentified(matchable)
    if (isNamed && prospects.allLeadTo(prospect, matchable)) seen.push({ activity, prospect })
    earlier.add(activity.key, log)
    return { receipt: receiptOf(log), replayed: false }
  }

  const prospectFor = (activity: Activity, found: StoredProspect | null) => {
    const { tenantId, prospectId, matchable, prospectName: name } = activity
    if (found === null && prospectId !== undefined) prospectNotFound()
    if (found) return { prospect: prospects.filled(found, matchable, name), isNew: false }
    if (!isIdentified(matchable) && requireIdentity && !activity.isVerified)
      refuseUnidentified(activity, 'An activity must identify its prospect.', UNIDENTIFIED)
    return { prospect: prospects.added(tenantId, newId('prospect'), matchable, name), isNew: true }
  }

  const outcomes = attemptEach(activities, logOne)
  if (logs.length === 0) return { outcomes, changes: null }
  const logged = activities.filter((_, i) => !(outcomes[i] instanceof DomainFailure))
  const assumed = assumedOf(wantsOf(logged).identifiers, known)
  return { outcomes, changes: { ...prospects.changes(), logs, assumed, seen } }
}
