import t from 'tap'
import { remembering } from '../../../src/adapters/stores/remembering.ts'
import { logProspectActivities } from '../../../src/core/activities/log-prospect-activities.ts'
import { logProspectActivity } from '../../../src/core/activities/log-prospect-activity.ts'
import type { NewActivity } from '../../../src/core/activities/new-log.ts'
import type { ProspectLogKey } from '../../../src/core/ports/prospect-logs.ts'
import { updateProspect } from '../../../src/core/prospects/update-prospect.ts'
import { type Random, randomBy } from '../../support/random.ts'
import { recordAll, someProspect } from '../../support/rows.ts'
import { countedIds, idOf, stoppedClock } from '../../support/setting.ts'
import { refusalOf, storeWith } from '../scene.ts'

const HOUR_MS = 3_600_000
const ACME = idOf('tenant', 1)
const PROSPECT = idOf('prospect', 1)

const unkeyed: NewActivity = {
  tenantId: ACME,
  source: 'crm',
  type: 'webhook',
  payload: { rawJson: '{"a":1,"b":[2,3]}' },
  email: 'ada@example.com',
  name: 'Ada',
}
const keyed: NewActivity = { ...unkeyed, idempotencyKey: 'k' }

/** One prospect is there already. */
const setUp = async () => {
  const store = storeWith(ACME, idOf('tenant', 2))
  const clock = stoppedClock()
  await recordAll(store.activities, [someProspect(ACME, { prospectId: PROSPECT })])
  const newId = countedIds()
  newId('prospect')
  const log = logProspectActivity({ store, clock, newId })
  const logBatch = logProspectActivities({ logProspectActivity: log, clock, newId })
  const logAll = (inputs: readonly NewActivity[]) => logBatch({ inputs, prepare: (activity) => activity })
  return { logAll, log, clock, store, ...store.kept }
}

t.test('a repeated request gets the first answer, and is stored once', async (t) => {
  const { log, logs, clock } = await setUp()
  const first = await log(keyed)
  clock.advance(1_000)
  const again = await log(keyed)
  t.equal(first.value.createdProspect, true)
  t.strictSame(again, { ...first, replayed: true })
  t.equal(logs().length, 1)
})

t.test('without an idempotency key, the same request twice is two activities', async (t) => {
  const { log, logs } = await setUp()
  await log(unkeyed)
  t.equal((await log(unkeyed)).replayed, false)
  t.equal(logs().length, 2)
})

const others: Partial<NewActivity>[] = [
  { type: 'other' },
  { payload: { rawJson: '{"a":1,"b":[2,4]}' } },
  { prospectId: PROSPECT },
  { email: 'other@example.com' },
  { name: 'Other' },
]
for (const other of others)
  t.test(`the same key with another ${Object.keys(other)} is refused and writes nothing`, async (t) => {
    const { log, logs, prospects } = await setUp()
    const { prospectLogId } = (await log(keyed)).value
    const before = [logs(), prospects()]
    t.match(await refusalOf(log({ ...keyed, ...other })), {
      kind: 'idempotency_key_reused',
      facts: { prospectLogId },
    })
    t.strictSame([logs(), prospects()], before)
    t.equal((await log(keyed)).replayed, true, 'and the first request is still known')
  })

for (const left of ['email', 'name'] as const)
  t.test(`the same key without the ${left} is another request`, async (t) => {
    const { log } = await setUp()
    await log(keyed)
    const { [left]: _, ...rest } = keyed
    t.match(await refusalOf(log(rest as NewActivity)), { kind: 'idempotency_key_reused' })
  })

const SAME_PAYLOADS = [
  '{"b":[2,3],"a":1}',
  '{ "a":1,"b":[2,3]}\n',
  '{"\\u0061":1,"b":[2,3]}',
  '{"a":2,"b":[2,3],"a":1}',
]
for (const rawJson of SAME_PAYLOADS)
  t.test(`the same key with the same payload, written as ${rawJson}, is a replay`, async (t) => {
    const { log, logs } = await setUp()
    const first = await log(keyed)
    t.strictSame(await log({ ...keyed, payload: { rawJson } }), { ...first, replayed: true })
    t.strictSame(logs()[0]?.payload, keyed.payload, 'the first text stays')
    t.equal(logs().length, 1)
  })

const OTHER_PAYLOADS = [
  '{"a":1.0,"b":[2,3]}',
  '{"a":1e0,"b":[2,3]}',
  '{"a":"1","b":[2,3]}',
  '{"a":1,"b":[3,2]}',
  '{"a":1}',
  '{"a":1,"b":[2,3],"c":null}',
]
for (const rawJson of OTHER_PAYLOADS)
  t.test(`the same key with another payload, ${rawJson}, is refused`, async (t) => {
    const { log } = await setUp()
    await log(keyed)
    t.match(await refusalOf(log({ ...keyed, payload: { rawJson } })), { kind: 'idempotency_key_reused' })
    t.equal((await log(keyed)).replayed, true)
  })

t.test(
  'a payload is written in fifty ways, and is one request unless a number is written differently',
  async (t) => {
    const { log, logs } = await setUp()
    const value = { text: 'Zoë "x"\n/', list: [1, 20, { deep: [null, true, 'a'] }], '': {}, 'a b': -1.5 }
    const random = randomBy(64)
    const payload = { rawJson: JSON.stringify(value) }
    const { prospectLogId } = (await log({ ...keyed, payload })).value
    for (let i = 0; i < 50; i++) {
      const hasOtherNumber = i % 5 === 0
      const rawJson = rewritten(value, random)
      const other = rawJson.replace(/(?<=[\s[,])1(?=[\s,])/, '1.0')
      t.not(rawJson, payload.rawJson)
      t.not(other, rawJson)
      t.same(JSON.parse(other), value)
      if (hasOtherNumber) {
        const refusal = await refusalOf(log({ ...keyed, payload: { rawJson: other } }))
        t.match(refusal, { kind: 'idempotency_key_reused', facts: { prospectLogId } }, other)
      } else {
        t.match(
          await log({ ...keyed, payload: { rawJson } }),
          { value: { prospectLogId }, replayed: true },
          rawJson,
        )
      }
    }
    t.equal(logs().length, 1)
  },
)

/** A value as JSON, with its members in any order, and any blanks and escapes. */
const rewritten = (value: unknown, random: Random): string => {
  const blank = () => random.oneOf(['', ' ', '\n\t'])
  const character = (char: string) =>
    random.onceIn(3)
      ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
      : JSON.stringify(char).slice(1, -1)
  const write = (value: unknown): string => {
    if (typeof value === 'string') return `"${[...value].map(character).join('')}"`
    if (Array.isArray(value)) return `[${value.map((item) => blank() + write(item) + blank()).join(',')}]`
    if (typeof value !== 'object' || value === null) return String(value)
    const members = Object.entries(value).sort(() => (random.onceIn(2) ? 1 : -1))
    return `{${members.map(([name, item]) => `${blank()}${write(name)} :${write(item)}`).join(',')}}`
  }
  return write(value)
}

t.test(
  'the stored payload is read only if the fields are the same and the text of the payload differs',
  async (t) => {
    const { store, clock } = await setUp()
    let reads = 0
    const find = (key: ProspectLogKey) => {
      reads++
      return store.prospectLogs.find(key)
    }
    const watched = { activities: store.activities, prospectLogs: { ...store.prospectLogs, find } }
    const log = logProspectActivity({ store: watched, clock, newId: countedIds() })
    await log(unkeyed)
    await log(keyed)
    await log(keyed)
    await refusalOf(log({ ...keyed, name: 'Other', payload: { rawJson: '{"b":[2,3],"a":1}' } }))
    t.equal(reads, 0)
    await log({ ...keyed, payload: { rawJson: '{"b":[2,3],"a":1}' } })
    t.equal(reads, 1)
  },
)

t.test('a store that shows no logs takes payloads with another text for other payloads', async (t) => {
  const { store, clock } = await setUp()
  const log = logProspectActivity({ store: { activities: store.activities }, clock, newId: countedIds() })
  await log(keyed)
  t.equal((await log(keyed)).replayed, true)
  const again = log({ ...keyed, payload: { rawJson: '{"b":[2,3],"a":1}' } })
  t.match(await refusalOf(again), { kind: 'idempotency_key_reused' })
})

t.test('a stored request hash carries the version of its form', async (t) => {
  const { log, logs } = await setUp()
  await log(keyed)
  await log(unkeyed)
  t.match(logs()[0]?.requestHash, /^1:[\w-]{43}:[\w-]{43}$/)
  t.equal(logs()[1]?.requestHash, null)
})

t.test('an idempotency key counts for one source of one tenant', async (t) => {
  const { log, logs } = await setUp()
  await log(keyed)
  t.equal((await log({ ...keyed, source: 'shop' })).replayed, false)
  t.equal((await log({ ...keyed, tenantId: idOf('tenant', 2) })).replayed, false)
  t.equal((await log({ ...keyed, idempotencyKey: 'K' })).replayed, false)
  t.equal(logs().length, 4)
})

t.test('a refused request leaves its key free', async (t) => {
  const { log } = await setUp()
  t.match(await refusalOf(log({ ...keyed, prospectId: idOf('prospect', 99) })), {
    kind: 'prospect_not_found',
  })
  t.equal((await log({ ...keyed, type: 'other' })).replayed, false)
})

t.test('a repetition of fifty in one list is one row and forty-nine replays', async (t) => {
  const { logAll, logs } = await setUp()
  const outcomes = await logAll(Array(50).fill(keyed))
  const [first] = outcomes
  t.match(first, { replayed: false })
  t.strictSame(outcomes.slice(1), Array(49).fill({ ...first, replayed: true }))
  t.equal(logs().length, 1)
})

t.test('a repetition of fifty at the same moment is one row and fifty equal receipts', async (t) => {
  const { log, logs } = await setUp()
  const answers = await Promise.all(Array.from({ length: 50 }, () => log(keyed)))
  t.equal(answers.filter(({ replayed }) => !replayed).length, 1)
  t.equal(new Set(answers.map(({ value }) => JSON.stringify(value))).size, 1)
  t.equal(logs().length, 1)
})

t.test('of two requests under one key in one list, the second is refused', async (t) => {
  const { logAll, logs } = await setUp()
  const outcomes = await logAll([keyed, { ...keyed, name: 'Other' }])
  const { prospectLogId } = logs()[0] ?? {}
  t.match(outcomes, [{ replayed: false }, { kind: 'idempotency_key_reused', facts: { prospectLogId } }])
  t.equal(logs().length, 1)
})

t.test('a list of replays and refusals writes nothing at all', async (t) => {
  const { logAll, store } = await setUp()
  await logAll([keyed])
  store.activities.record = () => Promise.reject(new Error('nothing was to be written'))
  t.match(await logAll([keyed, { ...keyed, name: 'Other' }]), [{ replayed: true }, { kind: /reused/ }])
})

t.test('a prospect that came to an email meanwhile changes nothing about a replay', async (t) => {
  const { log } = await setUp()
  const first = await log({ ...keyed, prospectId: PROSPECT })
  await log({ ...unkeyed, email: 'ada@example.com' })
  t.strictSame((await log({ ...keyed, prospectId: PROSPECT })).value, first.value)
})

t.test('a remembered prospect is looked up again only if the store finds it changed', async (t) => {
  const store = storeWith(ACME)
  const clock = stoppedClock()
  const newId = countedIds()
  let recalled = 0
  const recall: typeof store.activities.recall = (want) => {
    recalled += want.identifiers.length
    return store.activities.recall(want)
  }
  const activities = remembering({ ...store.activities, recall }, 10)
  const log = logProspectActivity({ clock, newId, store: { activities } })
  const first = await log(unkeyed)
  clock.advance(24 * HOUR_MS)
  t.equal((await log(unkeyed)).value.prospectId, first.value.prospectId)
  t.equal(recalled, 1, 'however long ago it was remembered')
  const update = updateProspect({ store, clock, newId })
  await update({ tenantId: ACME, prospectId: first.value.prospectId, email: 'lovelace@example.com' })
  t.equal((await log(unkeyed)).value.createdProspect, true)
  t.equal(recalled, 2)
  await log(unkeyed)
  t.equal(recalled, 2, 'and is remembered as it is now')
})
