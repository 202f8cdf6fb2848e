import type { FoundProspect } from 'prospect-pages/store'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import { prospectScene } from './prospect-scene.ts'
import { changeOf, fillOf, type SomeProspect, someProspect } from './rows.ts'

/** At most so many prospects are found. */
const FOUND_MAX = 100
/** So many of the newest are searched without an index. */
const SEARCHED_MAX = 2_000

/** People to search for, in the order in which they are added. */
const PEOPLE = {
  ada: { name: 'Ada King Lovelace' },
  ádám: { name: 'Ádám  Lovász' },
  élodie: { name: 'Élodie Žižka' },
  иван: { name: 'Иван Чехов' },
  lova: { name: '  Lova ' },
  offer: { name: '50% Off_er' },
  mail: { email: 'lova+x@example.com' },
  zoe: { email: 'zoe@example.com', name: 'Zoe Zoeller' },
} as const satisfies Record<string, Partial<SomeProspect>>

/** Each search, and whom it finds, newest first. */
const SEARCHES: readonly (readonly [text: string, found: readonly (keyof typeof PEOPLE)[]])[] = [
  ['LOV', ['mail', 'lova', 'ádám', 'ada']],
  ['ada', ['ádám', 'ada']],
  ['ÁDA', ['ádám', 'ada']],
  ['A\u0301da\u0301m', ['ádám']],
  ['ada king lo', ['ada']],
  ['elo', ['élodie']],
  ['zizk', ['élodie']],
  ['ИВА', ['иван']],
  ['чех', ['иван']],
  ['Lova+X@', ['mail']],
  ['50%', ['offer']],
  ['off_', ['offer']],
  [' zo ', ['zoe']],
  // Neither a word in the middle, nor the middle of a word, nor the domain of an email.
  ['King', []],
  ['vela', []],
  ['example', []],
  // No wildcards, and no SQL.
  ['5%', []],
  ['l_v', []],
  [`'; --`, []],
  // Nothing is left of these texts, or nothing begins with them.
  ['  ', []],
  ['\u0301\u0301', []],
  ['x'.repeat(100), []],
]

/** How people are searched for by what they type first. */
export const prospectSearch = section('prospects', prospectScene, {
  'people are searched for by the beginning of an email, a name or its last word': async (scene) => {
    const { addProspect, search, indexAll, newTenant } = scene
    const tenantId = await newTenant()
    const people: Record<string, FoundProspect> = {}
    for (const [key, fields] of Object.entries(PEOPLE)) people[key] = await addProspect(tenantId, fields)
    await addProspect(await newTenant(), { name: 'Ada Lovelace' })
    const searchAll = async () => {
      for (const [text, found] of SEARCHES)
        same(
          await search(tenantId, text),
          found.map((key) => people[key]),
        )
    }
    await searchAll()
    await indexAll(tenantId)
    await searchAll()
  },

  'a search returns no more than its limit': async ({ addProspect, search, newTenant }) => {
    const tenantId = await newTenant()
    for (const name of ['Lovelace', 'Lovász', 'Lova']) await addProspect(tenantId, { name })
    equal((await search(tenantId, 'lo', 2)).length, 2)
  },

  'a long name and a long email are searched for by their beginnings': async (scene) => {
    const { addProspect, search, indexAll, newTenant } = scene
    const prospect = await addProspect(await newTenant(), {
      email: `${'ü'.repeat(900)}@example.com`,
      name: `${'é'.repeat(120)} ${'ő'.repeat(130)}`,
    })
    await indexAll(prospect.tenantId)
    for (const letter of ['e', 'É', 'o', 'ü'])
      same(await search(prospect.tenantId, letter.repeat(100)), [prospect])
    same(await search(prospect.tenantId, 'a'.repeat(100)), [])
  },

  'a search follows what fills, corrects and clears a name': async (scene) => {
    const { activities, addProspect, search, indexAll, find, correct, newTenant } = scene
    const grace = await addProspect(await newTenant(), { email: 'grace@x' })
    await indexAll(grace.tenantId)
    const isFoundBy = async (text: string) => (await search(grace.tenantId, text)).length === 1

    equal(await activities.record(fillOf(grace, { name: 'Grace Hopper' })), 'recorded')
    equal(await activities.record(fillOf(grace, { name: 'Not This' })), 'overtaken')
    equal(await isFoundBy('hop'), true)
    equal(await isFoundBy('gra'), true)
    equal(await isFoundBy('not'), false)

    await correct(await find(grace), { name: 'Grace Murray' })
    equal(await isFoundBy('hop'), false)
    equal(await isFoundBy('mur'), true)

    await correct(await find(grace), { name: null, email: 'new@x' })
    equal(await isFoundBy('mur'), false)
    equal(await isFoundBy('gra'), false)
    equal(await isFoundBy('new'), true)
  },

  'people who are erased or merged are not found under their names': async (scene) => {
    const { addProspect, search, indexAll, erase, merge, find, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { name: 'Ada Lovelace' })
    const grace = await addProspect(tenantId, { name: 'Grace Hopper' })
    const survivor = await addProspect(tenantId)
    await indexAll(tenantId)
    await erase(ada)
    same(await search(tenantId, 'ada'), [])
    await merge(grace, survivor)
    const { mergedInto } = await find(grace)
    equal(mergedInto, survivor.prospectId)
    for (const { mergedInto } of await search(tenantId, 'grace')) equal(mergedInto, survivor.prospectId)
  },

  'older people are found once they are indexed, and stay so when they change': async (scene) => {
    const { activities, addProspect, search, indexAll, find, correct, newTenant } = scene
    const tenantId = await newTenant()
    const ada = await addProspect(tenantId, { name: 'Ada Lovelace', email: 'ada@x' })
    const others = Array.from({ length: SEARCHED_MAX }, () => someProspect(tenantId, { name: 'Other' }))
    await Promise.all(others.map((prospect) => activities.record(changeOf(prospect))))
    await indexAll(tenantId)
    for (const text of ['ada ', 'lovelace', 'ada@']) same(await search(tenantId, text), [ada])
    await correct(await find(ada), { name: 'Ada King', email: 'ada@x' })
    equal((await search(tenantId, 'king')).length, 1)
    same(await search(tenantId, 'lovelace'), [])
  },

  'of many who share a beginning, the newest are found': async (scene) => {
    const { activities, search, indexAll, newTenant } = scene
    const tenantId = await newTenant()
    const prospects = Array.from({ length: 2_500 }, (_, i) =>
      someProspect(tenantId, { name: `Same ${9_000 - i} Name` }),
    )
    await Promise.all(prospects.map((prospect) => activities.record(changeOf(prospect))))
    const newestFirst = prospects.map(({ prospectId }) => prospectId).toReversed()
    await indexAll(tenantId)
    const found = await search(tenantId, 'same', FOUND_MAX)
    same(
      found.map(({ prospectId }) => prospectId),
      newestFirst.slice(0, FOUND_MAX),
    )
  },
})
