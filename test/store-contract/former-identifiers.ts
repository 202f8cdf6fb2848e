import type { FoundProspect, Identifier, ProspectIdentifier } from 'prospect-pages/store'
import { equal, like, same } from './assertions.ts'
import { section } from './contract.ts'
import { correctionOf } from './people.ts'
import { prospectScene } from './prospect-scene.ts'
import { at, emailIdentifier, externalIdentifier, newId, someErasure } from './rows.ts'

const TEXTS_MAX = 20

/** What leads to a prospect beside what it is shown with, what it had before, and what never was its own. */
export const formerIdentifiers = section('prospects', prospectScene, {
  'identifiers that lead to a prospect are listed first, then former ones, newest first': async (scene) => {
    const { prospects, addProspect, correct, correctReleasing, find, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: '0@x', externalId: 'a' })
    same(await prospects.identifiers(ada), [leading('email', '0@x'), leading('externalId', 'a')])
    equal(await correct(ada, { email: '1@x', externalId: 'b' }), 'recorded')
    equal(await correct(await find(ada), { email: '2@x' }), 'recorded')
    // Nothing is released: 2@x goes on leading here.
    equal(await correctReleasing(await find(ada), { email: '3@x', externalId: null }, []), 'recorded')
    const found = await prospects.identifiers(ada)
    same(
      found.filter(({ isFormer }) => isFormer),
      [former('email', '1@x'), former('email', '0@x'), former('externalId', 'a')],
    )
    same(textsOf(found.filter(({ isFormer }) => !isFormer)), ['2@x', '3@x', 'b'])
    same(await prospects.identifiers({ tenantId, prospectId: newId('prospect') }), [])
  },

  'the texts of the newest twenty former identifiers of a kind are kept, whatever was merged': async (
    scene,
  ) => {
    const { prospects, addProspect, correct, find, merge, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: '0@x' })
    for (let i = 1; i <= 23; i++) equal(await correct(await find(ada), { email: `${i}@x` }), 'recorded')
    const emails = async (of: FoundProspect) =>
      (await prospects.identifiers(of)).filter(({ isFormer }) => isFormer).map(({ value }) => value)
    const newest = Array.from({ length: TEXTS_MAX }, (_, i) => `${22 - i}@x`)
    same(await emails(ada), newest)
    const eve = await addProspect(tenantId, { email: 'old@x', createdAt: at(900), updatedAt: at(900) })
    equal(await correct(eve, { email: 'eve@x' }), 'recorded')
    await merge(await find(ada), await find(eve))
    same(await emails(eve), ['old@x', ...newest.slice(0, -1)])
  },

  'at most a hundred identifiers of each kind are listed of those that lead to a prospect': async (scene) => {
    const { prospects, addProspect, correctReleasing, find, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: '0@x', externalId: 'a' })
    for (let i = 1; i <= 102; i++)
      equal(await correctReleasing(await find(ada), { email: `${i}@x` }, []), 'recorded')
    const found = await prospects.identifiers(ada)
    equal(found.filter(({ kind }) => kind === 'email').length, 100)
    same(found.at(-1), leading('externalId', 'a'))
  },

  'those who had an identifier are found, the last one first; a merged one by its survivor': async (
    scene,
  ) => {
    const { prospects, addProspect, correct, erase, find, merge, newTenant } = scene
    const tenantId = await newTenant()
    const email = emailIdentifier(tenantId, 'shared@x')
    const owners = (limit = 20) => prospects.formerOwners({ ...email, limit })
    same(await owners(), [])
    const had = async (ms: number) => {
      const times = { createdAt: at(ms), updatedAt: at(ms) }
      const prospect = await addProspect(tenantId, { email: 'shared@x', ...times })
      equal(await correct(prospect, { email: null }), 'recorded')
      return find(prospect)
    }
    const first = await had(10)
    const second = await had(20)
    const third = await had(30)
    same(await owners(), [third.prospectId, second.prospectId, first.prospectId])
    same(await owners(1), [third.prospectId])
    const bob = await addProspect(tenantId, { email: 'shared@x' })
    same(await owners(), [third.prospectId, second.prospectId, first.prospectId])
    await merge(third, first)
    same(await owners(), [first.prospectId, second.prospectId])
    await erase(second)
    same(await owners(), [first.prospectId])
    await erase(await find(first))
    same(await owners(), [])
    same(await prospects.formerOwners({ ...email, kind: 'externalId', limit: 20 }), [])
    equal((await find(bob)).email, 'shared@x')
  },

  'an identifier that never was a prospect’s leads to no one, is no former one, and is not blocked': async (
    scene,
  ) => {
    const { prospects, addProspect, correct, correctReleasing, erase, find, leadsOf, newTenant } = scene
    const tenantId = await newTenant()
    const emails = ['former@x', 'kept@x', 'shown@x', 'ada@x'].map((text) => emailIdentifier(tenantId, text))
    const ada = await addProspect(tenantId, { email: 'former@x', externalId: 'a' })
    equal(await correct(ada, { email: 'kept@x' }), 'recorded')
    equal(await correctReleasing(await find(ada), { email: 'shown@x' }, []), 'recorded')
    const forget = async (values: object, ...texts: readonly string[]) => {
      const before = await find(ada)
      const { prospectId } = before
      const forgotten = texts.map((value) => ({ ...emailIdentifier(tenantId, value), value, prospectId }))
      const correction = { ...correctionOf(before, values), released: [], forgotten }
      equal(await prospects.correct(correction), 'recorded')
    }
    await forget({}, 'former@x')
    await forget({}, 'kept@x')
    await forget({ email: 'ada@x' }, 'shown@x')
    const { prospectId } = ada
    same(await prospects.identifiers(ada), [leading('email', 'ada@x'), leading('externalId', 'a')])
    same(await leadsOf(...emails), [undefined, undefined, undefined, prospectId])
    const { erasureId } = await erase(await find(ada))
    same(await leadsOf(...emails), [undefined, undefined, undefined, erasureId])
  },

  'an identifier that came with a merged prospect is dropped with all that shows it': async (scene) => {
    const { prospects, addProspect, correct, find, leadsOf, merge, newTenant } = scene
    const tenantId = await newTenant()
    const identifiers = [emailIdentifier(tenantId, 'wrong@x'), externalIdentifier(tenantId, 'wrong')]
    const merged = await addProspect(tenantId, { email: 'wrong@x', externalId: 'wrong', name: 'Ada' })
    const other = await addProspect(tenantId, { email: 'right@x' })
    equal(await correct(other, { email: 'other@x' }), 'recorded')
    equal(await correct(await find(other), { externalId: 'right' }), 'recorded')
    const grace = await addProspect(tenantId, { email: 'grace@x' })
    await merge(merged, grace)
    await merge(await find(other), { ...grace, updatedAt: at(1) })
    const before = await find(grace)
    const { prospectId } = grace
    const forgotten = [
      ...identifiers.map((identifier, i) => ({ ...identifier, value: i ? 'wrong' : 'wrong@x', prospectId })),
      { ...emailIdentifier(tenantId, 'right@x'), value: 'right@x', prospectId },
    ]
    equal(await prospects.correct({ ...correctionOf(before, {}), forgotten }), 'recorded')
    same(await leadsOf(...identifiers), [undefined, undefined])
    like(await find(merged), { email: null, externalId: null })
    like(await find(other), { email: 'other@x', externalId: 'right' })
    same(textsOf(await prospects.identifiers(grace)), ['grace@x', 'other@x', 'right'])
  },

  'dropping what a prospect never had leaves others alone, and so does an overtaken correction': async (
    scene,
  ) => {
    const { prospects, addProspect, correct, find, leadsOf, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: 'ada@x' })
    const bob = await addProspect(tenantId, { email: 'old@x' })
    equal(await correct(bob, { email: 'bob@x' }), 'recorded')
    const drop = (before: FoundProspect, ...texts: readonly string[]) => {
      const { prospectId } = before
      const forgotten = texts.map((value) => ({ ...emailIdentifier(tenantId, value), value, prospectId }))
      return prospects.correct({ ...correctionOf(before, {}), forgotten })
    }
    equal(await drop(ada, 'bob@x', 'old@x', 'unknown@x'), 'recorded')
    same(await prospects.identifiers(bob), [leading('email', 'bob@x'), former('email', 'old@x')])
    equal(await drop(bob, 'bob@x', 'old@x'), 'overtaken')
    same(await prospects.identifiers(bob), [leading('email', 'bob@x'), former('email', 'old@x')])
    same(await leadsOf(emailIdentifier(tenantId, 'ada@x')), [ada.prospectId])
    equal((await find(bob)).email, 'bob@x')
  },

  'the former one that loses its text and the one that is dropped may be the same': async (scene) => {
    const { prospects, addProspect, correct, find, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: '0@x' })
    for (let i = 1; i <= TEXTS_MAX; i++)
      equal(await correct(await find(ada), { email: `${i}@x` }), 'recorded')
    const oldest = emailIdentifier(tenantId, '0@x')
    const forgotten = [{ ...oldest, value: '0@x', prospectId: ada.prospectId }]
    const correction = { ...correctionOf(await find(ada), { email: 'new@x' }), forgotten }
    equal(await prospects.correct(correction), 'recorded')
    same(await prospects.formerOwners({ ...oldest, limit: 20 }), [])
    const kept = (await prospects.identifiers(ada)).filter(({ isFormer }) => isFormer)
    same(
      textsOf(kept),
      Array.from({ length: TEXTS_MAX }, (_, i) => `${i + 1}@x`),
    )
  },

  'an erasure names the prospects that former identifiers lead to today, those of merged ones too': async (
    scene,
  ) => {
    const { store, addProspect, correct, erase, find, leadsOf, merge, newTenant } = scene
    const tenantId = await newTenant()
    const emails = ['1@x', '2@x', '3@x', '4@x'].map((text) => emailIdentifier(tenantId, text))
    const ada = await addProspect(tenantId, { email: '1@x', externalId: 'a' })
    equal(await correct(ada, { email: '2@x', externalId: 'b' }), 'recorded')
    const eve = await addProspect(tenantId, { email: '3@x' })
    equal(await correct(eve, { email: '4@x' }), 'recorded')
    const bob = await addProspect(tenantId, { email: '1@x', externalId: 'a' })
    const carol = await addProspect(tenantId, { email: '3@x' })
    await merge(await find(eve), await find(ada))
    const { erasureId } = await erase(await find(ada))
    same(await leadsOf(...emails), [bob.prospectId, erasureId, carol.prospectId, erasureId])
    const newestFirst = [bob.prospectId, carol.prospectId].sort().reverse()
    like(await store.erasures.find({ tenantId, erasureId }), { formerlyOf: [], stillLeadsTo: newestFirst })
    // Another erasure blocks these, when their prospect is erased.
    const { erasureId: ofBob } = await erase(await find(bob))
    like(await store.erasures.find({ tenantId, erasureId: ofBob }), { stillLeadsTo: [] })
    same(await leadsOf(...emails), [ofBob, erasureId, carol.prospectId, erasureId])
  },

  'an erasure names at most twenty prospects, and keeps the ones that it was requested with': async (
    scene,
  ) => {
    const { store, addProspect, correct, find, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: '0@x' })
    const owners: string[] = []
    for (let i = 1; i <= 22; i++) {
      equal(await correct(await find(ada), { email: `${i}@x` }), 'recorded')
      owners.push((await addProspect(tenantId, { email: `${i - 1}@x` })).prospectId)
    }
    const formerlyOf = [newId('prospect'), newId('prospect')]
    const erasure = { ...someErasure(tenantId, { prospectId: ada.prospectId }), formerlyOf }
    const part = someErasure(tenantId, { partOf: erasure.erasureId, prospectId: newId('prospect') })
    const changes = { tenantId, now: at(5), until: at(9), identifier: null, erasures: [erasure, part] }
    equal(await store.erasures.record({ ...changes, prospects: [await find(ada)] }), 'recorded')
    const expected = { formerlyOf, stillLeadsTo: owners.sort().reverse().slice(0, 20) }
    like(await store.erasures.find({ tenantId, erasureId: erasure.erasureId }), expected)
    like(await store.erasures.list({ tenantId, beforeId: null, limit: 9 }), [expected])
    like(await store.erasures.find({ tenantId, erasedId: ada.prospectId }), expected)
  },
})

const leading = (kind: Identifier['kind'], value: string) => ({ kind, value, isFormer: false })
const former = (kind: Identifier['kind'], value: string) => ({ kind, value, isFormer: true })
/** Numbers in the order of their size. */
const textsOf = (identifiers: readonly ProspectIdentifier[]) =>
  identifiers.map(({ value }) => value).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
