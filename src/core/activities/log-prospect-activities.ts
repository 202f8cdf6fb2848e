import type { Effect } from '../engine/prospects-in-waves.ts'
import { type Batch, runInWaves } from '../engine/run-in-waves.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import { normalizedTexts } from '../prospects/identifiers.ts'
import type { LoggedActivity } from './log-prospect-activity.ts'
import type { NewActivity } from './new-log.ts'

type Deps = Omit<Needs<never>, 'store'> & {
  readonly logProspectActivity: (activity: NewActivity) => Promise<LoggedActivity>
}

/**
 * Logs activities of one tenant in order: each finds the prospects that those before it created, and their ids rise.
 * Returns the answer or the error of each. After `unavailable` the rest is not tried, and gets the same error.
 */
export const logProspectActivities = ({ logProspectActivity, clock, newId }: Deps) => {
  // The time is read when the ids are made: what arrived since a time is found by the times in ids.
  const reserve = (activity: NewActivity): NewActivity => ({
    ...activity,
    reserved: { createdAt: isoTime(clock()), prospectLogId: newId('prospectlog') },
  })
  return <Input>({
    inputs,
    prepare,
    weightOf,
    beforeList,
  }: Batch<Input, NewActivity>): Promise<readonly (LoggedActivity | Error)[]> =>
    runInWaves(inputs, {
      weightOf,
      beforeList,
      prepare: (input) => {
        const activity = prepare(input)
        return activity instanceof Promise ? activity.then(reserve) : reserve(activity)
      },
      effectOf,
      run: logProspectActivity,
    })
}

const effectOf = ({
  source,
  idempotencyKey,
  keyScope = '',
  prospectId,
  ...activity
}: NewActivity): Effect => {
  const identifiers = identifierTexts(activity)
  if (prospectId !== undefined) identifiers.push(`id ${prospectId}`)
  return {
    identifiers,
    ...fillsOf(activity),
    idempotencyKey: idempotencyKey === undefined ? undefined : `${source}\0${idempotencyKey}\0${keyScope}`,
  }
}

/** How a person changes their prospect, besides their identifiers. */
export const fillsOf = ({
  name = '',
  attributes,
  attributesMode,
}: Pick<NewActivity, 'name' | 'attributes' | 'attributesMode'>): Omit<Effect, 'identifiers'> =>
  attributes === undefined
    ? { fills: name }
    : { fills: `${name}\0${attributes.rawJson}`, overwrites: attributesMode === 'overwrite' }

/** The identifiers of a person, normalized. */
export const identifierTexts = (sent: Pick<NewActivity, 'email' | 'externalId'>): string[] => {
  const { email, externalId } = normalizedTexts(sent)
  const identifiers: string[] = []
  if (email !== null) identifiers.push(`email ${email}`)
  if (externalId !== null) identifiers.push(`externalId ${externalId}`)
  return identifiers
}
