import t from 'tap'
import { createNewId } from '../../../src/adapters/ids.ts'
import { remembering } from '../../../src/adapters/stores/remembering.ts'
import { logProspectActivities } from '../../../src/core/activities/log-prospect-activities.ts'
import {
  type LoggedActivity,
  logProspectActivity,
  logActivitiesTogether as together,
} from '../../../src/core/activities/log-prospect-activity.ts'
import type { NewActivity } from '../../../src/core/activities/new-log.ts'
import { DomainFailure } from '../../../src/core/engine/failures.ts'
import { timeOfId } from '../../../src/core/engine/id-times.ts'
import type { Activities } from '../../../src/core/ports/activities.ts'
import { createProspect } from '../../../src/core/prospects/create-prospect.ts'
import { type Random, randomBy } from '../../store-contract/random.ts'
import { countedIds, idOf, stoppedClock } from '../../support/setting.ts'
import { storeWith } from '../scene.ts'

const ACME = idOf('tenant', 1)
const ROUNDS = 400
const activity: NewActivity = { tenantId: ACME, source: 'crm', type: 'webhook', payload: { rawJson: '{}' } }

/** A tenant with three prospects, each with one name that identifies it. */
const setUp = async (
  dress: (activities: Activities) => Activities = (activities) => activities,
  isTogether = false,
) => {
  const store = storeWith(ACME)
  const world = { clock: stoppedClock(), newId: countedIds() }
  const create = createProspect({ store, ...world })
  const known: string[] = []
  for (const person of [{ email: 'a@x' }, { externalId: 'x' }, { email: 'b@x' }])
    known.push((await create({ tenantId: ACME, ...person })).value.prospectId)
  const deps = { store: { activities: dress(store.activities) }, ...world }
  const log = logProspectActivity(deps)
  const logActivitiesTogether = isTogether ? together(deps) : undefined
  const logBatch = logProspectActivities({ ...world, logProspectActivity: log, logActivitiesTogether })
  const logAll = (inputs: readonly NewActivity[]) => logBatch({ inputs, prepare: (activity) => activity })
  return { log, logAll, known, ...store.kept }
}

/** One of those three by its id, no one, or a person by what identifies it. */
const randomPerson = (chance: Random, known: readonly string[]) =>
  chance.onceIn(4)
    ? { prospectId: chance.oneOf([...known, idOf('prospect', 999)]) }
    : {
        email: chance.oneOf([undefined, undefined, 'a@x', 'b@x', ' C@x', 'c@X', 'd@x', 'e@x']),
        externalId: chance.oneOf([undefined, undefined, undefined, 'x', 'y', 'z', 'w']),
        name: chance.oneOf([undefined, undefined, 'Ada', 'Grace']),
      }
const randomActivity = (chance: Random, known: readonly string[]): NewActivity => ({
  ...activity,
  ...randomPerson(chance, known),
  idempotencyKey: chance.onceIn(5) ? chance.oneOf(['1', '2']) : undefined,
})

/** What became of each activity, and of each person, whatever their ids. */
const outcomeOf = (
  answers: readonly (LoggedActivity | Error)[],
  { known, prospects }: Awaited<ReturnType<typeof setUp>>,
) => {
  const persons = new Map<string, number>()
  const numberOf = (prospectId: string) => {
    const number = persons.get(prospectId) ?? persons.size
    persons.set(prospectId, number)
    return number
  }
  known.forEach(numberOf)
  const became = answers.map((answer) => {
    if (answer instanceof DomainFailure) return answer.kind
    if (answer instanceof Error) throw answer
    const { prospectId, createdProspect } = answer.value
    return [numberOf(prospectId), createdProspect, answer.replayed]
  })
  const kept = prospects().map(({ prospectId, email, externalId, name }) => [
    numberOf(prospectId),
    email,
    externalId,
    name,
  ])
  return { became, kept: kept.sort(([a], [b]) => Number(a) - Number(b)) }
}

const stores: Readonly<Record<string, (activities: Activities) => Activities>> = {
  'a store': (activities) => activities,
  'a memory of prospects': (activities) => remembering(activities, 4),
}
for (const [name, dress, isTogether] of Object.entries(stores).flatMap(
  ([name, dress]) =>
    [
      [name, dress, false],
      [`${name}, together`, dress, true],
    ] as const,
))
  t.test(
    `each activity of a list belongs to whom it would belong to after those before it, on ${name}`,
    async (t) => {
      for (let seed = 1; seed <= ROUNDS; seed++) {
        const chance = randomBy(seed)
        const one = await setUp()
        const list = await setUp(dress, isTogether)
        const activities = chance.many(12, () => randomActivity(chance, one.known))
        const answers: (LoggedActivity | Error)[] = []
        for (const each of activities) answers.push(await one.log(each).catch((why: Error) => why))
        const expected = outcomeOf(answers, one)
        const found = outcomeOf(await list.logAll(activities), list)
        if (!t.strictSame(found, expected, `seed ${seed}`)) {
          t.comment(JSON.stringify(activities.map(({ tenantId, source, type, payload, ...named }) => named)))
          return
        }
      }
    },
  )

t.test('an email, both, and an external id of a new person are one person, in order', async (t) => {
  const { logAll, prospects } = await setUp()
  const email = 'new@x'
  const externalId = 'new'
  const all = [{ email }, { externalId, email }, { externalId }].map((named) => ({ ...activity, ...named }))
  const answers = await logAll(all)
  const { prospectId } = (answers[0] as LoggedActivity).value
  t.match(answers, [
    { value: { prospectId, createdProspect: true } },
    { value: { prospectId, createdProspect: false } },
    { value: { prospectId, createdProspect: false } },
  ])
  t.match(
    prospects().filter((prospect) => prospect.prospectId === prospectId),
    [{ email, externalId }],
  )
  t.equal(prospects().length, 4)
})

t.test('activities of a batch have rising ids, and the times at which these were made', async (t) => {
  let ms = Date.parse('2026-01-01T00:00:00.000Z')
  const world = { clock: () => ms++, newId: createNewId(() => ms) }
  const log = logProspectActivity({ store: storeWith(ACME), ...world })
  const logAll = logProspectActivities({ ...world, logProspectActivity: log })
  const answers = await logAll({
    inputs: ['a@x', 'a@x', 'b@x', 'a@x'],
    prepare: (email) => ({ ...activity, email }),
  })
  const receipts = answers.map((answer) => (answer as LoggedActivity).value)
  t.strictSame(
    receipts.map(({ prospectLogId }) => prospectLogId),
    receipts.map(({ prospectLogId }) => prospectLogId).toSorted(),
  )
  for (const { prospectLogId, createdAt } of receipts)
    t.ok(Math.abs(timeOfId(prospectLogId) - Date.parse(createdAt)) <= 1)
})
