import t from 'tap'
import { logProspectActivities } from '../../../src/core/activities/log-prospect-activities.ts'
import { logProspectActivity } from '../../../src/core/activities/log-prospect-activity.ts'
import type { NewActivity } from '../../../src/core/activities/new-log.ts'
import type { Activities } from '../../../src/core/ports/activities.ts'
import { countedIds, idOf, START_MS, stoppedClock } from '../../support/setting.ts'
import { noOf, storeWith } from '../scene.ts'

const ACME = idOf('tenant', 1)
const STRANGER = idOf('tenant', 2)

const activity: NewActivity = { tenantId: ACME, source: 'crm', type: 'webhook', payload: { rawJson: '{}' } }

const setting = (settings: { requireIdentity?: boolean } = {}) => {
  const store = storeWith(ACME, STRANGER)
  const newId = countedIds()
  const clock = stoppedClock()
  const log = logProspectActivity({ store, clock, newId, ...settings })
  const logBatch = logProspectActivities({ logProspectActivity: log, clock, newId })
  const logAll = (inputs: readonly NewActivity[]) => logBatch({ inputs, prepare: (activity) => activity })
  return { logAll, log, ...store.kept }
}

/** Lets a rival act between the first recall and the record that follows it. */
const overtakenOnce = (activities: Activities, rival: () => Promise<unknown>): Activities => {
  let came = false
  return {
    ...activities,
    record: async (change) => {
      if (!came) await rival()
      came = true
      return activities.record(change)
    },
  }
}

t.test('an activity by email creates a prospect and is answered with a receipt', async (t) => {
  const { log, prospects } = setting()
  t.strictSame(await log({ ...activity, type: 'signup', email: 'ada@example.com', name: 'Ada' }), {
    value: {
      prospectId: idOf('prospect', 1),
      prospectLogId: idOf('prospectlog', 2),
      createdAt: '2026-01-01T00:00:00.000Z',
      createdProspect: true,
      source: 'crm',
      type: 'signup',
    },
    replayed: false,
  })
  t.match(prospects(), [
    { tenantId: ACME, email: 'ada@example.com', name: 'Ada', prospectId: idOf('prospect', 1) },
  ])
})

t.test('an activity too far in the future leaves no prospect, beside one that is stored', async (t) => {
  const { logAll, prospects } = setting()
  const late = { ...activity, email: 'late@example.com', occurredAt: '2026-01-02T00:00:00.001Z' }
  const outcomes = await logAll([late, { ...activity, email: 'ada@example.com' }])
  t.match(outcomes, [{ kind: 'invalid_request' }, { value: { createdProspect: true } }])
  t.match(prospects(), [{ email: 'ada@example.com' }])
  t.equal(prospects().length, 1)
})

t.test('the log keeps everything as it was sent', async (t) => {
  const { log, logs } = setting()
  const payload = { rawJson: '{ "n": 12345678901234567890, "n": 1.0, "nul": "\\u0000", "half": "\\ud800" }' }
  const sent = { ...activity, payload, email: ' Ada@Example.COM ', name: ' Ada ', idempotencyKey: 'k' }
  const { value: receipt } = await log(sent)
  t.match(logs(), [{ ...sent, ...receipt }])
  t.equal(logs()[0]?.payload.rawJson, payload.rawJson)
  t.equal(logs()[0]?.email, ' Ada@Example.COM ')
  t.equal(logs()[0]?.name, ' Ada ')
})

t.test('what an activity leaves out is null in its log', async (t) => {
  const { log, logs } = setting()
  await log(activity)
  t.match(logs(), [{ email: null, name: null, idempotencyKey: null, createdProspect: true }])
})

t.test('a later activity with the same email is the same prospect’s', async (t) => {
  const { log, prospects } = setting()
  const first = await log({ ...activity, email: 'ada@example.com' })
  const second = await log({ ...activity, email: 'ada@example.com' })
  t.equal(second.value.prospectId, first.value.prospectId)
  t.equal(second.value.createdProspect, false)
  t.equal(prospects().length, 1)
})

t.test('an email matches trimmed, in lower case and composed', async (t) => {
  const { log, prospects } = setting()
  await log({ ...activity, email: 'zo\u00eb@example.com' })
  const { value: receipt } = await log({ ...activity, email: '\t ZOE\u0308@Example.com\n' })
  t.equal(receipt.createdProspect, false)
  t.strictSame(
    prospects().map(({ email }) => email),
    ['zo\u00eb@example.com'],
  )
})

t.test('the same email is another prospect for another tenant', async (t) => {
  const { log, prospects } = setting()
  await log({ ...activity, email: 'ada@example.com' })
  const { value: receipt } = await log({ ...activity, tenantId: STRANGER, email: 'ada@example.com' })
  t.equal(receipt.createdProspect, true)
  t.strictSame(
    prospects().map(({ tenantId }) => tenantId),
    [ACME, STRANGER],
  )
})

t.test('an activity with neither id nor email is a new prospect’s, each time', async (t) => {
  const { log, prospects } = setting()
  const first = await log({ ...activity, name: 'Ada' })
  const second = await log({ ...activity, name: 'Ada' })
  t.ok(first.value.createdProspect && second.value.createdProspect)
  t.match(prospects(), [
    { email: null, name: 'Ada' },
    { email: null, name: 'Ada' },
  ])
  t.equal(prospects().length, 2)
})

for (const email of ['', '  ', 'NULL', ' undefined ', '-1', '0000', '---'])
  t.test(
    `the email ${JSON.stringify(email)} is nobody’s: it stays on the log and never matches`,
    async (t) => {
      const { log, logs, prospects } = setting()
      await log({ ...activity, email })
      const { value: receipt } = await log({ ...activity, email })
      t.equal(receipt.createdProspect, true)
      t.strictSame(
        prospects().map(({ email }) => email),
        [null, null],
      )
      t.equal(logs()[1]?.email, email)
    },
  )

t.test('an email of ten kilobytes stays on the activity, and identifies nobody', async (t) => {
  const { log, logs, prospects } = setting()
  const email = `${'a'.repeat(10_000)}@example.com`
  for (const _ of [1, 2]) t.equal((await log({ ...activity, email })).value.createdProspect, true)
  t.strictSame(
    logs().map((one) => one.email),
    [email, email],
  )
  t.match(prospects(), [{ email: null }, { email: null }])
})

t.test('where identity is required, an activity must bring an id or an email', async (t) => {
  const { log, logs, prospects } = setting({ requireIdentity: true })
  const missing = 'is required without a prospectId or externalId'
  for (const [fields, detail, pointer] of [
    [{}, missing, '/email'],
    [{ name: 'Ada' }, missing, '/email'],
    [{ email: ' ' }, 'is not an email address', '/email'],
    [{ email: 'n/a', externalId: '-' }, 'is not an email address', '/email'],
    [{ externalId: 'null' }, 'is blank or a placeholder', '/externalId'],
  ] as const)
    t.match(await noOf(log({ ...activity, ...fields })), {
      kind: 'invalid_request',
      facts: { errors: [{ detail, pointer }] },
    })
  t.strictSame([logs(), prospects()], [[], []])
  const { value: receipt } = await log({ ...activity, email: 'ada@example.com' })
  await log({ ...activity, prospectId: receipt.prospectId })
  t.equal(logs().length, 2)
})

t.test('an activity that names its prospect is that prospect’s', async (t) => {
  const { log, prospects } = setting()
  const { prospectId } = (await log(activity)).value
  const { value: receipt } = await log({ ...activity, prospectId })
  t.match(receipt, { prospectId, createdProspect: false })
  t.equal(prospects().length, 1)
})

t.test('an unknown prospect is refused, and nothing is stored', async (t) => {
  const { log, logs, prospects } = setting()
  t.match(await noOf(log({ ...activity, prospectId: idOf('prospect', 99), email: 'ada@example.com' })), {
    kind: 'prospect_not_found',
  })
  t.strictSame([logs(), prospects()], [[], []])
})

t.test('a stranger’s prospect is refused like a missing one', async (t) => {
  const { log } = setting()
  const { prospectId } = (await log({ ...activity, tenantId: STRANGER })).value
  const foreign = await noOf(log({ ...activity, prospectId }))
  t.strictSame(foreign, await noOf(log({ ...activity, prospectId: idOf('prospect', 99) })))
  t.equal(foreign.kind, 'prospect_not_found')
})

t.test('email and name fill the blanks of the prospect that is named', async (t) => {
  const { log, prospects } = setting()
  const { prospectId } = (await log(activity)).value
  await log({ ...activity, prospectId, email: 'Ada@example.com', name: 'Ada' })
  t.match(prospects(), [{ prospectId, email: 'ada@example.com', name: 'Ada' }])
  const { value: receipt } = await log({ ...activity, email: 'ada@example.com' })
  t.equal(receipt.prospectId, prospectId, 'and from then on the email finds it')
})

t.test('a name fills the blank of the prospect that an email finds', async (t) => {
  const { log, prospects } = setting()
  await log({ ...activity, email: 'ada@example.com' })
  await log({ ...activity, email: 'ada@example.com', name: 'Ada' })
  t.match(prospects(), [{ email: 'ada@example.com', name: 'Ada' }])
})

t.test('a name of blanks only does not stand in the way of a real one', async (t) => {
  const { log, logs, prospects } = setting()
  await log({ ...activity, email: 'ada@example.com', name: '  ' })
  await log({ ...activity, email: 'ada@example.com', name: 'Ada' })
  t.equal(prospects()[0]?.name, 'Ada')
  t.equal(logs()[0]?.name, '  ')
})

t.test('neither an email nor a name is ever overwritten', async (t) => {
  const { log, prospects } = setting()
  const { prospectId } = (await log({ ...activity, email: 'ada@example.com', name: 'Ada' })).value
  const before = prospects()
  await log({ ...activity, prospectId, email: 'other@example.com', name: 'Other' })
  await log({ ...activity, email: 'ada@example.com', name: 'Another' })
  t.strictSame(prospects(), before)
  const { value: receipt } = await log({ ...activity, email: 'other@example.com' })
  t.equal(receipt.createdProspect, true, 'the email that came too late belongs to nobody yet')
})

t.test('an email that belongs to another prospect stays on the log and changes nobody', async (t) => {
  const { log, logs, prospects } = setting()
  await log({ ...activity, email: 'ada@example.com' })
  const { prospectId } = (await log(activity)).value
  const before = prospects()
  const { value: receipt } = await log({ ...activity, prospectId, email: 'ada@example.com' })
  t.equal(receipt.prospectId, prospectId)
  t.strictSame(prospects(), before)
  t.equal(logs()[2]?.email, 'ada@example.com')
})

t.test('of fifty first activities in one list, one creates the prospect', async (t) => {
  const { logAll, logs, prospects } = setting()
  const outcomes = await logAll(Array(50).fill({ ...activity, email: 'ada@example.com' }))
  t.strictSame(
    logs().map(({ createdProspect }) => createdProspect),
    [true, ...Array(49).fill(false)],
  )
  t.equal(outcomes.length, 50)
  t.equal(prospects().length, 1)
})

t.test('of fifty callers at the same moment, one creates the prospect', async (t) => {
  const { log, prospects } = setting()
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => log({ ...activity, email: 'ada@example.com' })),
  )
  t.equal(answers.filter(({ value }) => value.createdProspect).length, 1)
  t.equal(new Set(answers.map(({ value }) => value.prospectId)).size, 1)
  t.equal(prospects().length, 1)
})

t.test('an activity sees what the ones before it in the list decided', async (t) => {
  const { log, logAll, prospects } = setting()
  const { prospectId } = (await log(activity)).value
  await logAll([
    { ...activity, prospectId, name: 'Ada' },
    { ...activity, prospectId, email: 'ada@example.com', name: 'Other' },
    { ...activity, email: 'ada@example.com', name: 'Another' },
    { ...activity, prospectId, email: 'other@example.com' },
  ])
  t.match(prospects(), [{ prospectId, email: 'ada@example.com', name: 'Ada' }])
  t.equal(prospects().length, 1)
})

t.test('a prospect that is created and named in one list keeps its email and its first name', async (t) => {
  const { log, logAll, prospects } = setting()
  await logAll([
    { ...activity, email: 'ada@example.com' },
    { ...activity, email: 'ada@example.com', name: 'Ada' },
    { ...activity, email: 'ada@example.com', name: 'Other' },
  ])
  t.match(prospects(), [{ email: 'ada@example.com', name: 'Ada' }])
  t.equal((await log({ ...activity, email: 'ada@example.com' })).value.createdProspect, false)
})

t.test('a no to one activity harms none of its neighbours', async (t) => {
  const { logAll, logs } = setting()
  const outcomes = await logAll([activity, { ...activity, prospectId: idOf('prospect', 99) }, activity])
  t.match(outcomes, [{ replayed: false }, { kind: 'prospect_not_found' }, { replayed: false }])
  t.equal(logs().length, 2)
})

t.test('where somebody else takes the email first, the activity is that prospect’s', async (t) => {
  const store = storeWith(ACME, STRANGER)
  const newId = countedIds()
  const clock = stoppedClock()
  const rival = logProspectActivity({ store, clock, newId })
  const activities = overtakenOnce(store.activities, () => rival({ ...activity, email: 'ada@example.com' }))
  const log = logProspectActivity({ store: { activities }, clock, newId })
  const { value: receipt } = await log({ ...activity, email: 'ada@example.com' })
  t.equal(receipt.createdProspect, false)
  t.equal(receipt.prospectId, store.kept.logs()[0]?.prospectId)
  t.equal(store.kept.prospects().length, 1)
})

t.test('the clock is asked once for an activity', async (t) => {
  const store = storeWith(ACME, STRANGER)
  let asked = 0
  const clock = () => START_MS + asked++
  const log = logProspectActivity({ store, clock, newId: countedIds() })
  await log({ ...activity, email: 'ada@example.com' })
  t.equal(asked, 1)
  t.strictSame(
    [...store.kept.logs(), ...store.kept.prospects()].map(({ createdAt }) => createdAt),
    Array(2).fill('2026-01-01T00:00:00.000Z'),
  )
})

t.test('a bug is no answer to anybody', async (t) => {
  const newId = () => {
    throw new TypeError('a bug')
  }
  const log = logProspectActivity({ store: storeWith(ACME, STRANGER), clock: stoppedClock(), newId })
  await t.rejects(log(activity), TypeError)
})
