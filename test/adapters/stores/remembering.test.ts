import t from 'tap'
import { remembering } from '../../../src/adapters/stores/remembering.ts'
import type { Activities, ActivityLookup, KnownActivity } from '../../../src/core/ports/activities.ts'
import type { Recorded } from '../../../src/core/ports/world.ts'
import {
  assumedTo,
  at,
  changeOf,
  emailIdentifier,
  externalIdentifier,
  fillOf,
  logChangeOf,
  logKey,
  type SomeProspect,
  someLog,
  someProspect,
} from '../../support/rows.ts'
import { idOf } from '../../support/setting.ts'

const TENANT = idOf('tenant', 1)
const NOTHING: KnownActivity = { prospects: [], identifiers: [], receipt: null, countedId: null }
const emailOf = (n: number) => `${n}@example.com`
const prospect = (n: number, fields: Partial<SomeProspect> = {}) =>
  someProspect(TENANT, { prospectId: idOf('prospect', n), email: emailOf(n), ...fields })
const byEmail = (email: string, tenantId = TENANT): ActivityLookup => ({
  tenantId,
  identifiers: [emailIdentifier(tenantId, email)],
})
const byId = (n: number): ActivityLookup => ({
  tenantId: TENANT,
  prospectId: idOf('prospect', n),
  identifiers: [],
})

/** Remembers over a store that knows nothing, counts its look-ups, and may let every change be overtaken. */
const setUp = (entriesMax = 10) => {
  const state = { recalled: 0, recorded: 'recorded' as Recorded, known: NOTHING }
  const store = {
    recall: async () => {
      state.recalled++
      return state.known
    },
    record: async () => state.recorded,
  } satisfies Activities
  const activities = remembering(store, entriesMax)
  const find = async (lookup: ActivityLookup) => (await activities.recall(lookup)).prospects[0]
  const findId = async (lookup: ActivityLookup) => (await find(lookup))?.prospectId
  return { ...activities, state, find, findId, store }
}

t.test('what was recorded is recalled without a look-up, as it is then', async (t) => {
  const { record, recall, state } = setUp()
  const change = changeOf(prospect(1, { name: 'Ada' }))
  await record(change)
  t.strictSame(await recall(change.lookup), {
    prospects: [change.prospect],
    identifiers: [
      {
        ...emailIdentifier(TENANT, emailOf(1)),
        prospectId: idOf('prospect', 1),
        blockedUntil: null,
        erasureId: null,
      },
    ],
    receipt: null,
    countedId: null,
  })
  t.equal(state.recalled, 0)
})

t.test('a log of a prospect that was looked up is remembered, by its id or by its email', async (t) => {
  const { record, findId } = setUp()
  const ada = prospect(1)
  for (const lookup of [byId(1), byEmail(emailOf(1))]) {
    t.equal(await findId(lookup), undefined)
    await record(logChangeOf(ada, someLog(ada), { lookup }))
    t.equal(await findId(lookup), ada.prospectId)
  }
})

t.test('a fill is remembered with the time of the change', async (t) => {
  const { record, find } = setUp()
  const ada = prospect(1)
  const lookup = byEmail(emailOf(1))
  await record(logChangeOf(ada, someLog(ada), { lookup }))
  await record({ ...fillOf(ada, { name: 'Ada', updatedAt: at(5) }), identifiers: [], assumed: [], lookup })
  t.match(await find(lookup), { name: 'Ada', updatedAt: at(5) })
})

t.test('what was overtaken is forgotten, and can be remembered again', async (t) => {
  const { record, findId, state } = setUp()
  const changes = [changeOf(prospect(1)), changeOf(prospect(3))]
  for (const change of changes) await record(change)
  state.recorded = 'overtaken'
  t.equal(
    await record(logChangeOf(prospect(1), someLog(prospect(1)), { lookup: byEmail(emailOf(1)) })),
    'overtaken',
  )
  t.equal(await findId(byEmail(emailOf(1))), undefined)
  t.equal(await findId(byEmail(emailOf(3))), idOf('prospect', 3), 'nothing else is forgotten')
  await record(changeOf(prospect(4)))
  t.equal(await findId(byEmail(emailOf(4))), undefined, 'nor is what was not saved remembered')
  state.recorded = 'recorded'
  await record(changeOf(prospect(2, { email: emailOf(1) })))
  t.equal(await findId(byEmail(emailOf(1))), idOf('prospect', 2))
})

t.test('a prospect is found as it was wanted, within its tenant only', async (t) => {
  const { record, findId } = setUp()
  await record(changeOf(prospect(1)))
  t.equal(await findId(byEmail(emailOf(1))), idOf('prospect', 1))
  t.equal(await findId(byEmail(emailOf(2))), undefined)
  t.equal(await findId(byEmail(emailOf(1), idOf('tenant', 2))), undefined)
  t.equal(await findId(byId(1)), undefined, 'an id is no email')
  t.equal(await findId({ ...byEmail(emailOf(1)), prospectId: idOf('prospect', 1) }), undefined)
})

t.test('an external id and an email are found only as they were seen together', async (t) => {
  const { record, findId } = setUp()
  await record(changeOf(prospect(1, { externalId: 'crm 1' })))
  const email = emailIdentifier(TENANT, emailOf(1))
  const both = (text: string) => ({
    tenantId: TENANT,
    identifiers: [email, externalIdentifier(TENANT, text)],
  })
  t.equal(await findId(both('crm 1')), idOf('prospect', 1))
  t.equal(await findId(both('crm 2')), undefined)
  t.equal(await findId(byEmail(emailOf(1))), undefined)
})

t.test('a lookup that names no one is not remembered: the next is another person', async (t) => {
  const { record, findId } = setUp()
  const nobody = changeOf(prospect(1, { email: null }))
  await record(nobody)
  t.equal(await findId(nobody.lookup), undefined)
})

t.test('a lookup with an identifier that leads elsewhere, or to no one, is not remembered', async (t) => {
  const { record, findId } = setUp()
  const ada = prospect(1)
  const lookup = { ...byId(1), identifiers: [emailIdentifier(TENANT, 'other@example.com')] }
  for (const owner of [idOf('prospect', 2), null]) {
    const assumed = [assumedTo(emailIdentifier(TENANT, 'other@example.com'), owner)]
    await record(logChangeOf(ada, someLog(ada), { lookup, assumed }))
    t.equal(await findId(lookup), undefined)
  }
})

t.test('an identifier that is added with the change leads to the prospect from then on', async (t) => {
  const { record, findId } = setUp()
  const ada = prospect(1, { email: null })
  const fill = fillOf(ada, { email: emailOf(1) })
  const lookup = { ...byId(1), identifiers: fill.lookup.identifiers }
  await record({ ...fill, lookup })
  t.equal(await findId(lookup), ada.prospectId)
})

t.test('a prospect that was merged is not remembered under its own id', async (t) => {
  const { record, findId } = setUp()
  const survivor = prospect(2)
  await record(logChangeOf(survivor, someLog(survivor), { lookup: byId(1) }))
  t.equal(await findId(byId(1)), undefined)
})

t.test('an idempotency key is left to the store, which overtakes', async (t) => {
  const { record, findId } = setUp()
  await record(changeOf(prospect(1)))
  t.equal(await findId({ ...byEmail(emailOf(1)), key: logKey('k') }), idOf('prospect', 1))
  const key = logKey('k', { lastKeyScope: 'z' })
  t.equal(
    await findId({ ...byEmail(emailOf(1)), key }),
    undefined,
    'but not one that may be in several scopes',
  )
})

t.test('past the bound the least recently used go first', async (t) => {
  const { record, findId } = setUp(4)
  for (let n = 1; n <= 100; n++) {
    await record(changeOf(prospect(n)))
    if (n > 1) t.equal(await findId(byEmail(emailOf(1))), idOf('prospect', 1))
  }
  let kept = 0
  for (let n = 1; n <= 100; n++) if (await findId(byEmail(emailOf(n)))) kept++
  t.ok(kept >= 2 && kept <= 4, `${kept} of 4`)
})

const FOUND_NO_ONE_MIN = 16
/** Looks up as many strangers as it takes to assume that the next is one, too. */
const lookUpStrangers = async ({ findId }: ReturnType<typeof setUp>) => {
  for (let n = 1; n <= FOUND_NO_ONE_MIN; n++) await findId(byEmail(emailOf(1_000 + n)))
}

t.test('once many look-ups in a row have found no one, the next is assumed to', async (t) => {
  const scene = setUp()
  const { record, recall, findId, state } = scene
  await record(changeOf(prospect(1)))
  await lookUpStrangers(scene)
  t.equal(state.recalled, FOUND_NO_ONE_MIN)
  t.strictSame(recall(byEmail(emailOf(2))), NOTHING)
  t.strictSame(recall({ ...byEmail(emailOf(2)), key: logKey('k') }), NOTHING)
  t.equal(await findId(byEmail(emailOf(1))), idOf('prospect', 1), 'who is remembered is known')
  t.equal(state.recalled, FOUND_NO_ONE_MIN)
  await recall(byId(2))
  await recall({ ...byEmail(emailOf(2)), key: logKey('k', { lastKeyScope: 'z' }) })
  await recall({ tenantId: TENANT, identifiers: [] })
  t.equal(state.recalled, FOUND_NO_ONE_MIN + 3, 'an id, a key that may be in several scopes, and no one')
})

t.test('a person who was wrongly taken for new ends that, and so does each who is found', async (t) => {
  const scene = setUp()
  const { record, findId, state } = scene
  await lookUpStrangers(scene)
  state.recorded = 'overtaken'
  await record(changeOf(prospect(1)))
  const found = { ...emailIdentifier(TENANT, emailOf(1)), prospectId: idOf('prospect', 1) }
  state.known = { ...NOTHING, identifiers: [{ ...found, blockedUntil: null, erasureId: null }] }
  for (let n = 1; n <= 2 * FOUND_NO_ONE_MIN; n++) await findId(byEmail(emailOf(n)))
  t.equal(state.recalled, 3 * FOUND_NO_ONE_MIN)
})

t.test('a memory for none is none', async (t) => {
  const { store } = setUp()
  t.equal(remembering(store, 0), store)
})
