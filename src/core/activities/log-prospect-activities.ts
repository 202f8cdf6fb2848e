import { inOrder, type Ties } from '../engine/in-order.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import { normalizedTexts } from '../prospects/identifiers.ts'
import type { LoggedActivity } from './log-prospect-activity.ts'
import { type NewActivity, weightOf } from './new-log.ts'

type Deps = Omit<Needs<never>, 'store'> & {
  readonly logProspectActivity: (activity: NewActivity) => Promise<LoggedActivity>
}
type Steps<Input> = {
  /** Makes the activity, when its turn comes. Its failure is its answer. */
  readonly prepare: (input: Input) => NewActivity | Promise<NewActivity>
  /** The cost of that, in characters. */
  readonly weightOf?: (input: Input) => number
  /** Resolves when a list of this length may begin. */
  readonly beforeList?: ((length: number) => Promise<void> | undefined) | undefined
}

/**
 * Logs activities of one tenant in order: each finds the prospects that those before it created, and their ids rise.
 * Returns each with its answer or its error. After `unavailable` the rest is not tried, and fails alike.
 */
export const logProspectActivities = ({ logProspectActivity, clock, newId }: Deps): LogAll => {
  let reservedMs = Number.NaN
  let createdAt = ''
  // The time is read when the ids are made: what arrived since a time is found by the times in ids.
  const reserve = (activity: NewActivity): NewActivity => {
    const nowMs = clock()
    if (nowMs !== reservedMs) createdAt = isoTime(nowMs)
    reservedMs = nowMs
    return { ...activity, reserved: { createdAt, prospectLogId: newId('prospectlog') } }
  }
  const logInOrder = <Input>(inputs: readonly Input[], { prepare, ...steps }: Steps<Input>) =>
    inOrder(inputs, {
      ...steps,
      prepare: (input) => {
        const activity = prepare(input)
        return activity instanceof Promise ? activity.then(reserve) : reserve(activity)
      },
      tiesOf,
      run: logProspectActivity,
    })
  return <Input>(inputs: readonly Input[], steps?: Steps<Input>) =>
    steps ? logInOrder(inputs, steps) : logInOrder(inputs as readonly NewActivity[], PREPARED)
}
type Logged = Promise<readonly (LoggedActivity | Error)[]>
type LogAll = {
  (activities: readonly NewActivity[]): Logged
  <Input>(inputs: readonly Input[], steps: Steps<Input>): Logged
}
const PREPARED: Steps<NewActivity> = { prepare: (activity) => activity, weightOf }

const tiesOf = ({ source, idempotencyKey, prospectId, ...activity }: NewActivity): Ties => ({
  names: prospectId === undefined ? namesOf(activity) : [...namesOf(activity), `id ${prospectId}`],
  fills: activity.name ?? '',
  key: idempotencyKey === undefined ? undefined : `${source}\0${idempotencyKey}`,
})

/** What names a person, whichever way it is written. */
export const namesOf = (sent: Pick<NewActivity, 'email' | 'externalId'>): string[] => {
  const { email, externalId } = normalizedTexts(sent)
  const names = email === null ? [] : [`email ${email}`]
  return externalId === null ? names : [...names, `externalId ${externalId}`]
}
