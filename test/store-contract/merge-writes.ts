import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import { mergeScene } from './merge-scene.ts'
import { correctionOf, erasureChangesOf, leadsOf, mergeChangesOf } from './people.ts'
import { at, emailIdentifier, fillOf, foundProspect, identifiersOf, newId, someErasure } from './rows.ts'

/** A race is run so many times: either side may win each. */
const RACES = 5

/** What a store writes when it records a merge, and who wins if another change comes at once. */
export const mergeWrites = section('merges', mergeScene, {
  'the email of a merged prospect leads to the survivor': async ({ addPerson, store, tenantId }) => {
    const merged = await addPerson('a')
    const survivor = await addPerson('b')
    const other = await addPerson('c')
    const emails = ['a@x', 'b@x', 'c@x'].map((email) => emailIdentifier(tenantId, email))
    const changes = mergeChangesOf(foundProspect(merged), foundProspect(survivor))
    equal(await store.merges.record(changes), 'recorded')
    same(await leadsOf(store, ...emails), [survivor.prospectId, survivor.prospectId, other.prospectId])
  },

  'what identifies a survivor, and is added to it later, leads to the last survivor': async (scene) => {
    const { addPerson, store, tenantId } = scene
    const first = await addPerson('a')
    const second = await addPerson('b')
    const last = await addPerson('c')
    const changes = mergeChangesOf(foundProspect(first), foundProspect(second))
    equal(await store.merges.record(changes), 'recorded')
    const fill = fillOf({ ...second, updatedAt: at(1) }, { externalId: '1' })
    equal(await store.activities.record(fill), 'recorded')
    const filled = { ...changes.survivor.after, externalId: '1', updatedAt: fill.prospect.updatedAt }
    equal(await store.merges.record(mergeChangesOf(filled, foundProspect(last))), 'recorded')

    const emails = ['a@x', 'b@x', 'c@x'].map((email) => emailIdentifier(tenantId, email))
    for (const lead of await leadsOf(store, ...emails, ...fill.identifiers)) equal(lead, last.prospectId)
  },

  'a survivor is found with all that were merged into it, by whatever way': async ({ addPerson, store }) => {
    const first = await addPerson('a')
    const second = await addPerson('b')
    const last = await addPerson('c')
    const changes = mergeChangesOf(foundProspect(first), foundProspect(second))
    equal(await store.merges.record(changes), 'recorded')
    const next = mergeChangesOf(changes.survivor.after, foundProspect(last))
    equal(await store.merges.record(next), 'recorded')

    same(await store.prospects.findWithMerged(second), [])
    const found = await store.prospects.findWithMerged(last)
    equal(found.length, 3)
    like(found, [
      { prospectId: last.prospectId, mergedInto: null, email: 'c@x' },
      { prospectId: first.prospectId, mergedInto: last.prospectId, email: null },
      { prospectId: second.prospectId, mergedInto: last.prospectId, email: null },
    ])
  },

  'a merge of prospects that have changed since is overtaken, and nothing of it is saved': async (scene) => {
    const { addPerson, store, kept } = scene
    const ada = await addPerson('ada')
    const grace = await addPerson('grace')
    const merged = foundProspect(ada)
    const survivor = foundProspect(grace)
    const before = await kept()
    for (const staleMerged of [
      { ...merged, email: null },
      { ...merged, externalId: '1' },
      { ...merged, updatedAt: at(1) },
    ])
      equal(await store.merges.record(mergeChangesOf(staleMerged, survivor)), 'overtaken')
    for (const staleSurvivor of [
      { ...survivor, email: 'other@x' },
      { ...survivor, name: null },
      { ...survivor, updatedAt: at(1) },
      { ...survivor, prospectId: newId('prospect') },
    ])
      equal(await store.merges.record(mergeChangesOf(merged, staleSurvivor)), 'overtaken')
    same(await kept(), before)
    same(await leadsOf(store, ...identifiersOf(ada), ...identifiersOf(grace)), [
      ada.prospectId,
      grace.prospectId,
    ])
  },

  'a merge with a prospect that was erased meanwhile is overtaken, and nothing of it is saved': async (
    scene,
  ) => {
    const { addPerson, store, tenantId, kept } = scene
    const ada = await addPerson('ada')
    const gone = await addPerson('gone')
    const erasure = someErasure(tenantId, { prospectId: gone.prospectId })
    equal(await store.erasures.record(erasureChangesOf([foundProspect(gone)], erasure)), 'recorded')
    const before = await kept()
    const intoErased = mergeChangesOf(foundProspect(ada), foundProspect(gone))
    const ofErased = mergeChangesOf(foundProspect(gone), foundProspect(ada))
    equal(await store.merges.record(intoErased), 'overtaken')
    equal(await store.merges.record(ofErased), 'overtaken')
    same(await kept(), before)
    same(await leadsOf(store, ...identifiersOf(ada)), [ada.prospectId])
  },

  'of two merges of one prospect at once, exactly one is recorded': async (scene) => {
    const { addPerson, store, elsewhere } = scene
    for (let race = 0; race < RACES; race++) {
      const ada = await addPerson(`ada${race}`)
      const grace = await addPerson(`grace${race}`)
      const eve = await addPerson(`eve${race}`)
      const outcomes = await Promise.all([
        store.merges.record(mergeChangesOf(foundProspect(ada), foundProspect(grace))),
        elsewhere.merges.record(mergeChangesOf(foundProspect(ada), foundProspect(eve))),
      ])
      same(outcomes.toSorted(), ['overtaken', 'recorded'])
      const survivor = outcomes[0] === 'recorded' ? grace : eve
      same(await leadsOf(store, ...identifiersOf(ada)), [survivor.prospectId])
    }
  },

  'of a merge and a correction of one prospect at once, exactly one is recorded': async (scene) => {
    const { addPerson, store, elsewhere } = scene
    for (let race = 0; race < RACES; race++) {
      const ada = await addPerson(`ada${race}`)
      const grace = await addPerson(`grace${race}`)
      const outcomes = await Promise.all([
        store.merges.record(mergeChangesOf(foundProspect(ada), foundProspect(grace))),
        elsewhere.prospects.correct(correctionOf(foundProspect(ada), { email: `new${race}@x` })),
      ])
      same(outcomes.toSorted(), ['overtaken', 'recorded'])
      const isMerged = outcomes[0] === 'recorded'
      // A correction releases the former email.
      same(await leadsOf(store, ...identifiersOf(ada)), [isMerged ? grace.prospectId : undefined])
    }
  },

  'of two merges in a circle at once, one is made and the other is refused': async (scene) => {
    const { here, there, addPerson, read } = scene
    for (let race = 0; race < RACES; race++) {
      const ada = await addPerson(`ada${race}`)
      const grace = await addPerson(`grace${race}`)
      const results = await Promise.all([
        here.tryMerge(ada.prospectId, grace.prospectId),
        there.tryMerge(grace.prospectId, ada.prospectId),
      ])
      same(results.map(({ kind }) => kind ?? 'merged').toSorted(), ['invalid_request', 'merged'])
      same(await read(ada.prospectId), await read(grace.prospectId))
    }
  },

  'merges of many into one, and of that one into another, all at once, make one person': async (scene) => {
    const { here, there, addPerson, read, completeMerges, timelineOf, mergedEvents } = scene
    const ids: string[] = []
    for (let i = 0; i < 6; i++) {
      const { prospectId } = await addPerson(`p${i}`, { count: 3, firstMs: i })
      ids.push(prospectId)
    }
    const [first = '', ...others] = ids
    const results = await Promise.all(
      others.map((other, i) => {
        const callers = i % 2 === 0 ? there : here
        // Every third merge leads away from the first prospect.
        return i % 3 === 0 ? callers.tryMerge(first, other) : callers.tryMerge(other, first)
      }),
    )
    for (const { kind } of results) ok(kind === undefined || kind === 'invalid_request', kind)

    for (const other of others) await here.tryMerge(other, first)
    const survivor = await read(first)
    for (const other of others) same(await read(other), survivor)
    equal(new Set(await timelineOf(first)).size, 18)

    await completeMerges()
    equal((await timelineOf(first)).length, 18)
    equal((await mergedEvents()).length, 5)
  },
})
