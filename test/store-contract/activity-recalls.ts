import { activitySetting, idsOf, keyOf, LONG_AGO, NOTHING, UNTIL } from './activity-scene.ts'
import { equal, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  addTenant,
  at,
  emailIdentifier,
  externalIdentifier,
  fillOf,
  identifiersOf,
  keyFields,
  logKey,
  newId,
  only,
  readEach,
  scribbleOn,
  someLog,
  someProspect,
} from './rows.ts'

export const activityRecalls = section('activities', activitySetting, {
  'a recorded prospect is recalled by its id and by what identifies it': async (scene) => {
    const { recall, addProspect } = scene
    const tenantId = await scene.newTenant()
    const fields = { email: 'ada@example.com', externalId: 'crm 1', name: 'Ada' }
    const { prospectId } = await addProspect(tenantId, fields)
    const stored = { tenantId, prospectId, ...fields, erasedAt: null, mergedInto: null }
    same(await recall({ tenantId, prospectId }), { ...NOTHING, prospects: [stored] })
    for (const identifier of [
      emailIdentifier(tenantId, 'ada@example.com'),
      externalIdentifier(tenantId, 'crm 1'),
    ]) {
      const { prospects, identifiers } = await recall({ tenantId, identifiers: [identifier] })
      same(prospects, [stored])
      same(identifiers, [{ ...identifier, prospectId, blockedUntil: null, erasureId: null }])
    }
  },

  'a look-up returns the prospect with its id and those that its identifiers lead to': async (scene) => {
    const { recall, addProspect } = scene
    const tenantId = await scene.newTenant()
    const ada = await addProspect(tenantId, { name: 'Ada' })
    const byEmail = await addProspect(tenantId, { email: 'grace@x' })
    const byExternalId = await addProspect(tenantId, { externalId: '1' })
    const identifiers = [...identifiersOf(byEmail), ...identifiersOf(byExternalId)]
    const known = await recall({ tenantId, prospectId: ada.prospectId, identifiers })
    same(idsOf(known.prospects), idsOf([ada, byEmail, byExternalId]))
    same(idsOf(known.identifiers), idsOf([byEmail, byExternalId]))
  },

  'a prospect is recalled with the time of its last change': async ({
    activities,
    addProspect,
    newTenant,
  }) => {
    const ada = await addProspect(await newTenant(), { email: 'ada@x' })
    const { tenantId, prospectId } = ada
    const timesNow = async () => {
      const byIdentifier = await activities.recall({ tenantId, identifiers: identifiersOf(ada) })
      const byId = await activities.recall({ tenantId, prospectId, identifiers: [] })
      return [...byIdentifier.prospects, ...byId.prospects].map(({ updatedAt }) => updatedAt)
    }
    same(await timesNow(), [at(0), at(0)])
    equal(await activities.record(fillOf(ada, { name: 'Ada', updatedAt: at(5) })), 'recorded')
    same(await timesNow(), [at(5), at(5)])
  },

  'an email and an external id with one text are two identifiers': async ({
    recall,
    addProspect,
    newTenant,
  }) => {
    const tenantId = await newTenant()
    const byEmail = await addProspect(tenantId, { email: 'ada@x' })
    const byExternalId = await addProspect(tenantId, { externalId: 'ada@x' })
    const wanted = [externalIdentifier(tenantId, 'ada@x'), emailIdentifier(tenantId, 'ada@x')]
    const { identifiers } = await recall({ tenantId, identifiers: wanted })
    same(Object.fromEntries(identifiers.map(({ kind, prospectId }) => [kind, prospectId])), {
      email: byEmail.prospectId,
      externalId: byExternalId.prospectId,
    })
  },

  'a blocked identifier is recalled with its erasure and without a prospect': async (scene) => {
    const { blockIdentifier, recall } = scene
    const tenantId = await scene.newTenant()
    const identifier = emailIdentifier(tenantId, 'gone@example.com')
    const { erasureId } = await blockIdentifier(identifier)
    const known = await recall({ tenantId, identifiers: [identifier] })
    same(known.identifiers, [{ ...identifier, prospectId: null, blockedUntil: UNTIL, erasureId }])
    same(known.prospects, [])
  },

  'an erased prospect and a merged one are recalled as such by their ids': async (scene) => {
    const { erase, merge, recall, addProspect } = scene
    const tenantId = await scene.newTenant()
    const fields = { email: 'ada@x', externalId: '1', name: 'Ada' }
    const erased = await addProspect(tenantId, fields)
    const merged = await addProspect(tenantId, { email: 'grace@x' })
    const survivor = await addProspect(tenantId)
    await erase(erased)
    await merge(merged, survivor)
    const known = await readEach(recall, [erased, merged])
    const blank = { email: null, externalId: null, name: null }
    same(
      known.map(({ prospects }) => prospects),
      [
        [{ tenantId, prospectId: erased.prospectId, ...blank, erasedAt: at(1), mergedInto: null }],
        [
          {
            tenantId,
            prospectId: merged.prospectId,
            ...blank,
            email: 'grace@x',
            erasedAt: null,
            mergedInto: survivor.prospectId,
          },
        ],
      ],
    )
    const { prospects } = await recall({ tenantId, identifiers: [emailIdentifier(tenantId, 'grace@x')] })
    same(only(prospects, 'prospectId'), [{ prospectId: survivor.prospectId }])
  },

  'a look-up returns the id up to which logs are counted, if its tenant counts them': async (scene) => {
    const { recall, addProspect, store } = scene
    const { tenantId } = await addTenant(store)
    await store.counts.markRead(tenantId, at(0))
    const { prospectId } = await addProspect(tenantId, { email: 'ada@x' })
    const other = await addProspect((await addTenant(store)).tenantId, { email: 'ada@x' })
    for (const countedId of ['', 'prospectlog_0']) {
      ok(await store.counts.close(tenantId, countedId, LONG_AGO))
      const known = await readEach(recall, [{ tenantId }, other, { tenantId, prospectId }])
      same(only(known, 'countedId'), [{ countedId }, { countedId: null }, { countedId }])
    }
  },

  'a prospect without email or name is recalled with nulls': async ({ recall, addProspect, newTenant }) => {
    const { tenantId, prospectId } = await addProspect(await newTenant())
    const { prospects } = await recall({ tenantId, prospectId })
    const blank = { email: null, externalId: null, name: null, erasedAt: null, mergedInto: null }
    same(prospects, [{ tenantId, prospectId, ...blank }])
  },

  'a look-up returns only what it asks for': async ({ recall, addProspect, newTenant }) => {
    const tenantId = await newTenant()
    const { prospectId } = await addProspect(tenantId, { email: 'wanted@example.com' })
    await addProspect(tenantId, { email: 'neighbour@example.com' })
    same(await recall({ tenantId }), NOTHING)
    const known = await recall({ tenantId, prospectId })
    same(only(known.prospects, 'prospectId'), [{ prospectId }])
    same({ ...known, prospects: [] }, NOTHING)
    same(await recall({ tenantId, prospectId: newId('prospect') }), NOTHING)
    const nobody = emailIdentifier(tenantId, 'nobody@example.com')
    same(await recall({ tenantId, identifiers: [nobody] }), NOTHING)
    same(await recall({ tenantId, key: logKey('none') }), NOTHING)
  },

  'another tenant recalls neither a prospect nor an email, an external id or an idempotency key': async (
    scene,
  ) => {
    const { recall, record } = scene
    const prospect = someProspect(await scene.newTenant(), {
      email: 'ada@example.com',
      externalId: 'crm 1',
    })
    const log = someLog(prospect, keyFields('theirs'))
    await record([prospect], [log])
    const tenantId = await scene.newTenant()
    const { prospectId } = prospect
    const identifiers = identifiersOf({ ...prospect, tenantId })
    same(await recall({ tenantId, prospectId, identifiers, key: keyOf(log) }), NOTHING)
  },

  'each of many look-ups at once returns what it returns alone': async (scene) => {
    const { recall, record } = scene
    // One text names another person in each tenant.
    const tenantIds = [await scene.newTenant(), await scene.newTenant()]
    const people = tenantIds.flatMap((tenantId) => [
      someProspect(tenantId, { email: 'same@x', externalId: '1' }),
      someProspect(tenantId, { externalId: '2' }),
    ])
    const logs = people.map((person) => someLog(person, keyFields(String(person.externalId))))
    equal(await record(people, logs), 'recorded')
    const lookups = people.map((person, i) => [
      { tenantId: person.tenantId, prospectId: person.prospectId },
      { tenantId: person.tenantId, identifiers: identifiersOf(person) },
      { tenantId: person.tenantId, key: keyOf(logs[i] ?? null) },
      { tenantId: person.tenantId, prospectId: newId('prospect') },
    ])
    const alone: unknown[] = []
    for (const lookup of lookups.flat()) alone.push(await recall(lookup))
    same(
      alone.map(
        (known) =>
          Object.values(known as object)
            .flat()
            .filter(Boolean).length,
      ),
      people.flatMap((person) => [1, identifiersOf(person).length + 1, 1, 0]),
    )
    same(await readEach(recall, [...lookups.flat(), ...lookups.flat()]), [...alone, ...alone])
  },

  'a caller that changes what was recalled changes nothing in the store': async (scene) => {
    const { activities, blockIdentifier, keptOf, recall, record, addProspect } = scene
    const prospect = await addProspect(await scene.newTenant(), { email: 'ada@example.com', name: 'Ada' })
    const { tenantId, prospectId } = prospect
    const log = someLog(prospect, keyFields('one'))
    await record([], [log])
    const gone = externalIdentifier(tenantId, 'gone')
    await blockIdentifier(gone)
    const before = await keptOf(tenantId)
    const identifiers = [emailIdentifier(tenantId, 'ada@example.com'), gone]
    const lookup = { tenantId, prospectId, identifiers, key: logKey('one', log) }
    const expected = await recall(lookup)
    scribbleOn(await activities.recall(lookup))
    same(await recall(lookup), expected)
    same(await keptOf(tenantId), before)
  },
})
