import { andThen } from '../engine/and-then.ts'
import { settledEach } from '../engine/outcome.ts'
import type { Effect } from '../engine/prospects-in-waves.ts'
import { type Batch, runInWaves } from '../engine/run-in-waves.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import { fillsOf, overwritesAny } from '../prospects/fills.ts'
import {
  type IdentifiedActivity,
  type LoggedActivity,
  type LogTogether,
  personIn,
} from './log-prospect-activity.ts'
import type { NewActivity } from './new-log.ts'

type Deps = Omit<Needs<never>, 'store'> & {
  readonly logProspectActivity: (activity: NewActivity) => Promise<LoggedActivity>
  /** Saves activities with fewer calls of the store. Without it, each is logged alone. */
  readonly logActivitiesTogether?: LogTogether | undefined
}

/**
 * Logs activities of one tenant in order: each finds the prospects that those before it created, and their ids rise.
 * Returns the answer or the error of each. After `unavailable` the rest is not tried, and gets the same error.
 */
export const logProspectActivities = (deps: Deps) => {
  const { logProspectActivity, clock, newId } = deps
  const logEachAlone = (identified: readonly IdentifiedActivity[]) =>
    settledEach(identified, ({ activity }) => logProspectActivity(activity))
  const { logActivitiesTogether = logEachAlone } = deps
  let lastMs = 0
  let createdAt = isoTime(lastMs)
  // The time is read when the ids are made: what arrived since a time is found by the times in ids.
  const reserve = (unreserved: NewActivity): IdentifiedActivity => {
    const nowMs = clock()
    if (nowMs !== lastMs) createdAt = isoTime(nowMs)
    lastMs = nowMs
    const activity = { ...unreserved, reserved: { createdAt, prospectLogId: newId('prospectlog') } }
    return { activity, person: personIn(activity) }
  }
  return <Input>({
    inputs,
    prepare,
    weightOf,
    beforeList,
  }: Batch<Input, NewActivity>): Promise<readonly (LoggedActivity | Error)[]> =>
    runInWaves(inputs, {
      weightOf,
      beforeList,
      prepare: (input) => andThen(prepare(input), reserve),
      effectOf,
      runEach: logActivitiesTogether,
    })
}

const effectOf = ({ activity, person }: IdentifiedActivity): Effect => {
  const { source, idempotencyKey, keyScope = '' } = activity
  const { prospectId, identifiers: sent } = person.lookup
  // Hashes are shorter, and are looked up later anyway. An email and an equal external id may take two waves for that.
  const identifiers = sent.map(({ hash }) => hash)
  if (prospectId !== undefined) identifiers.push(prospectId)
  return {
    identifiers,
    fills: fillsOf(activity),
    overwrites: overwritesAny(activity),
    idempotencyKey: idempotencyKey === undefined ? undefined : `${source}\0${idempotencyKey}\0${keyScope}`,
  }
}
