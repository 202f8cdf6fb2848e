import t from 'tap'
import { logProspectActivities } from '../../../src/core/activities/log-prospect-activities.ts'
import { logProspectActivity } from '../../../src/core/activities/log-prospect-activity.ts'
import type { NewActivity } from '../../../src/core/activities/new-log.ts'
import { sha256 } from '../../../src/core/engine/keys.ts'
import type { Activities } from '../../../src/core/ports/activities.ts'
import { countedIds, idOf, START_MS, stoppedClock } from '../../support/setting.ts'
import { refusalOf, storeWith } from '../scene.ts'

const ACME = idOf('tenant', 1)
const STRANGER = idOf('tenant', 2)

const activity: NewActivity = { tenantId: ACME, source: 'crm', type: 'webhook', payload: { rawJson: '{}' } }

/** Placeholders of the tenant: an email, and a domain. */
const LISTED = [
  ['email', 'noreply@shop.example'],
  ['emailDomain', 'pos.example'],
] as const

const openLog = (settings: { requireIdentity?: boolean } = {}) => {
  const store = storeWith(ACME, STRANGER)
  const newId = countedIds()
  const clock = stoppedClock()
  const log = logProspectActivity({ store, clock, newId, ...settings })
  const logBatch = logProspectActivities({ logProspectActivity: log, clock, newId })
  const logAll = (inputs: readonly NewActivity[]) => logBatch({ inputs, prepare: (activity) => activity })
  const listPlaceholders = async () => {
    for (const [kind, value] of LISTED)
      await store.placeholders.add({ tenantId: ACME, kind, hash: sha256(value), value }, null, '')
  }
  return { logAll, log, listPlaceholders, ...store.kept }
}

/** The activities, except that a rival acts between the first recall and the record that follows. */
const overtakenOnce = (activities: Activities, rival: () => Promise<unknown>): Activities => {
  let hasActed = false
  return {
    ...activities,
    record: async (change) => {
      if (!hasActed) await rival()
      hasActed = true
      return activities.record(change)
    },
  }
}

t.test('an activity with a new email creates a prospect and returns a receipt', async (t) => {
  const { log, prospects } = openLog()
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

t.test(
  'an activity too far in the future creates no prospect, and others in its batch are stored',
  async (t) => {
    const { logAll, prospects } = openLog()
    const late = { ...activity, email: 'late@example.com', occurredAt: '2026-01-02T00:00:00.001Z' }
    const outcomes = await logAll([late, { ...activity, email: 'ada@example.com' }])
    t.match(outcomes, [{ kind: 'invalid_request' }, { value: { createdProspect: true } }])
    t.match(prospects(), [{ email: 'ada@example.com' }])
    t.equal(prospects().length, 1)
  },
)

t.test('the log stores every field as it was sent', async (t) => {
  const { log, logs } = openLog()
  const payload = { rawJson: '{ "n": 12345678901234567890, "n": 1.0, "nul": "\\u0000", "half": "\\ud800" }' }
  const sent = { ...activity, payload, email: ' Ada@Example.COM ', name: ' Ada ', idempotencyKey: 'k' }
  const { value: receipt } = await log(sent)
  t.match(logs(), [{ ...sent, ...receipt }])
  t.equal(logs()[0]?.payload.rawJson, payload.rawJson)
  t.equal(logs()[0]?.email, ' Ada@Example.COM ')
  t.equal(logs()[0]?.name, ' Ada ')
})

t.test('a field that an activity leaves out is null in its log', async (t) => {
  const { log, logs } = openLog()
  await log(activity)
  t.match(logs(), [{ email: null, name: null, idempotencyKey: null, createdProspect: true }])
})

t.test('a later activity with the same email belongs to the same prospect', async (t) => {
  const { log, prospects } = openLog()
  const first = await log({ ...activity, email: 'ada@example.com' })
  const second = await log({ ...activity, email: 'ada@example.com' })
  t.equal(second.value.prospectId, first.value.prospectId)
  t.equal(second.value.createdProspect, false)
  t.equal(prospects().length, 1)
})

t.test('an email matches trimmed, in lower case and composed', async (t) => {
  const { log, prospects } = openLog()
  await log({ ...activity, email: 'zo\u00eb@example.com' })
  const { value: receipt } = await log({ ...activity, email: '\t ZOE\u0308@Example.com\n' })
  t.equal(receipt.createdProspect, false)
  t.strictSame(
    prospects().map(({ email }) => email),
    ['zo\u00eb@example.com'],
  )
})

t.test('the same email belongs to a different prospect for another tenant', async (t) => {
  const { log, prospects } = openLog()
  await log({ ...activity, email: 'ada@example.com' })
  const { value: receipt } = await log({ ...activity, tenantId: STRANGER, email: 'ada@example.com' })
  t.equal(receipt.createdProspect, true)
  t.strictSame(
    prospects().map(({ tenantId }) => tenantId),
    [ACME, STRANGER],
  )
})

t.test('each activity with neither id nor email creates a prospect', async (t) => {
  const { log, prospects } = openLog()
  const first = await log({ ...activity, name: 'Ada' })
  const second = await log({ ...activity, name: 'Ada' })
  t.ok(first.value.createdProspect && second.value.createdProspect)
  t.match(prospects(), [
    { email: null, name: 'Ada' },
    { email: null, name: 'Ada' },
  ])
  t.equal(prospects().length, 2)
})

for (const email of ['', '  ', 'NULL', ' undefined ', '-1', '0000', '---']) {
  t.test(
    `the email ${JSON.stringify(email)} identifies no prospect: it is stored on the log and never matches`,
    async (t) => {
      const { log, logs, prospects } = openLog()
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
}

t.test('an email of ten kilobytes is stored on the log, and identifies no prospect', async (t) => {
  const { log, logs, prospects } = openLog()
  const email = `${'a'.repeat(10_000)}@example.com`
  const first = await log({ ...activity, email })
  const second = await log({ ...activity, email })
  t.ok(first.value.createdProspect && second.value.createdProspect)
  t.strictSame(
    logs().map((stored) => stored.email),
    [email, email],
  )
  t.match(prospects(), [{ email: null }, { email: null }])
})

t.test('if identity is required, an activity must have an id or an email', async (t) => {
  const { log, logs, prospects } = openLog({ requireIdentity: true })
  const missing = 'is required without a prospectId or externalId'
  const notAnEmail = 'is not an email address'
  const cases = [
    { fields: {}, error: { detail: missing, pointer: '/email' } },
    { fields: { name: 'Ada' }, error: { detail: missing, pointer: '/email' } },
    { fields: { email: ' ' }, error: { detail: notAnEmail, pointer: '/email' } },
    { fields: { email: 'n/a', externalId: '-' }, error: { detail: notAnEmail, pointer: '/email' } },
    {
      fields: { externalId: 'null' },
      error: { detail: 'is blank or a placeholder', pointer: '/externalId' },
    },
  ]
  for (const { fields, error } of cases) {
    t.match(await refusalOf(log({ ...activity, ...fields })), {
      kind: 'invalid_request',
      facts: { errors: [error] },
    })
  }
  t.equal(logs().length + prospects().length, 0)
  const { value: receipt } = await log({ ...activity, email: 'ada@example.com' })
  await log({ ...activity, prospectId: receipt.prospectId })
  t.equal(logs().length, 2)
})

t.test(
  'if identity is required, an email that the tenant has listed is refused as placeholders are',
  async (t) => {
    const { log, logs, listPlaceholders } = openLog({ requireIdentity: true })
    await listPlaceholders()
    for (const email of ['noreply@shop.example', 'till-7@pos.example'])
      t.match(await refusalOf(log({ ...activity, email })), {
        kind: 'invalid_request',
        facts: { errors: [{ detail: 'is not an email address', pointer: '/email' }] },
      })
    t.equal(logs().length, 0)
    await log({ ...activity, email: 'noreply@shop.example', externalId: '1' })
    await log({ ...activity, tenantId: STRANGER, email: 'noreply@shop.example' })
    t.equal(logs().length, 2)
  },
)

t.test('a listed email is stored on the log as it was sent, and each log has a new prospect', async (t) => {
  const { logAll, logs, prospects, listPlaceholders } = openLog()
  await listPlaceholders()
  const sent = { ...activity, email: 'NoReply@shop.example', name: 'Shop' }
  const outcomes = await logAll([
    sent,
    sent,
    { ...sent, idempotencyKey: '1' },
    { ...sent, idempotencyKey: '1' },
  ])
  t.match(
    outcomes,
    [false, false, false, true].map((replayed) => ({ replayed })),
  )
  t.match(
    logs().map(({ email, createdProspect }) => [email, createdProspect]),
    [0, 1, 2].map(() => ['NoReply@shop.example', true]),
  )
  t.match(
    prospects(),
    [0, 1, 2].map(() => ({ email: null, name: 'Shop' })),
  )
})

t.test('an activity with a prospect id belongs to that prospect', async (t) => {
  const { log, prospects } = openLog()
  const { prospectId } = (await log(activity)).value
  const { value: receipt } = await log({ ...activity, prospectId })
  t.match(receipt, { prospectId, createdProspect: false })
  t.equal(prospects().length, 1)
})

t.test('an unknown prospect is refused, and nothing is stored', async (t) => {
  const { log, logs, prospects } = openLog()
  t.match(await refusalOf(log({ ...activity, prospectId: idOf('prospect', 99), email: 'ada@example.com' })), {
    kind: 'prospect_not_found',
  })
  t.equal(logs().length + prospects().length, 0)
})

t.test('another tenant’s prospect is refused like a missing one', async (t) => {
  const { log } = openLog()
  const { prospectId } = (await log({ ...activity, tenantId: STRANGER })).value
  const foreign = await refusalOf(log({ ...activity, prospectId }))
  t.strictSame(foreign, await refusalOf(log({ ...activity, prospectId: idOf('prospect', 99) })))
  t.equal(foreign.kind, 'prospect_not_found')
})

t.test('email and name fill the empty fields of the prospect with the given id', async (t) => {
  const { log, prospects } = openLog()
  const { prospectId } = (await log(activity)).value
  await log({ ...activity, prospectId, email: 'Ada@example.com', name: 'Ada' })
  t.match(prospects(), [{ prospectId, email: 'ada@example.com', name: 'Ada' }])
  const { value: receipt } = await log({ ...activity, email: 'ada@example.com' })
  t.equal(receipt.prospectId, prospectId, 'the email now finds the prospect')
})

t.test('a name fills the empty name of the prospect with the given email', async (t) => {
  const { log, prospects } = openLog()
  await log({ ...activity, email: 'ada@example.com' })
  await log({ ...activity, email: 'ada@example.com', name: 'Ada' })
  t.match(prospects(), [{ email: 'ada@example.com', name: 'Ada' }])
})

t.test('a blank name does not prevent a real one later', async (t) => {
  const { log, logs, prospects } = openLog()
  await log({ ...activity, email: 'ada@example.com', name: '  ' })
  await log({ ...activity, email: 'ada@example.com', name: 'Ada' })
  t.equal(prospects()[0]?.name, 'Ada')
  t.equal(logs()[0]?.name, '  ')
})

t.test('neither an email nor a name is ever overwritten', async (t) => {
  const { log, prospects } = openLog()
  const { prospectId } = (await log({ ...activity, email: 'ada@example.com', name: 'Ada' })).value
  const before = prospects()
  await log({ ...activity, prospectId, email: 'other@example.com', name: 'Other' })
  await log({ ...activity, email: 'ada@example.com', name: 'Another' })
  t.strictSame(prospects(), before)
  const { value: receipt } = await log({ ...activity, email: 'other@example.com' })
  t.equal(receipt.createdProspect, true, 'the email that was not taken belongs to no prospect yet')
})

t.test('an email of another prospect is stored on the log and changes no prospect', async (t) => {
  const { log, logs, prospects } = openLog()
  await log({ ...activity, email: 'ada@example.com' })
  const { prospectId } = (await log(activity)).value
  const before = prospects()
  const { value: receipt } = await log({ ...activity, prospectId, email: 'ada@example.com' })
  t.equal(receipt.prospectId, prospectId)
  t.strictSame(prospects(), before)
  t.equal(logs()[2]?.email, 'ada@example.com')
})

t.test('of fifty first activities in one batch, one creates the prospect', async (t) => {
  const { logAll, logs, prospects } = openLog()
  const outcomes = await logAll(Array(50).fill({ ...activity, email: 'ada@example.com' }))
  t.strictSame(
    logs().map(({ createdProspect }) => createdProspect),
    [true, ...Array(49).fill(false)],
  )
  t.equal(outcomes.length, 50)
  t.equal(prospects().length, 1)
})

t.test('of fifty simultaneous calls, one creates the prospect', async (t) => {
  const { log, prospects } = openLog()
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => log({ ...activity, email: 'ada@example.com' })),
  )
  t.equal(answers.filter(({ value }) => value.createdProspect).length, 1)
  t.equal(new Set(answers.map(({ value }) => value.prospectId)).size, 1)
  t.equal(prospects().length, 1)
})

t.test('an activity sees the changes of earlier ones in its batch', async (t) => {
  const { log, logAll, prospects } = openLog()
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

t.test('a prospect that is created and named in one batch keeps its email and its first name', async (t) => {
  const { log, logAll, prospects } = openLog()
  await logAll([
    { ...activity, email: 'ada@example.com' },
    { ...activity, email: 'ada@example.com', name: 'Ada' },
    { ...activity, email: 'ada@example.com', name: 'Other' },
  ])
  t.match(prospects(), [{ email: 'ada@example.com', name: 'Ada' }])
  t.equal((await log({ ...activity, email: 'ada@example.com' })).value.createdProspect, false)
})

t.test('a refused activity does not affect the others in its batch', async (t) => {
  const { logAll, logs } = openLog()
  const outcomes = await logAll([activity, { ...activity, prospectId: idOf('prospect', 99) }, activity])
  t.match(outcomes, [{ replayed: false }, { kind: 'prospect_not_found' }, { replayed: false }])
  t.equal(logs().length, 2)
})

t.test('if another caller takes the email first, the activity belongs to that prospect', async (t) => {
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

t.test('logging an activity reads the clock once', async (t) => {
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

t.test('a bug rejects the call', async (t) => {
  const newId = () => {
    throw new TypeError('a bug')
  }
  const log = logProspectActivity({ store: storeWith(ACME, STRANGER), clock: stoppedClock(), newId })
  await t.rejects(log(activity), TypeError)
})
