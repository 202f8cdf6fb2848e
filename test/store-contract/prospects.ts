import type { FoundProspect, ProspectsQuery } from 'prospect-pages/store'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import { prospectScene } from './prospect-scene.ts'
import { AWKWARD_TEXTS, at, identifiersOf, newId, readEach, scribbleOn, sha256 } from './rows.ts'

/** Identifiers as the query of a list names them. */
const byEmail = (text: string) => ({ kind: 'email', hash: sha256(text) }) as const
const byExternalId = (text: string) => ({ kind: 'externalId', hash: sha256(text) }) as const

/** How prospects are found and listed. */
export const prospects = section('prospects', prospectScene, {
  'a prospect is found by its id, with every field': async ({ addProspect, find, newTenant }) => {
    const prospect = await addProspect(await newTenant(), {
      email: 'ada@x',
      externalId: '1',
      name: 'Ada',
      createdAt: at(2),
      updatedAt: at(2),
    })
    same(await find(prospect), prospect)
  },

  'unset fields are null': async ({ addProspect, find, newTenant }) => {
    const prospect = await addProspect(await newTenant())
    const { email, externalId, name } = await find(prospect)
    same({ email, externalId, name }, { email: null, externalId: null, name: null })
  },

  'an unknown prospect, or one of another tenant, is null beside those that are found': async (scene) => {
    const { prospects, addProspect, newTenant } = scene
    const known = await addProspect(await newTenant())
    const unknown = { tenantId: known.tenantId, prospectId: newId('prospect') }
    const foreign = { tenantId: await newTenant(), prospectId: known.prospectId }
    const found = await readEach(prospects.find, [unknown, known, foreign, known])
    same(found, [null, known, null, known])
  },

  'every text of an email and a name is found as it is': async ({ prospects, addProspect, newTenant }) => {
    const tenantId = await newTenant()
    const all: FoundProspect[] = []
    for (const text of AWKWARD_TEXTS) all.push(await addProspect(tenantId, { email: text, name: text }))
    same(await readEach(prospects.find, all), all)
  },

  'prospects are listed newest first, one more than the limit, and go on before an id': async (scene) => {
    const { addProspect, list, newTenant } = scene
    const tenantId = await newTenant()
    const newestFirst: FoundProspect[] = []
    for (let i = 0; i < 5; i++) newestFirst.unshift(await addProspect(tenantId))
    await addProspect(await newTenant())
    const second = newestFirst[1] as FoundProspect
    same(await list(tenantId), { rows: newestFirst, resume: null })
    same((await list(tenantId, { limit: 2 })).rows, newestFirst.slice(0, 3))
    same((await list(tenantId, { beforeId: second.prospectId })).rows, newestFirst.slice(2))
    same(await list(await newTenant()), { rows: [], resume: null })
  },

  'a list ends once the texts of all its rows but the last fill a slice': async (scene) => {
    const { addProspect, list, newTenant } = scene
    const tenantId = await newTenant()
    const newestFirst: string[] = []
    for (let i = 0; i < 5; i++) {
      const { prospectId } = await addProspect(tenantId, { email: `${i}${'x'.repeat(400_000)}` })
      newestFirst.unshift(prospectId)
    }
    const { rows } = await list(tenantId)
    same(
      rows.map(({ prospectId }) => prospectId),
      newestFirst.slice(0, 4),
    )
  },

  'prospects are listed oldest first after an id': async ({ prospects, addProspect, newTenant }) => {
    const tenantId = await newTenant()
    const oldestFirst: FoundProspect[] = []
    for (let i = 0; i < 5; i++) oldestFirst.push(await addProspect(tenantId))
    await addProspect(await newTenant())
    const listAfter = (afterId = '', limit = 100) => prospects.listOldest({ tenantId, afterId, limit })
    same(await listAfter(), oldestFirst)
    same(await listAfter('', 2), oldestFirst.slice(0, 2))
    same(await listAfter(oldestFirst[1]?.prospectId), oldestFirst.slice(2))
    same(await listAfter(oldestFirst[4]?.prospectId), [])
  },

  'large texts shorten the list of the oldest prospects': async ({ prospects, addProspect, newTenant }) => {
    const tenantId = await newTenant()
    const small = await addProspect(tenantId)
    const large: FoundProspect[] = []
    for (let i = 0; i < 4; i++)
      large.push(await addProspect(tenantId, { email: `${i}${'x'.repeat(700_000)}` }))
    const listed = await prospects.listOldest({ tenantId, afterId: small.prospectId, limit: 100 })
    same(listed, large.slice(0, 3))
  },

  'the prospect that an identifier leads to is found, within its tenant': async (scene) => {
    const { addProspect, list, newTenant } = scene
    const ada = await addProspect(await newTenant(), { email: 'ada@x', externalId: '1' })
    const other = await addProspect(await newTenant(), { email: 'ada@x', externalId: '2' })
    await addProspect(ada.tenantId, { email: 'grace@x' })
    const found = async (tenantId: string, identifier: ProspectsQuery['identifier']) => {
      const slice = await list(tenantId, { identifier })
      equal(slice.resume, null)
      return slice.rows
    }
    same(await found(ada.tenantId, byEmail('ada@x')), [ada])
    same(await found(ada.tenantId, byExternalId('1')), [ada])
    same(await found(other.tenantId, byEmail('ada@x')), [other])
    same(await found(other.tenantId, byEmail('grace@x')), [])
    same(await found(ada.tenantId, byExternalId('2')), [])
    // An email is not an external id.
    same(await found(ada.tenantId, byExternalId('ada@x')), [])
    same(await found(ada.tenantId, { kind: 'email', hash: 'none' }), [])
  },

  'an email finds the survivor of the merge that it came with, and no one once it is released': async (
    scene,
  ) => {
    const { addProspect, list, merge, correctReleasing, newTenant } = scene
    const tenantId = await newTenant()
    const email = byEmail('ada@x')
    const ada = await addProspect(tenantId, { email: 'ada@x', name: 'Ada' })
    const grace = await addProspect(tenantId, { name: 'Grace' })
    await merge(ada, grace)
    const survivor = { ...grace, updatedAt: at(1) }
    same((await list(tenantId, { identifier: email })).rows, [survivor])
    same((await list(tenantId)).rows, [survivor])
    equal(await correctReleasing(survivor, {}, [{ ...email, tenantId }]), 'recorded')
    same((await list(tenantId, { identifier: email })).rows, [])
    const second = await addProspect(tenantId, { email: 'ada@x' })
    same((await list(tenantId, { identifier: email })).rows, [second])
  },

  'a blocked email finds no one, and the erased prospect is found as a tombstone': async (scene) => {
    const { prospects, addProspect, list, erase, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { email: 'ada@x' })
    await erase(ada)
    same((await list(tenantId, { identifier: byEmail('ada@x') })).rows, [])
    same(await prospects.find(ada), { ...ada, email: null, updatedAt: at(1), erasedAt: at(1) })
  },

  'the prospect that an identifier leads to is in a list only before the position': async (scene) => {
    const { addProspect, list, newTenant } = scene
    const older = newId('prospect')
    const ada = await addProspect(await newTenant(), { email: 'ada@x', externalId: 'ada' })
    const newer = newId('prospect')
    const { tenantId, prospectId } = ada
    for (const identifier of identifiersOf(ada)) {
      same((await list(tenantId, { identifier, beforeId: older })).rows, [])
      same((await list(tenantId, { identifier, beforeId: prospectId })).rows, [])
      same((await list(tenantId, { identifier, beforeId: newer })).rows, [ada])
    }
  },

  'of many lists at once, each is returned to its own query': async (scene) => {
    const { prospects, addProspect, newTenant } = scene
    const ada = await addProspect(await newTenant(), { email: 'ada@x' })
    const other = await addProspect(await newTenant(), { email: 'ada@x' })
    const query = (tenantId: string, identifier: ProspectsQuery['identifier'] = null) => ({
      tenantId,
      identifier,
      beforeId: null,
      limit: 9,
    })
    const slices = await readEach(prospects.list, [
      query(other.tenantId),
      query(await newTenant()),
      query(ada.tenantId, byEmail('ada@x')),
      query(ada.tenantId, byExternalId('ada@x')),
      query(ada.tenantId),
    ])
    same(
      slices.map((slice) => ('rows' in slice ? slice.rows : slice)),
      [[other], [], [ada], [], [ada]],
    )
  },

  'a caller that changes what was found or listed changes nothing in the store': async (scene) => {
    const { prospects, addProspect, find, list, search, newTenant } = scene
    const ada = await addProspect(await newTenant(), { email: 'ada@x', name: 'Ada' })
    const { tenantId } = ada
    scribbleOn(await find(ada))
    scribbleOn(await list(tenantId))
    scribbleOn(await list(tenantId, { identifier: byEmail('ada@x') }))
    scribbleOn(await search(tenantId, 'ada'))
    scribbleOn(await prospects.findWithMerged(ada))
    scribbleOn(await prospects.listOldest({ tenantId, afterId: '', limit: 9 }))
    same(await find(ada), ada)
  },
})
