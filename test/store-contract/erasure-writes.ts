import { setTimeout } from 'node:timers/promises'
import type { Identifier, StoredErasure } from 'prospect-pages/store'
import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import { ADA, DAY_MS, erasureScene, HOUR_MS } from './erasure-scene.ts'
import {
  addTenant,
  at,
  externalIdentifier,
  identifiersOf,
  newId,
  readEach,
  recordAll,
  someClaim,
  someLog,
  someProspect,
} from './rows.ts'

/** A race is run so many times: either side may win each. */
const RACES = 5

/** What a store writes of an erasure: whom it erases, what it blocks, and who wins if another change comes at once. */
export const erasureWrites = section('erasures', erasureScene, {
  'a step of an erasure that another eraser has claimed is not saved': async (scene) => {
    const { here, store, tenantId, erasureOf } = scene
    const erasure = await here.request({ email: ADA })
    const [first] = await store.erasures.claim(someClaim({ until: at(0) }))
    const [second] = await store.erasures.claim(someClaim())
    if (!first || !second) throw new Error('nothing was claimed')
    like(
      [first, second],
      [
        { attempt: 1, pass: 1, position: '' },
        { attempt: 2, settlesAfter: null },
      ],
    )
    const completed = { status: 'completed', completedAt: at(6), claimableAt: at(6) } as const
    await store.erasures.settle(tenantId, [{ ...first, ...completed }])
    like(await erasureOf(erasure), { status: 'processing' })
    const settlesAfter = await store.moments.now()
    const step = { ...second, pass: 2, position: 'x', settlesAfter, claimableAt: at(5) } as const
    await store.erasures.settle(tenantId, [step])
    same(await store.erasures.claim(someClaim({ now: at(4) })), [])
    const [third] = await store.erasures.claim(someClaim({ now: at(5) }))
    like(third, { attempt: 3, pass: 2, position: 'x', settlesAfter, requestedAt: at(0) })
    if (third) await store.erasures.settle(tenantId, [{ ...third, ...completed }])
    like(await erasureOf(erasure), { status: 'completed', completedAt: at(6) })
    same(await store.erasures.claim(someClaim({ now: at(100) })), [])
  },

  'every moment is past in the end': async ({ store, elsewhere }) => {
    const moments = [await store.moments.now(), await elsewhere.moments.now()]
    for (const on of [store, elsewhere]) {
      same(await on.moments.arePast([]), [])
      for (let round = 0; (await on.moments.arePast(moments)).includes(false); round++) {
        ok(round < 1_000)
        await setTimeout(5)
      }
    }
  },

  'each identifier that leads to a person, or did, is blocked by the erasure': async (scene) => {
    const { correct, email, erase, leadsOf, merge, addPerson, store, tenantId } = scene
    const external = (text: string) => externalIdentifier(tenantId, text)
    const ada = await addPerson({ email: 'a1@x', externalId: 'a' })
    const eve = await addPerson({ email: 'e1@x', externalId: 'e' })
    const bob = await addPerson({ email: 'b1@x' })
    const formerAda = await correct(await correct(ada, { email: 'a2@x' }), {
      email: 'a3@x',
      externalId: null,
    })
    const formerEve = await correct(eve, { email: 'e2@x' })
    // Eve is merged into Bob, and Bob into Ada.
    const survivor = await merge(formerEve, bob)
    const whole = await merge(survivor, formerAda)
    const all = ['a1@x', 'a2@x', 'a3@x', 'e1@x', 'e2@x', 'b1@x'].map(email)
    const identifiers = [...all, external('a'), external('e')]
    const { outcome, erasure } = await erase(whole)
    equal(outcome, 'recorded')
    same(
      await leadsOf(...identifiers),
      identifiers.map(() => erasure.erasureId),
    )
    const blocked = await store.erasures.blockedBy(tenantId, [erasure.erasureId])
    same(hashesOf(blocked), hashesOf(identifiers))
    for (const identifier of blocked)
      like(identifier, { tenantId, prospectId: null, blockedUntil: at(DAY_MS), erasureId: erasure.erasureId })
    like(await store.erasures.find({ tenantId, erasureId: erasure.erasureId }), {
      blockedUntil: at(DAY_MS),
    })
    const erased = await readEach(store.prospects.find, [ada, eve, bob])
    for (const prospect of erased)
      like(prospect, { email: null, externalId: null, name: null, erasedAt: at(5), updatedAt: at(5) })
  },

  'a former identifier that leads to another person today stays there': async (scene) => {
    const { correct, email, markCompleted, erase, leadsOf, addPerson, store, tenantId } = scene
    const ada = await correct(await addPerson({ email: 'shared@x', externalId: '1' }), { email: 'ada@x' })
    const bob = await addPerson({ email: 'shared@x' })
    const { erasure } = await erase(ada)
    same(await leadsOf(email('shared@x'), email('ada@x')), [bob.prospectId, erasure.erasureId])
    equal((await store.erasures.blockedBy(tenantId, [erasure.erasureId])).length, 2)
    // A completed erasure forgets the former identifiers of its prospect.
    await markCompleted(erasure)
    const { erasure: second } = await erase(await correct(bob, { email: null }))
    same(await leadsOf(email('shared@x')), [second.erasureId])
  },

  'an identifier that the person lost and got back is blocked once': async (scene) => {
    const { correct, email, erase, leadsOf, addPerson, store, tenantId } = scene
    let ada = await addPerson({ email: '1@x' })
    for (const text of ['2@x', '1@x', '2@x', '1@x']) ada = await correct(ada, { email: text })
    const { erasure } = await erase(ada)
    same(await leadsOf(email('1@x'), email('2@x')), [erasure.erasureId, erasure.erasureId])
    equal((await store.erasures.blockedBy(tenantId, [erasure.erasureId])).length, 2)
  },

  'a former identifier that is blocked already is blocked by the new erasure, never for a shorter time':
    async (scene) => {
      const { block, correct, email, erase, leadsOf, addPerson, store, tenantId } = scene
      let ada = await addPerson({ email: '1@x' })
      for (const text of ['2@x', '3@x']) ada = await correct(ada, { email: text })
      const { erasure: longer } = await block(email('1@x'), at(2 * DAY_MS))
      const { erasure: shorter } = await block(email('2@x'), at(HOUR_MS))
      same(await leadsOf(email('1@x'), email('2@x')), [longer.erasureId, shorter.erasureId])
      const { erasure } = await erase(ada)
      const blocked = await store.erasures.blockedBy(tenantId, [erasure.erasureId])
      same(blocked.map(({ blockedUntil }) => blockedUntil).toSorted(), [
        at(DAY_MS),
        at(DAY_MS),
        at(2 * DAY_MS),
      ])
      same(await store.erasures.blockedBy(tenantId, [longer.erasureId, shorter.erasureId]), [])
      like(await store.erasures.find({ tenantId, erasureId: longer.erasureId }), { blockedUntil: null })
      like(await store.erasures.find({ tenantId, erasureId: erasure.erasureId }), {
        blockedUntil: at(2 * DAY_MS),
      })
    },

  'an identifier that leads to a prospect is not blocked alone, and the request saves nothing': async (
    scene,
  ) => {
    const { everything, block, email, leadsOf, addPerson } = scene
    const ada = await addPerson({ email: 'ada@x' })
    const before = await everything()
    const { outcome } = await block(email('ada@x'))
    equal(outcome, 'overtaken')
    equal(await everything(), before)
    same(await leadsOf(email('ada@x')), [ada.prospectId])
  },

  'an erasure of a prospect that has changed since is overtaken, and saves nothing': async (scene) => {
    const { everything, correct, email, erase, leadsOf, merge, addPerson, store } = scene
    const ada = await addPerson({ email: 'ada@x', name: 'Ada' })
    const before = await everything()
    for (const stale of [
      { ...ada, name: null },
      { ...ada, email: 'other@x' },
      { ...ada, externalId: '1' },
      { ...ada, updatedAt: at(1) },
      { ...ada, prospectId: newId('prospect') },
    ])
      equal((await erase(stale)).outcome, 'overtaken')
    equal(await everything(), before)
    const corrected = await correct(ada, { email: 'new@x' })
    equal((await erase(ada)).outcome, 'overtaken')
    const survivor = await addPerson()
    await merge(corrected, survivor)
    equal((await erase(corrected)).outcome, 'overtaken')
    equal((await erase(survivor)).outcome, 'overtaken')
    same(await leadsOf(email('ada@x'), email('new@x')), [undefined, survivor.prospectId])
    equal((await erase({ ...survivor, updatedAt: at(1) })).outcome, 'recorded')
    equal((await erase({ ...survivor, updatedAt: at(1) })).outcome, 'overtaken')
    like(await store.prospects.find(survivor), { erasedAt: at(5) })
  },

  'of two erasures of one person at once, exactly one is recorded': async (scene) => {
    const { elsewhere, email, erase, leadsOf, addPerson, store, tenantId } = scene
    for (let round = 0; round < RACES; round++) {
      const ada = await addPerson({ email: `${round}@x` })
      const both = await Promise.all([erase(ada), erase(ada, at(DAY_MS), elsewhere)])
      same(both.map(({ outcome }) => outcome).toSorted(), ['overtaken', 'recorded'])
      const recorded = both.find(({ outcome }) => outcome === 'recorded')?.erasure.erasureId
      same(await leadsOf(email(`${round}@x`)), [recorded])
      const { prospectId } = ada
      equal((await store.erasures.find({ tenantId, prospectId }))?.erasureId, recorded)
    }
  },

  'of a block and an activity that adds the identifier at once, exactly one is recorded': async (scene) => {
    const { block, elsewhere, email, leadsOf, store, tenantId } = scene
    for (let round = 0; round < RACES; round++) {
      const prospect = someProspect(tenantId, { email: `${round}@x` })
      const isBlockedHere = round % 2 === 0
      const blocking = block(email(`${round}@x`), at(DAY_MS), isBlockedHere ? store : elsewhere)
      const { activities } = isBlockedHere ? elsewhere : store
      const recording = recordAll(activities, [prospect], [someLog(prospect)])
      const { outcome, erasure } = await blocking
      const isBlocked = outcome === 'recorded'
      equal(await recording, isBlocked ? 'overtaken' : 'recorded')
      const owner = isBlocked ? erasure.erasureId : prospect.prospectId
      same(await leadsOf(email(`${round}@x`)), [owner])
    }
  },

  'of an erasure and a correction at once, exactly one is recorded': async (scene) => {
    const { elsewhere, email, erase, leadsOf, addPerson } = scene
    for (let round = 0; round < RACES; round++) {
      const texts = [`${round}@x`, `${round}@y`]
      const before = await addPerson({ email: `${round}@x` })
      const after = { ...before, email: `${round}@y`, updatedAt: at(1) }
      const correction = {
        before,
        after,
        added: identifiersOf(after),
        released: identifiersOf(before),
        forgotten: [],
      }
      const correcting = elsewhere.prospects.correct(correction)
      const erasing = erase(before)
      const isCorrected = (await correcting) === 'recorded'
      const { outcome, erasure } = await erasing
      equal(outcome, isCorrected ? 'overtaken' : 'recorded')
      same(
        await leadsOf(...texts.map(email)),
        isCorrected ? [undefined, before.prospectId] : [erasure.erasureId, undefined],
      )
    }
  },

  'blocked identifiers are read by the id of their erasure, within its tenant': async (scene) => {
    const { block, email, erase, addPerson, store, tenantId } = scene
    const { erasure: first } = await block(email('a@x'))
    const { erasure: second } = await erase(await addPerson({ email: 'b@x', externalId: '1' }))
    const { erasure: third } = await erase(await addPerson())
    const blockedBy = async (...erasures: readonly StoredErasure[]) =>
      hashesOf(
        await store.erasures.blockedBy(
          tenantId,
          erasures.map(({ erasureId }) => erasureId),
        ),
      )
    const ofSecond = [email('b@x'), externalIdentifier(tenantId, '1')]
    same(await blockedBy(first), hashesOf([email('a@x')]))
    same(await blockedBy(second), hashesOf(ofSecond))
    same(await blockedBy(first, third, second), hashesOf([email('a@x'), ...ofSecond]))
    same(await blockedBy(third), [])
    same(await blockedBy(), [])
    const { tenantId: stranger } = await addTenant(store)
    same(await store.erasures.blockedBy(stranger, [first.erasureId, second.erasureId]), [])
  },

  'blocks of one erasure are extended, never shortened, and end together': async (scene) => {
    const { block, email, erase, addPerson, store, tenantId } = scene
    const { erasure } = await erase(await addPerson({ email: 'a@x', externalId: '1' }), at(DAY_MS))
    const { erasure: separate } = await block(email('b@x'), at(DAY_MS))
    const untilOf = async ({ erasureId }: StoredErasure) => {
      const blocked = await store.erasures.blockedBy(tenantId, [erasureId])
      const untils = new Set(blocked.map(({ blockedUntil }) => blockedUntil))
      equal(untils.size, 1)
      const shown = await store.erasures.find({ tenantId, erasureId })
      equal(shown?.blockedUntil, [...untils][0])
      like(
        (await scene.listed()).filter((listed) => listed.erasureId === erasureId),
        [shown],
      )
      return shown?.blockedUntil
    }
    await store.erasures.extend(erasure, at(2 * DAY_MS))
    equal(await untilOf(erasure), at(2 * DAY_MS))
    await store.erasures.extend(erasure, at(DAY_MS))
    equal(await untilOf(erasure), at(2 * DAY_MS))
    await store.erasures.unblock(erasure, at(9))
    equal(await untilOf(erasure), at(9))
    await store.erasures.unblock(erasure, at(10))
    equal(await untilOf(erasure), at(9))
    equal(await untilOf(separate), at(DAY_MS))
  },

  'expired blocks are deleted in batches, except those of an erasure in progress': async (scene) => {
    const { block, email, markCompleted, erase, leadsOf, addPerson, store, tenantId } = scene
    const ada = await addPerson({ email: 'a@x', externalId: '1' })
    const { erasure } = await erase(ada, at(100))
    const { erasure: alone } = await block(email('b@x'), at(100))
    const { erasure: later } = await block(email('c@x'), at(101))
    const { erasure: running } = await block(email('d@x'), at(50))
    const identifiers = [...identifiersOf({ ...ada }), ...['b@x', 'c@x', 'd@x'].map(email)]
    const areLeading = async () => (await leadsOf(...identifiers)).map((leads) => leads !== undefined)
    const expire = (ms: number, max = 100) =>
      store.erasures.expire({ tenantId, now: at(ms), beforeLogId: null, max })
    equal(await expire(1e9), false)
    same(await areLeading(), [true, true, true, true, true])
    await markCompleted(erasure, alone, later)
    equal(await expire(99), false)
    same(await areLeading(), [true, true, true, true, true])
    const { tenantId: stranger } = await addTenant(store)
    const max = { beforeLogId: null, max: 100 }
    equal(await store.erasures.expire({ tenantId: stranger, now: at(1e9), ...max }), false)
    equal(await expire(100, 2), true)
    equal((await areLeading()).filter(Boolean).length, 3)
    while (await expire(100, 2));
    same(await areLeading(), [false, false, false, true, true])
    await markCompleted(running)
    equal(await expire(100), false)
    same(await areLeading(), [false, false, false, true, false])
    // The tombstone stays, and what was blocked is free.
    like(await store.prospects.find(ada), { erasedAt: at(5) })
    const next = await addPerson({ email: 'a@x', externalId: '1' })
    same(await leadsOf(...identifiersOf(next)), [next.prospectId, next.prospectId])
    like(await store.erasures.find({ tenantId, erasureId: erasure.erasureId }), { blockedUntil: null })
  },

  'erasures are listed newest first, in slices': async ({ here, store, tenantId }) => {
    const ids: unknown[] = []
    for (const email of ['a@x', 'b@x', 'c@x']) ids.unshift((await here.request({ email })).erasureId)
    const slice = async (beforeId: string | null, limit: number) =>
      (await store.erasures.list({ tenantId, beforeId, limit })).map(({ erasureId }) => erasureId)
    same(await slice(null, 10), ids)
    same((await slice(null, 1))[0], ids[0])
    same(await slice(String(ids[0]), 5), ids.slice(1))
  },

  'long emails are read in lists that fit into memory': async ({ store, tenantId }) => {
    const bob = someProspect(tenantId)
    const email = 'x'.repeat(600_000)
    const logs = Array.from({ length: 5 }, () => someLog(bob, { email }))
    await recordAll(store.activities, [bob], logs)
    const read = await store.erasures.namesAfter(tenantId, '', 100)
    ok(read.length >= 2 && read.length <= 3, `${read.length}`)
    const rest = await store.erasures.namesAfter(tenantId, String(logs[2]?.prospectLogId), 1)
    like(rest, [{ prospectLogId: logs[3]?.prospectLogId, email }])
  },
})

const hashesOf = (identifiers: readonly Identifier[]) =>
  identifiers.map(({ kind, hash }) => `${kind} ${hash}`).toSorted()
