import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import { mergeScene } from './merge-scene.ts'
import { newId } from './rows.ts'

/** At most so many prospects are merged into one. */
const MERGED_MAX = 100

/** What callers see of a merge. */
export const merges = section('merges', mergeScene, {
  'the survivor takes from the merged prospect what it lacks': async ({ here, there }) => {
    const merged = await here.log({ email: 'ada@x', externalId: 'A-1', name: 'Ada' })
    const survivor = await here.log({ email: 'countess@x' })
    like(await there.merge(merged.prospectId, survivor.prospectId), {
      prospectId: survivor.prospectId,
      email: 'countess@x',
      externalId: 'A-1',
      name: 'Ada',
    })
  },

  'a merge names what the survivor is not shown with, and so does the same merge again': async (scene) => {
    const { here, there } = scene
    const ada = await here.log({ email: 'ada@x', externalId: 'A-1', name: 'Ada' })
    const bob = await here.log({ email: 'bob@x' })
    const both = await here.log({ email: 'both@x', externalId: 'B-1', name: 'Eve' })
    const email = { field: 'email', reason: 'different' }
    const externalId = { field: 'externalId', reason: 'different' }
    for (const callers of [here, there]) {
      same((await callers.merge(ada.prospectId, bob.prospectId)).conflicts, [email])
      equal((await callers.log({ email: 'ada@x' })).prospectId, bob.prospectId)
    }
    same((await here.merge(bob.prospectId, both.prospectId)).conflicts, [email, externalId])
    same((await here.merge(bob.prospectId, ada.prospectId)).conflicts, [email, externalId])
    const nameless = await here.log({ name: 'Bob' })
    same((await here.merge(nameless.prospectId, both.prospectId)).conflicts, [])
  },

  'activities that name the merged prospect are logged for the survivor at once': async (scene) => {
    const { here, there } = scene
    const merged = await here.log({ email: 'ada@x', externalId: 'A-1', name: 'Ada' })
    const survivor = await here.log({ email: 'countess@x' })
    await there.merge(merged.prospectId, survivor.prospectId)
    for (const named of [{ prospectId: merged.prospectId }, { email: ' ADA@x' }, { externalId: 'A-1' }])
      equal((await here.log(named)).prospectId, survivor.prospectId)
  },

  'the merged id reads as the survivor': async ({ here, there, read }) => {
    const merged = await here.log({ email: 'ada@x', externalId: 'A-1', name: 'Ada' })
    const survivor = await here.log({ email: 'countess@x' })
    await there.merge(merged.prospectId, survivor.prospectId)
    same(await read(merged.prospectId), await read(survivor.prospectId))
    like(await read(merged.prospectId), { prospectId: survivor.prospectId, email: 'countess@x' })
  },

  'a list and a search show the survivor alone, by either email': async (scene) => {
    const { here, there, tenantId, store, kept, core } = scene
    const merged = await here.log({ email: 'ada@x', externalId: 'A-1', name: 'Ada' })
    const survivor = await here.log({ email: 'countess@x' })
    await there.merge(merged.prospectId, survivor.prospectId)
    const listProspects = core.listProspects({ store, clock: Date.now })
    for (const email of ['ada@x', 'countess@x', undefined]) {
      const { value: slice } = await listProspects({ tenantId, email, limit: 10 })
      same(
        slice.items.map(({ prospectId }) => prospectId),
        [survivor.prospectId],
      )
    }
    for (const search of ['ada@', 'counte', 'ADA', 'a', 'co']) {
      const { value: slice } = await listProspects({ tenantId, search, limit: 10 })
      like(slice, { items: [{ prospectId: survivor.prospectId }], hasMore: false })
    }
    equal((await kept()).prospects.length, 2)
  },

  'the survivor keeps what it has, and a merged prospect keeps nothing but what names the survivor': async (
    scene,
  ) => {
    const { here, addPerson, kept } = scene
    const ada = await addPerson('ada')
    const grace = await addPerson('grace')
    like(await here.merge(ada.prospectId, grace.prospectId), { email: 'grace@x', name: 'grace' })
    const merged = (await kept()).prospects.find(({ prospectId }) => prospectId === ada.prospectId)
    like(merged, { email: 'ada@x', name: null })
  },

  'a process that remembers the merged prospect logs for the survivor at once': async (scene) => {
    const { here, there, timelineOf } = scene
    const ada = await here.log({ email: 'ada@x' })
    const grace = await here.log({ email: 'grace@x' })
    const namesOfAda = [{ email: 'ada@x' }, { prospectId: ada.prospectId }]
    for (const named of namesOfAda)
      for (const callers of [here, there])
        equal((await callers.log(named)).prospectId, ada.prospectId, 'remembered')
    await here.merge(ada.prospectId, grace.prospectId)
    for (const named of namesOfAda)
      for (const callers of [here, there, here])
        equal((await callers.log(named)).prospectId, grace.prospectId)
    // Two logs that created the people, four before the merge and six after it.
    equal((await timelineOf(grace.prospectId)).length, 12)
  },

  'an activity that was looked up before the merge, and fills a blank, is logged for the survivor': async (
    scene,
  ) => {
    const { here, callersOn, addPerson, store } = scene
    const ada = await here.log({ email: 'ada@x' })
    const grace = await addPerson('grace')
    let isFirst = true
    const recallBeforeMerge: typeof store.activities.recall = async (lookup) => {
      const known = await store.activities.recall(lookup)
      if (isFirst) await here.merge(ada.prospectId, grace.prospectId)
      isFirst = false
      return known
    }
    const late = callersOn({ ...store, activities: { ...store.activities, recall: recallBeforeMerge } })
    equal((await late.log({ email: 'ada@x', name: 'Ada' })).prospectId, grace.prospectId)
  },

  'a replay of a key names the prospect that has the activity now': async (scene) => {
    const { here, addPerson, moveAllLogs } = scene
    const activity = { email: 'ada@x', idempotencyKey: 'one' }
    const first = await here.log(activity)
    const grace = await addPerson('grace')
    await here.merge(first.prospectId, grace.prospectId)
    await moveAllLogs()
    like(await here.log(activity), {
      replayed: true,
      prospectLogId: first.prospectLogId,
      createdAt: first.createdAt,
      prospectId: grace.prospectId,
    })
  },

  'a repeated merge returns the survivor and changes nothing': async ({ here, addPerson, kept }) => {
    const ada = await addPerson('ada')
    const grace = await addPerson('grace')
    const survivor = await here.merge(ada.prospectId, grace.prospectId)
    const before = await kept()
    same(await here.merge(ada.prospectId, grace.prospectId), survivor)
    same(await kept(), before)
  },

  'a merge of a person into the same person is refused': async ({ here, addPerson }) => {
    const merged = (await addPerson('ada')).prospectId
    const survivor = (await addPerson('grace')).prospectId
    await here.merge(merged, survivor)
    same(await here.tryMerge(survivor, survivor), { kind: 'invalid_request' })
    same(await here.tryMerge(survivor, merged), { kind: 'invalid_request' })
    same(await here.tryMerge(merged, merged), { kind: 'invalid_request' })
  },

  'a merge of or into an unknown prospect is refused': async ({ here, addPerson }) => {
    const { prospectId } = await addPerson('ada')
    same(await here.tryMerge(prospectId, newId('prospect')), { kind: 'prospect_not_found' })
    same(await here.tryMerge(newId('prospect'), prospectId), { kind: 'prospect_not_found' })
  },

  'at most a hundred prospects are merged into one, or with it into another': async (scene) => {
    const { here, there, addPerson } = scene
    const survivor = await addPerson('ada')
    for (let merged = 1; merged < MERGED_MAX; merged++) {
      const { prospectId } = await addPerson(`p${merged}`)
      await here.merge(prospectId, survivor.prospectId)
    }
    const last = await addPerson('last')
    const tooMany = await addPerson('over')
    const results = await Promise.all([
      here.tryMerge(last.prospectId, survivor.prospectId),
      there.tryMerge(tooMany.prospectId, survivor.prospectId),
    ])
    same(results.map(({ kind }) => kind ?? 'merged').toSorted(), ['limit_reached', 'merged'])
    const next = await addPerson('new')
    same(await here.tryMerge(survivor.prospectId, next.prospectId), { kind: 'limit_reached' })
  },

  'a correction by the merged id changes the survivor': async ({ here, addPerson, read }) => {
    const merged = await addPerson('ada')
    const survivor = await addPerson('grace')
    await here.merge(merged.prospectId, survivor.prospectId)
    const renamed = { prospectId: survivor.prospectId, name: 'Countess' }
    like(await here.correct(merged.prospectId, { name: 'Countess' }), renamed)
    like(await read(merged.prospectId), renamed)
  },

  'the survivor may take the email of the merged prospect, and its former email is free': async (scene) => {
    const { here, addPerson, read, kept } = scene
    const merged = await addPerson('ada')
    const survivor = await addPerson('grace')
    await here.merge(merged.prospectId, survivor.prospectId)
    like(await here.correct(survivor.prospectId, { email: 'ada@x' }), { email: 'ada@x' })
    like(await read(merged.prospectId), { prospectId: survivor.prospectId, email: 'ada@x' })
    ok(!(await kept()).prospects.some(({ email }) => email === 'grace@x'), 'the email is free')
  },

  'an email that was given up and came back by a merge is taken': async ({ here, addPerson }) => {
    const merged = await addPerson('ada')
    const survivor = await addPerson('grace')
    const other = await addPerson('eve')
    await here.merge(merged.prospectId, survivor.prospectId)
    await here.correct(survivor.prospectId, { email: 'ada@x' })
    const newcomer = await addPerson('grace')
    await here.merge(newcomer.prospectId, survivor.prospectId)
    like(await here.correct(other.prospectId, { email: 'grace@x' }), { kind: 'email_taken' })
  },
})
