import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import { prospectScene } from './prospect-scene.ts'
import {
  at,
  emailIdentifier,
  externalIdentifier,
  fillOf,
  identifiersOf,
  logChangeOf,
  newId,
  recordAll,
  scribbleOn,
  someLog,
  someProspect,
} from './rows.ts'

/** A race is run so many times: either side may win each. */
const RACES = 5

/** How prospects are corrected, and where their identifiers lead afterwards. */
export const prospectCorrections = section('prospects', prospectScene, {
  'a correction sets new values, and the time of the change': async (scene) => {
    const { addProspect, find, correct, newTenant } = scene
    const ada = await addProspect(await newTenant(), { email: 'ada@x', externalId: '1', name: 'Ada' })
    equal(await correct(ada, { name: 'Grace' }), 'recorded')
    const renamed = { ...ada, name: 'Grace', updatedAt: at(1) }
    same(await find(ada), renamed)
    equal(await correct(renamed, { email: 'grace@x', updatedAt: at(6) }), 'recorded')
    const moved = { ...renamed, email: 'grace@x', updatedAt: at(6) }
    same(await find(ada), moved)
    const blank = { email: null, externalId: null, name: null, updatedAt: at(7) }
    equal(await correct(moved, blank), 'recorded')
    same(await find(ada), { ...moved, ...blank })
  },

  'identifiers follow a correction: a new email leads to the prospect, the former one to no one': async (
    scene,
  ) => {
    const { addProspect, find, correct, list, leadsOf, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: 'ada@x', externalId: '1', name: 'Ada' })
    const { prospectId } = ada
    const formerEmail = emailIdentifier(tenantId, 'ada@x')
    const newEmail = emailIdentifier(tenantId, 'grace@x')
    const externalId = externalIdentifier(tenantId, '1')
    equal(await correct(ada, { email: 'grace@x' }), 'recorded')
    same(await leadsOf(formerEmail, newEmail, externalId), [undefined, prospectId, prospectId])
    const corrected = await find(ada)
    same((await list(tenantId, { identifier: newEmail })).rows, [corrected])
    same((await list(tenantId, { identifier: formerEmail })).rows, [])

    equal(await correct(corrected, { email: null, externalId: null, name: null }), 'recorded')
    same(await leadsOf(formerEmail, newEmail, externalId), [undefined, undefined, undefined])
  },

  'the time of a change is that of the correction, and a fill has its own': async (scene) => {
    const { activities, addProspect, find, correct, newTenant } = scene
    const ada = await addProspect(await newTenant(), { createdAt: at(998), updatedAt: at(998) })
    equal(await correct(ada, { name: 'Ada', updatedAt: at(999) }), 'recorded')
    const renamed = { ...ada, name: 'Ada', updatedAt: at(999) }
    same(await find(ada), renamed)
    const fills = { email: 'ada@x', updatedAt: at(1_003) }
    equal(await activities.record(fillOf(renamed, fills)), 'recorded')
    same(await find(ada), { ...renamed, ...fills })
  },

  'an identifier that was released is free for another prospect, and for the same one again': async (
    scene,
  ) => {
    const { addProspect, find, correct, leadsOf, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: 'ada@x', externalId: '1' })
    const other = await addProspect(tenantId)
    const [email, externalId] = [emailIdentifier(tenantId, 'ada@x'), externalIdentifier(tenantId, '1')]
    equal(await correct(ada, { email: 'grace@x', externalId: null }), 'recorded')
    same(await leadsOf(email, externalId), [undefined, undefined])
    equal(await correct(other, { email: 'ada@x' }), 'recorded')
    same(await leadsOf(email, externalId), [other.prospectId, undefined])
    equal(await correct(await find(ada), { externalId: '1' }), 'recorded')
    same(await leadsOf(email, externalId), [other.prospectId, ada.prospectId])
  },

  'an email that came with a merged prospect may become the email of the survivor, and stays': async (
    scene,
  ) => {
    const { addProspect, find, correct, leadsOf, merge, newTenant } = scene
    const tenantId = await newTenant()
    const merged = await addProspect(tenantId, { email: 'old@x' })
    const ada = await addProspect(tenantId)
    await merge(merged, ada)
    equal(await correct({ ...ada, updatedAt: at(1) }, { email: 'old@x' }), 'recorded')
    equal(await correct(await find(ada), { name: 'Ada' }), 'recorded')
    same(await leadsOf(emailIdentifier(tenantId, 'old@x')), [ada.prospectId])
    const { email, name } = await find(ada)
    same({ email, name }, { email: 'old@x', name: 'Ada' })
  },

  'releasing an identifier that leads elsewhere leaves it there': async (scene) => {
    const { addProspect, correctReleasing, leadsOf, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId)
    const grace = await addProspect(tenantId, { email: 'grace@x' })
    const foreign = emailIdentifier(tenantId, 'grace@x')
    const unknown = emailIdentifier(tenantId, 'unknown@x')
    equal(await correctReleasing(ada, { name: 'Ada' }, [foreign, unknown]), 'recorded')
    same(await leadsOf(foreign, unknown), [grace.prospectId, undefined])
  },

  'more identifiers than are kept with their texts are released': async (scene) => {
    const { addProspect, find, correct, leadsOf, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: '0@x' })
    for (let i = 1; i < 25; i++) equal(await correct(await find(ada), { email: `${i}@x` }), 'recorded')
    // The first of them come back.
    for (let i = 0; i < 5; i++) equal(await correct(await find(ada), { email: `${i}@x` }), 'recorded')
    for (let i = 0; i < 25; i++) {
      const [lead] = await leadsOf(emailIdentifier(tenantId, `${i}@x`))
      equal(lead, i === 4 ? ada.prospectId : undefined)
    }
  },

  'an erasure blocks every released identifier, whether or not its text was kept': async (scene) => {
    const { addProspect, find, correct, leadsOf, erase, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: '0@x' })
    for (let i = 1; i < 25; i++) equal(await correct(await find(ada), { email: `${i}@x` }), 'recorded')
    for (let i = 0; i < 5; i++) equal(await correct(await find(ada), { email: `${i}@x` }), 'recorded')
    const { erasureId } = await erase(await find(ada))
    for (let i = 0; i < 25; i++) same(await leadsOf(emailIdentifier(tenantId, `${i}@x`)), [erasureId])
  },

  'a correction to an identifier that leads to another prospect, or is blocked, is overtaken': async (
    scene,
  ) => {
    const { addProspect, find, correct, leadsOf, erase, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: 'ada@x', externalId: '1' })
    const grace = await addProspect(tenantId, { email: 'grace@x', externalId: '2', name: 'Grace' })
    await erase(await addProspect(tenantId, { email: 'gone@x', externalId: '3' }))
    const free = { email: 'free@x', externalId: 'free' }
    for (const taken of [{ email: 'ada@x' }, { externalId: '1' }, { email: 'gone@x' }, { externalId: '3' }]) {
      equal(await correct(grace, { ...free, name: 'Ada', ...taken }), 'overtaken')
      // Nothing of it is saved: neither the name, nor what is free, nor what is released.
      same(await find(ada), ada)
      same(await find(grace), grace)
      same(await leadsOf(...identifiersOf(grace)), [grace.prospectId, grace.prospectId])
      same(await leadsOf(...identifiersOf({ ...grace, ...free })), [undefined, undefined])
    }
    const elsewhere = await addProspect(await newTenant())
    equal(await correct(elsewhere, { email: 'ada@x', externalId: '3' }), 'recorded', 'of another tenant')
  },

  'a correction of a prospect that has changed since is overtaken, and saves nothing': async (scene) => {
    const { addProspect, find, correct, leadsOf, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { name: 'Ada', email: 'ada@x' })
    for (const stale of [
      { ...ada, name: 'Eve' },
      { ...ada, name: null },
      { ...ada, email: 'eve@x' },
      { ...ada, email: null },
      { ...ada, externalId: '1' },
      { ...ada, updatedAt: at(1) },
      { ...ada, prospectId: newId('prospect') },
      { ...ada, tenantId: await newTenant() },
    ])
      equal(await correct(stale, { name: 'Late', email: 'late@x' }), 'overtaken')
    same(await find(ada), ada)
    same(await leadsOf(emailIdentifier(tenantId, 'late@x')), [undefined])
    same(await leadsOf(emailIdentifier(tenantId, 'ada@x')), [ada.prospectId])
  },

  'a correction of a prospect whose blank was filled since is overtaken': async (scene) => {
    const { activities, addProspect, correct, newTenant } = scene
    const ada = await addProspect(await newTenant())
    equal(await activities.record(fillOf(ada, { externalId: '1' })), 'recorded')
    equal(await correct(ada, { externalId: '2' }), 'overtaken')
  },

  'a correction of a merged or an erased prospect is overtaken': async (scene) => {
    const { addProspect, find, correct, erase, merge, newTenant } = scene
    const tenantId = await newTenant()
    const merged = await addProspect(tenantId)
    await merge(merged, await addProspect(tenantId))
    const erased = await addProspect(tenantId)
    await erase(erased)
    for (const before of [merged, erased]) {
      equal(await correct(before, { name: 'Late' }), 'overtaken')
      equal(await correct(await find(before), { name: 'Late' }), 'overtaken')
    }
  },

  'of two corrections to one email at once, exactly one is recorded': async (scene) => {
    const { elsewhere, addProspect, correct, find, list, leadsOf, newTenant } = scene
    for (let race = 0; race < RACES; race++) {
      const tenantId = await newTenant()
      const first = await addProspect(tenantId)
      const second = await addProspect(tenantId)
      const outcomes = await Promise.all([
        correct(first, { email: 'ada@x' }),
        correct(second, { email: 'ada@x' }, elsewhere),
      ])
      same(outcomes.toSorted(), ['overtaken', 'recorded'])
      const [winner, loser] = outcomes[0] === 'recorded' ? [first, second] : [second, first]
      const identifier = emailIdentifier(tenantId, 'ada@x')
      same(await leadsOf(identifier), [winner.prospectId])
      const corrected = await find(winner)
      equal(corrected.email, 'ada@x')
      same((await list(tenantId, { identifier })).rows, [corrected])
      same(await find(loser), loser)
      equal((await list(tenantId)).rows.length, 2)
    }
  },

  'of a correction and an activity that want one email at once, exactly one gets it': async (scene) => {
    const { elsewhere, addProspect, correct, leadsOf, newTenant } = scene
    for (let race = 0; race < RACES; race++) {
      const tenantId = await newTenant()
      const corrected = await addProspect(tenantId)
      const added = someProspect(tenantId, { email: 'ada@x' })
      const outcomes = await Promise.all([
        correct(corrected, { email: 'ada@x' }),
        recordAll(elsewhere.activities, [added], [someLog(added)]),
      ])
      same(outcomes.toSorted(), ['overtaken', 'recorded'])
      const winner = outcomes[0] === 'recorded' ? corrected : added
      same(await leadsOf(emailIdentifier(tenantId, 'ada@x')), [winner.prospectId])
    }
  },

  'of a correction and an activity that fill one blank at once, exactly one does': async (scene) => {
    const { elsewhere, addProspect, correct, find, leadsOf, newTenant } = scene
    for (let race = 0; race < RACES; race++) {
      const before = await addProspect(await newTenant())
      const { tenantId, prospectId } = before
      const outcomes = await Promise.all([
        correct(before, { email: 'correct@x' }),
        elsewhere.activities.record(fillOf(before, { email: 'fill@x' }, someLog(before))),
      ])
      same(outcomes.toSorted(), ['overtaken', 'recorded'])
      const isCorrected = outcomes[0] === 'recorded'
      equal((await find(before)).email, isCorrected ? 'correct@x' : 'fill@x')
      const leads = await leadsOf(emailIdentifier(tenantId, 'correct@x'), emailIdentifier(tenantId, 'fill@x'))
      same(leads, isCorrected ? [prospectId, undefined] : [undefined, prospectId])
    }
  },

  'an identifier released at once with a log that assumes it leads to no one afterwards': async (scene) => {
    const { elsewhere, addProspect, correct, leadsOf, newTenant } = scene
    for (let race = 0; race < RACES; race++) {
      const ada = await addProspect(await newTenant(), { email: 'ada@x' })
      const log = () => elsewhere.activities.record(logChangeOf(ada, someLog(ada)))
      const [corrected] = await Promise.all([correct(ada, { email: null }), log()])
      equal(corrected, 'recorded')
      same(await leadsOf(...identifiersOf(ada)), [undefined])
      equal(await log(), 'overtaken')
    }
  },

  'a caller that changes what it corrected changes nothing in the store': async (scene) => {
    const { prospects, addProspect, find, leadsOf, newTenant } = scene
    const before = await addProspect(await newTenant(), { email: 'ada@x' })
    const after = { ...before, email: 'new@x', updatedAt: at(1) }
    const correction = {
      before,
      after,
      added: identifiersOf(after),
      released: identifiersOf(before),
      forgotten: [],
    }
    const { added, released } = structuredClone(correction)
    const expected = structuredClone(after)
    equal(await prospects.correct(correction), 'recorded')
    scribbleOn(correction)
    same(await find(expected), expected)
    same(await leadsOf(...added), [expected.prospectId])
    same(await leadsOf(...released), [undefined])
  },
})
