import { NAMED_MAX } from '../../shapes/body.ts'
import type { ProspectLogReceipt } from '../../shapes/prospect-log.ts'
import { andThen } from '../engine/and-then.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { decideAndSaveEach, type StepsOfEach } from '../engine/decide-and-save-each.ts'
import { prospectNotFound, refuse } from '../engine/failures.ts'
import { requireSame } from '../engine/keys.ts'
import { settledEach } from '../engine/outcome.ts'
import type { Replayable } from '../engine/result.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { LogChange, Recording, StoredProspect, StoredReceipt } from '../ports/activities.ts'
import type { NewEvent } from '../ports/events.ts'
import type { Needs, Store } from '../ports/store.ts'
import { ignoredAttributes, NOTHING_GAINED, sentAttributes } from '../prospects/attributes.ts'
import { identifiersOf, identifiersToLookUp, isIdentified } from '../prospects/identifiers.ts'
import {
  addedProspect,
  filledProspect,
  gainsOf,
  ignoringPlaceholderEmail,
  type KnownPerson,
  matchProspect,
  type Person,
  recallPerson,
} from '../prospects/match-prospect.ts'
import { type MayNoteConflicts, namesOthers, noteConflicts } from '../prospects/note-conflicts.ts'
import { refuseUnidentified } from '../prospects/refuse-unidentified.ts'
import { hasSameValue, isExpired, scopeOfNewLog, scopesToLookUp } from './activity-keys.ts'
import {
  type NewActivity,
  nameIn,
  newLog,
  receiptOf,
  requestHashIn,
  requirePlausibleTime,
  reservationAfter,
} from './new-log.ts'

/** The receipt of an activity. */
export type LoggedActivity = Replayable<ProspectLogReceipt> & {
  /** Set if a hook delivered an activity under the key of an earlier one, and it is about another person. */
  readonly isAboutAnother?: true
}

type Deps = Needs<'activities'> &
  MayNoteConflicts & {
    /** A store that shows no logs compares payloads by their bytes alone; one that shows no prospects keeps no attributes. */
    readonly store: Partial<Pick<Store, 'prospectLogs' | 'prospects'>>
    /** Refuse an activity without a prospect id, an external id or an email to find its prospect by. */
    readonly requireIdentity?: boolean | undefined
  }

/**
 * Logs what a prospect did. Checks neither the tenant nor any field: it stores its input. `createService` checks.
 *
 * The prospect is the one named by `prospectId`, else by `externalId`, else the one with this email, else a new one. Its
 * blanks are filled, nothing is overwritten but attributes, if its mode says so. Another prospect that it names is noted as
 * a conflict. A request repeated under its idempotency key gets its first answer, even if its payload was written as JSON
 * again. Only then is the stored payload read. A hook's delivery is a replay whatever differs.
 *
 * Refuses `prospect_not_found`, `prospect_erased`, `idempotency_key_reused`, `invalid_request`.
 */
export const logProspectActivity =
  (deps: Deps) =>
  (activity: NewActivity): Promise<LoggedActivity> => {
    const { activities } = deps.store
    const identified = { activity, person: personIn(activity) }
    return decideAndSave({
      recall: () => recallWithSameRequest(identified, deps),
      decide: (known) => decide(identified, known, deps),
      record: (change) => {
        const recorded = activities.record(change, eventsOf(change, deps.newId))
        if (!namesOthers(change)) return recorded
        return recorded.then(async (outcome) => {
          if (outcome === 'recorded') await noteConflicts(deps, [change])
          return outcome
        })
      },
    })
  }

/** An activity to log together with others, and whom it is about. */
export type IdentifiedActivity = { readonly activity: NewActivity; readonly person: Person }
export type LogTogether = (
  activities: readonly IdentifiedActivity[],
) => Promise<readonly (LoggedActivity | Error)[]>

/**
 * `logProspectActivity` for several activities that do not affect each other: they are saved by one call of the store, and
 * what they say about two prospects is noted by another. Returns the answer or the error of each.
 */
export const logActivitiesTogether = (deps: Deps): LogTogether => {
  const logAlone = logProspectActivity(deps)
  const { activities } = deps.store
  const recordEach = async (changes: readonly LogChange[]) => {
    const recordings = changes.map((change) => ({ change, events: eventsOf(change, deps.newId) }))
    const outcomes = await recordTogether(activities, recordings)
    await noteConflicts(
      deps,
      changes.filter((change, i) => outcomes[i] === 'recorded' && namesOthers(change)),
    )
    return outcomes
  }
  const steps: StepsOfEach<IdentifiedActivity, Known, LogChange, LoggedActivity> = {
    recall: (identified) => recallWithSameRequest(identified, deps),
    decide: (identified, known) => decide(identified, known, deps),
    recordEach,
    alone: ({ activity }) => logAlone(activity),
  }
  return (activities) => decideAndSaveEach(activities, steps)
}

/** A small store saves each alone. */
const recordTogether = (activities: Store['activities'], recordings: readonly Recording[]) =>
  activities.recordEach?.(recordings) ??
  settledEach(recordings, ({ change, events }) => activities.record(change, events))

/** Whom an activity is about, and under which key it is sent. */
export const personIn = (activity: NewActivity): Person => {
  const { tenantId, prospectId, source, idempotencyKey, isShared, attributesMode } = activity
  const matchable = identifiersOf(activity)
  const key =
    idempotencyKey === undefined ? undefined : { source, idempotencyKey, ...scopesToLookUp(activity) }
  const lookup = { tenantId, prospectId, identifiers: identifiersToLookUp(tenantId, matchable), key }
  const attributes = isShared ? null : sentAttributes(activity.attributes, attributesMode)
  return { lookup, matchable, name: nameIn(activity), attributes }
}

/** What the store knows, and whether its payload has the same value as this one, if it has another text. */
type Known = KnownPerson & { readonly isSameValue?: boolean }

const recallWithSameRequest = (
  { activity, person }: IdentifiedActivity,
  deps: Deps,
): Promise<Known> | Known => {
  const recalled = recallPerson(deps.store, person)
  if (person.lookup.key === undefined) return recalled
  return andThen<KnownPerson, Known>(recalled, (known) => {
    const { receipt } = known
    if (receipt === null || activity.isVerified) return known
    return hasSameValue(activity, receipt, deps).then((isSameValue) => ({ ...known, isSameValue }))
  })
}

/** What to return, and what to store, if it is not a replay. */
const decide = (
  { activity, person: sent }: IdentifiedActivity,
  recalled: Known,
  { store, clock, newId, requireIdentity = false }: Deps,
): { readonly answer: LoggedActivity; readonly change: LogChange | null } => {
  const reserved = reservationAfter(activity, recalled.countedId)
  // Ids and `createdAt` come from one clock reading, because feeds filter by the time in an id.
  const createdAt = reserved?.createdAt ?? isoTime(clock())
  const { person, known } = ignoringPlaceholderEmail(sent, recalled)
  const { lookup, matchable } = person
  if (activity.mustIdentify && !isIdentified(matchable)) refusePlaceholder()
  // Refuses before a replay: its receipt would name an erased prospect.
  const found = matchProspect(known, lookup.prospectId, matchable)
  const { receipt } = known
  // A store that shows no prospects keeps no attributes, nor does the one prospect of a hook, who is no person.
  const keepsAttributes = store.prospects !== undefined && !activity.isShared
  const gained = keepsAttributes ? gainsOf(person, known, found) : NOTHING_GAINED
  const ignored = ignoredOf(activity, keepsAttributes ? gained.leftOut : null)
  if (receipt !== null && !isExpired(activity, receipt, createdAt)) {
    const { prospectLogId } = receipt
    const value = receiptOf(receipt, ignored)
    if (activity.isVerified && isAboutAnother(person, found, receipt))
      return { answer: { value, replayed: true, isAboutAnother: true }, change: null }
    const isRepeated = activity.isVerified || recalled.isSameValue
    if (!isRepeated) requireSame(receipt, requestHashIn(activity), { prospectLogId })
    return { answer: { value, replayed: true }, change: null }
  }
  requirePlausibleTime(activity, createdAt)
  if (found === undefined) {
    if (lookup.prospectId !== undefined) prospectNotFound()
    if (!isIdentified(matchable) && requireIdentity && !activity.isVerified)
      refuseUnidentified(activity, 'An activity must identify its prospect.', UNIDENTIFIED)
  }
  const saved = found
    ? filledProspect(found, person, known, gained, createdAt)
    : addedProspect(person, known, gained, createdAt, newId)
  const log = newLog(activity, {
    prospectLogId: reserved?.prospectLogId ?? newId('prospectlog', known.countedId ?? undefined),
    prospectId: saved.prospect.prospectId,
    createdProspect: found === undefined,
    createdAt,
    keyScope: scopeOfNewLog(activity, receipt),
  })
  return { answer: { value: receiptOf(log, ignored), replayed: false }, change: { lookup, ...saved, log } }
}

/** What a receipt names as not stored. `leftOut`: the attributes among that; null: all of them. */
const ignoredOf = (
  { attributes, ignored }: NewActivity,
  leftOut: readonly string[] | null,
): readonly string[] | undefined => {
  if (attributes === undefined) return ignored
  const others = leftOut === null ? ['attributes'] : ignoredAttributes(leftOut)
  return others.length === 0 ? ignored : [...(ignored ?? []), ...others].slice(0, NAMED_MAX)
}

/** Whether an activity names a person, and another one than the log that has its key. */
export const isAboutAnother = (
  { matchable }: Person,
  found: StoredProspect | undefined,
  { prospectId }: StoredReceipt,
): boolean => isIdentified(matchable) && found?.prospectId !== prospectId

const refusePlaceholder = () =>
  refuse('invalid_request', 'The email is a placeholder of the tenant.', {}, { isUnidentified: true })
const UNIDENTIFIED = { detail: 'is required without a prospectId or externalId', pointer: '/email' }

const NO_EVENTS: readonly NewEvent[] = []
/** The event of a prospect whose blanks are filled. The store adds those of the log. */
const eventsOf = (
  { log, prospect, unchangedSince }: LogChange,
  newId: Deps['newId'],
): readonly NewEvent[] => {
  const isFilled = unchangedSince !== null && prospect.updatedAt !== unchangedSince
  if (!isFilled) return NO_EVENTS
  return [
    newEvent(newId, {
      type: 'prospect.updated',
      sender: log,
      ids: { prospectId: prospect.prospectId },
      createdAt: log.createdAt,
    }),
  ]
}
