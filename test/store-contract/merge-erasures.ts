import type { Store, StoredErasure } from 'prospect-pages/store'
import { equal, like, ok, same } from './assertions.ts'
import { type Subject, section } from './contract.ts'
import { DAY_MS, mergeScene } from './merge-scene.ts'
import { at } from './rows.ts'

type Scene = Subject & Awaited<ReturnType<typeof mergeScene>>

/** Ada and Eve, merged into Grace. Some logs have moved to her. */
const addMergedPeople = async ({ here, addPerson }: Scene) => {
  const ada = await addPerson('ada', { count: 3, firstMs: 0 })
  const grace = await addPerson('grace', { count: 3, firstMs: 0 })
  const eve = await addPerson('eve', { count: 2, firstMs: 0 })
  await here.merge(ada.prospectId, grace.prospectId)
  await here.merge(eve.prospectId, grace.prospectId)
  return { ada, grace, eve, all: [ada, grace, eve] }
}

/** Erasures of people who were merged. */
export const mergeErasures = section('merges', mergeScene, {
  'an erasure of any of the merged prospects erases all, and no log moves any more': async (scene) => {
    const { here, store, claimMerge, read } = scene
    const { ada, grace, eve, all } = await addMergedPeople(scene)
    const claimed = await claimMerge()
    equal(await store.merges.moveLogs(claimed, 1), 1)
    const erasure = await here.erase({ prospectId: ada.prospectId })
    like(erasure, { status: 'processing', prospectId: grace.prospectId })
    equal(await store.merges.moveLogs(claimed, 1), 0)
    for (const { prospectId } of all) like(await read(prospectId), { kind: 'prospect_erased' })
    // Later requests for any of them join this erasure.
    same(await here.erase({ email: 'eve@x' }), erasure)
    same(await here.erase({ prospectId: eve.prospectId }), erasure)
    same(await here.erase({ email: 'grace@x' }), erasure)
  },

  'whatever named any of the merged prospects is blocked until its block is lifted': async (scene) => {
    const { here, there, addPerson, store, clock, tenantId, core, completeErasures } = scene
    const { ada, all } = await addMergedPeople(scene)
    const bob = await addPerson('bob')
    await there.log({ email: 'ada@x' })
    const { erasureId } = (await here.erase({ prospectId: ada.prospectId })) as StoredErasure
    for (const { email, prospectId } of all) {
      equal(await here.refusalOf({ email: String(email) }), 'prospect_erased')
      equal(await here.refusalOf({ prospectId }), 'prospect_erased')
    }
    same(await here.tryMerge(ada.prospectId, bob.prospectId), { kind: 'prospect_erased' })
    same(await here.tryMerge(bob.prospectId, ada.prospectId), { kind: 'prospect_erased' })

    await completeErasures()
    await core.unblockErasure({ store, clock })({ tenantId, erasureId })
    for (const { email } of all) like(await here.log({ email: String(email) }), { createdProspect: true })
  },

  'a completed erasure has deleted the logs of all, and their names from the logs of others': async (
    scene,
  ) => {
    const { here, there, store, tenantId, kept, claimMerge, moveAllLogs, completeErasures } = scene
    const { ada, grace } = await addMergedPeople(scene)
    await there.log({ email: 'ada@x' })
    const bob = await here.log({ email: 'bob@x', name: 'Bob' })
    await here.log({ prospectId: bob.prospectId, email: 'ada@x', name: 'ada' })
    await store.merges.moveLogs(await claimMerge(), 1)
    await here.erase({ prospectId: ada.prospectId })
    await completeErasures()

    const listed = await store.erasures.list({ tenantId, beforeId: null, limit: 10 })
    equal(listed.length, 1)
    like(listed[0], { status: 'completed', logsErased: 9, prospectId: grace.prospectId })
    const { logs, prospects } = await kept()
    const left = JSON.stringify({ logs, prospects })
    ok(!/(ada|grace|eve)@|"name":"(ada|grace|eve)/.test(left), left)
    same(
      logs.map(({ prospectId }) => prospectId),
      [bob.prospectId, bob.prospectId],
    )

    await moveAllLogs()
    equal((await store.merges.backlog(10)).count, 0)
  },

  'a longer block holds for all that named the person': async (scene) => {
    const { here, addPerson, store, tenantId, completeErasures } = scene
    const ada = await addPerson('ada')
    const grace = await addPerson('grace')
    await here.merge(ada.prospectId, grace.prospectId)
    await here.erase({ email: 'grace@x', blockDays: 30 })
    await here.erase({ email: 'ada@x', blockDays: 60 })
    await completeErasures()
    await store.erasures.expire({ tenantId, now: at(40 * DAY_MS), beforeLogId: null, max: 10 })
    for (const email of ['ada@x', 'grace@x']) equal(await here.refusalOf({ email }), 'prospect_erased')
  },

  'a merge into a prospect that is erased meanwhile is refused, and the other one stays': async (scene) => {
    const { here, callersOn, addPerson, store, read } = scene
    const ada = await addPerson('ada', { count: 2, firstMs: 0 })
    const grace = await addPerson('grace', { count: 2, firstMs: 0 })
    const late = callersOn(
      interruptedOnce(store, async () => {
        await here.erase({ prospectId: grace.prospectId })
      }),
    )
    same(await late.tryMerge(ada.prospectId, grace.prospectId), { kind: 'prospect_erased' })
    like(await read(ada.prospectId), { email: 'ada@x' })
    await here.erase({ prospectId: ada.prospectId })
    await nothingIsLeft(scene)
  },

  'an erasure of a prospect into which another one is merged meanwhile leaves nothing of either': async (
    scene,
  ) => {
    const { here, callersOn, addPerson, store } = scene
    const ada = await addPerson('ada', { count: 2, firstMs: 0 })
    const grace = await addPerson('grace', { count: 2, firstMs: 0 })
    const late = callersOn(
      interruptedOnce(store, async () => {
        await here.merge(ada.prospectId, grace.prospectId)
      }),
    )
    like(await late.erase({ prospectId: grace.prospectId }), { prospectId: grace.prospectId })
    await nothingIsLeft(scene)
  },
})

/** A store where something else happens once: after prospects were read, and before anything is decided. */
const interruptedOnce = (store: Store, interrupt: () => Promise<void>): Store => {
  let isFirst = true
  const findWithMerged: Store['prospects']['findWithMerged'] = async (key) => {
    const found = await store.prospects.findWithMerged(key)
    if (isFirst) {
      isFirst = false
      await interrupt()
    }
    return found
  }
  return { ...store, prospects: { ...store.prospects, findWithMerged } }
}

/** Once the erasures are completed, there are no logs, and only tombstones. */
const nothingIsLeft = async ({ completeErasures, kept }: Scene) => {
  await completeErasures()
  const { prospects, logs } = await kept()
  same(logs, [])
  for (const { email, name } of prospects) same({ email, name }, { email: null, name: null })
}
