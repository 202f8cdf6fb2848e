import { inOrder } from '../engine/in-order.ts'
import type { NewId } from '../ports/world.ts'
import { IDENTIFIER_KINDS, normalizedTexts } from '../prospects/identifiers.ts'
import type { LoggedActivity } from './log-prospect-activity.ts'
import { type NewActivity, weightOf } from './new-log.ts'

type Deps = {
  readonly logProspectActivity: (activity: NewActivity) => Promise<LoggedActivity>
  readonly newId: NewId
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
export const logProspectActivities = ({ logProspectActivity, newId }: Deps): LogAll => {
  const withId = (activity: NewActivity): NewActivity => ({
    ...activity,
    prospectLogId: newId('prospectlog'),
  })
  const logInOrder = <Input>(inputs: readonly Input[], { prepare, ...steps }: Steps<Input>) =>
    inOrder(inputs, {
      ...steps,
      prepare: (input) => {
        const activity = prepare(input)
        return activity instanceof Promise ? activity.then(withId) : withId(activity)
      },
      namesOf: namesIn,
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

/** What an activity names: its prospect, and its idempotency key. */
const namesIn = ({
  source,
  idempotencyKey,
  prospectId,
  ...sent
}: Pick<NewActivity, 'source' | 'idempotencyKey' | 'prospectId' | 'email' | 'externalId'>): string[] => {
  const names = namesOfPerson(sent)
  if (prospectId !== undefined) names.push(`id ${prospectId}`)
  if (idempotencyKey !== undefined) names.push(`key ${source}\0${idempotencyKey}`)
  return names
}

/** What names a person, whichever way it is written. */
export const namesOfPerson = (sent: Pick<NewActivity, 'email' | 'externalId'>): string[] => {
  const texts = normalizedTexts(sent)
  return IDENTIFIER_KINDS.flatMap((kind) => (texts[kind] === null ? [] : `${kind} ${texts[kind]}`))
}
