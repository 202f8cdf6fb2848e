import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { type Core, type Subject, section } from './contract.ts'
import { mergeChangesOf } from './people.ts'
import { prospectScene } from './prospect-scene.ts'
import { at, changeOf, fillOf, foundProspect, recordAll, someEndpoint, someProspect } from './rows.ts'
import { countedIds, stoppedClock } from './setting.ts'

/** The answer of a use case, or the kind of its refusal. */
const kindOf = (core: Core, error: unknown): string => {
  if (error instanceof core.DomainFailure) return error.kind
  throw error
}

/** Names that programs trip over. */
const HOSTILE_NAMES = [
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'a.b',
    'a/b',
    'a~1b',
    '/',
    '"',
    '\\',
    '$.a',
    '%',
    "'",
  ],
  ...['😀'.repeat(64), 'é', 'e\u0301', '\u0001', '\u2028', '{{/data}}', '50', 'null'],
]
/** Numbers that a parser would change. */
const EXACT_NUMBERS = ['12345678901234567890', '1.0', '-0', '1e400', '0.1000000000000000055511151231257827']

const scene = async (subject: Subject) => {
  const { core, store, newTenant } = subject
  const tenantId = await newTenant()
  await store.webhooks.add(someEndpoint(tenantId))
  const clock = stoppedClock()
  const deps = { store, clock, newId: countedIds() }
  const logActivity = core.logProspectActivity(deps)
  const createProspect = core.createProspect(deps)
  const updateProspect = core.updateProspect(deps)
  const mergeProspect = core.mergeProspect(deps)

  /** Logs an activity of a person. Returns its receipt. */
  const log = async (email: string, attributes: object | string, fields: Partial<NewActivity> = {}) => {
    clock.advance(1)
    const rawJson = typeof attributes === 'string' ? attributes : JSON.stringify(attributes)
    const sent = { tenantId, source: 'crm', type: 'form', payload: { rawJson: '{}' }, email }
    return (await logActivity({ ...sent, attributes: { rawJson }, ...fields })).value
  }
  const create = async (email: string, attributes: object) => {
    clock.advance(1)
    const rawJson = JSON.stringify(attributes)
    return (await createProspect({ tenantId, email, attributes: { rawJson } })).value
  }
  const change = async (prospectId: string, attributes: object) => {
    clock.advance(1)
    const rawJson = JSON.stringify(attributes)
    return updateProspect({ tenantId, prospectId, attributes: { rawJson } }).then(
      ({ value }) => value,
      (error) => kindOf(core, error),
    )
  }
  const merge = async (prospectId: string, into: string) => {
    clock.advance(1)
    return (await mergeProspect({ tenantId, prospectId, into })).value
  }
  /** The text of the attributes of a prospect. */
  const textOf = async (prospectId: string) =>
    (await store.prospects.find({ tenantId, prospectId }))?.attributes?.rawJson ?? null
  /** The types of the events so far. */
  const eventTypes = async () => {
    while ((await store.events.number({ tenantId, now: at(0), max: 100 })) > 0);
    const { rows } = await store.events.list({ tenantId, afterSequence: 0, limit: 1_000 })
    return rows.map(({ type }) => type)
  }
  return { ...(await prospectScene(subject)), tenantId, log, create, change, merge, textOf, eventTypes }
}

const many = (count: number, first = 0): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${first + i}`, first + i]))

/** How the attributes of people are kept. */
export const attributes = section('attributes', scene, {
  'a new person has those that were sent, and none without any': async ({ log, textOf, find, tenantId }) => {
    const { prospectId } = await log('ada@x.example', { company: 'Engines', size: 12, on: true })
    equal(await textOf(prospectId), '{"company":"Engines","size":12,"on":true}')
    const other = await log('bob@x.example', '{}')
    equal((await find({ tenantId, prospectId: other.prospectId })).attributes, null)
  },

  'blanks are filled, and nothing is overwritten': async ({ log, create, textOf }) => {
    const { prospectId } = await log('ada@x.example', { company: 'Engines' })
    await log('ada@x.example', { company: 'Other', phone: '1' })
    equal(await textOf(prospectId), '{"company":"Engines","phone":"1"}')
    await create('ada@x.example', { phone: '2', city: 'London' })
    equal(await textOf(prospectId), '{"company":"Engines","phone":"1","city":"London"}')
  },

  'null and blank texts say nothing': async ({ log, textOf }) => {
    const { prospectId } = await log('ada@x.example', { company: null, city: ' ', phone: '' })
    equal(await textOf(prospectId), null)
    await log('ada@x.example', { company: 'Engines' })
    await log('ada@x.example', { company: null }, { attributesMode: 'overwrite' })
    equal(await textOf(prospectId), '{"company":"Engines"}')
  },

  'the mode overwrite replaces what is sent, and nothing else': async ({ log, textOf }) => {
    const { prospectId } = await log('ada@x.example', { company: 'Engines', city: 'London' })
    await log('ada@x.example', { company: 'Other', size: 1 }, { attributesMode: 'overwrite' })
    equal(await textOf(prospectId), '{"company":"Other","city":"London","size":1}')
  },

  'an activity without attributes changes none, even if it fills a blank': async ({
    log,
    textOf,
    find,
    tenantId,
  }) => {
    const { prospectId } = await log('ada@x.example', { company: 'Engines' })
    await log('ada@x.example', {}, { attributes: undefined, name: 'Ada' })
    equal(await textOf(prospectId), '{"company":"Engines"}')
    equal((await find({ tenantId, prospectId })).name, 'Ada')
  },

  'each change has one event, and what changes nothing has none': async ({ log, change, eventTypes }) => {
    const { prospectId } = await log('ada@x.example', { company: 'Engines' })
    const created = await eventTypes()
    equal(created.filter((type) => type === 'prospect.updated').length, 0)
    const updates = async () => (await eventTypes()).filter((type) => type === 'prospect.updated').length
    await log('ada@x.example', { company: 'Other' })
    equal(await updates(), 0)
    await log('ada@x.example', { phone: '1' }, { name: 'Ada' })
    equal(await updates(), 1)
    await change(prospectId, { phone: '1', city: null })
    equal(await updates(), 1)
    await change(prospectId, { phone: '2' })
    equal(await updates(), 2)
  },

  'a correction sets attributes, and removes those that are null': async ({ log, change, textOf }) => {
    const { prospectId } = await log('ada@x.example', { company: 'Engines', city: 'London' })
    like(await change(prospectId, { company: null, city: 'Paris', size: 3 }), {
      attributes: { rawJson: '{"city":"Paris","size":3}' },
    })
    equal(await textOf(prospectId), '{"city":"Paris","size":3}')
    like(await change(prospectId, { city: null, size: '' }), { attributes: { rawJson: '{}' } })
    equal(await textOf(prospectId), null)
  },

  'a person has at most fifty: a receipt names what there is no room for, and nothing else is lost': async (
    scene,
  ) => {
    const { log, create, change, textOf, tenantId, store } = scene
    const { prospectId } = await log('ada@x.example', many(40))
    const sent = { ...many(12, 40), 'a@b': 1 }
    const receipt = await log('ada@x.example', sent, { idempotencyKey: '1', name: 'Ada' })
    same(receipt.ignored, ['attributes/n50', 'attributes/n51', 'attributes/…'])
    const stored = JSON.parse((await textOf(prospectId)) ?? '')
    same(stored, many(50))
    equal((await store.prospects.find({ tenantId, prospectId }))?.name, 'Ada')
    same(await log('ada@x.example', sent, { idempotencyKey: '1', name: 'Ada' }), receipt)
    same((await create('ada@x.example', { n1: 9, more: 1 })).ignored, ['attributes/more'])
    equal(await change(prospectId, { more: 1 }), 'limit_reached')
    like(await change(prospectId, { more: 1, n1: null }), { prospectId })
    equal(Object.keys(JSON.parse((await textOf(prospectId)) ?? '')).length, 50)
  },

  'every name and every number is kept as it was sent': async ({ log, textOf, elsewhere, tenantId }) => {
    const members = HOSTILE_NAMES.map((name) => `${JSON.stringify(name)}:"x"`)
    const numbers = EXACT_NUMBERS.map((number, i) => `"n${i}":${number}`)
    const text = `{${[...members, ...numbers]}}`
    const { prospectId } = await log('ada@x.example', text)
    equal(await textOf(prospectId), text)
    equal((await elsewhere.prospects.find({ tenantId, prospectId }))?.attributes?.rawJson, text)
    await log('ada@x.example', { company: 'Engines' })
    equal(await textOf(prospectId), `${text.slice(0, -1)},"company":"Engines"}`)
  },

  'texts are kept however they were escaped, and the last of two members counts': async ({ log, textOf }) => {
    const { prospectId } = await log('ada@x.example', '{ "\\u0061" : "\\u00e9\\/" , "a":"1" }')
    equal(await textOf(prospectId), '{"a":"1"}')
    await log('ada@x.example', '{"\\u0061":"\\u0031"}', { attributesMode: 'overwrite' })
    equal(await textOf(prospectId), '{"a":"1"}')
  },

  'fifty of the largest are kept and listed': async ({ log, textOf, list, search, tenantId }) => {
    const value = '😀'.repeat(1_000)
    const largest = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${i}${'é'.repeat(60)}`, value]))
    const ids: string[] = []
    for (let i = 0; i < 14; i++) ids.unshift((await log(`p${i}@x.example`, largest)).prospectId)
    equal(await textOf(ids[0] ?? ''), JSON.stringify(largest))
    const { rows } = await list(tenantId)
    ok(rows.length < 14, 'a slice has a size')
    same(
      rows.map(({ prospectId }) => prospectId),
      ids.slice(0, rows.length),
    )
    equal((await search(tenantId, 'p1@')).length, 1)
  },

  'a merge fills the blanks of the survivor, which wins': async ({ log, merge, textOf, eventTypes }) => {
    const ada = await log('ada@x.example', { company: 'Engines', city: 'London' })
    const bob = await log('bob@x.example', { company: 'Other' })
    const merged = await merge(ada.prospectId, bob.prospectId)
    equal(merged.attributes.rawJson, '{"company":"Other","city":"London"}')
    equal(merged.ignored, undefined)
    equal(await textOf(bob.prospectId), '{"company":"Other","city":"London"}')
    equal(await textOf(ada.prospectId), null)
    equal((await eventTypes()).filter((type) => type === 'prospect.updated').length, 1)
    await log('ada@x.example', { phone: '1' })
    equal(await textOf(bob.prospectId), '{"company":"Other","city":"London","phone":"1"}')
  },

  'a merge names what the survivor has no room for': async ({ log, merge, textOf }) => {
    const ada = await log('ada@x.example', many(50))
    const bob = await log('bob@x.example', { more: 1 })
    same((await merge(bob.prospectId, ada.prospectId)).ignored, ['attributes/more'])
    same(JSON.parse((await textOf(ada.prospectId)) ?? ''), many(50))
  },

  'an erased person has none, nor has one that was merged into them': async (scene) => {
    const { store, addProspect, merge: _, erase, find, prospects, kept, tenantId } = scene
    const fields = { attributes: { rawJson: '{"secret":"Engines"}' } }
    const ada = await addProspect(tenantId, fields)
    const bob = await addProspect(tenantId, fields)
    const changes = mergeChangesOf(bob, ada)
    const { merged } = changes
    // A merged prospect has no attributes. Here it keeps them, to see that they go.
    const kepts = { ...changes, merged: { ...merged, after: { ...merged.after, ...fields } } }
    equal(await store.merges.record(kepts), 'recorded')
    await erase({ ...ada, updatedAt: (await find(ada)).updatedAt })
    equal((await prospects.find(ada))?.attributes, null)
    equal((await prospects.find(bob))?.attributes, null)
    ok(!JSON.stringify(await kept()).includes('secret'), 'nothing of it is left')
  },

  'a store saves those of a change, and leaves them if it has none': async ({
    activities,
    find,
    tenantId,
  }) => {
    const first = { rawJson: '{"a":1}' }
    const ada = someProspect(tenantId, { attributes: first })
    await recordAll(activities, [ada])
    same(await find(ada), foundProspect(ada))
    equal(await activities.record(fillOf(ada, { name: 'Ada' })), 'recorded')
    const named = await find(ada)
    same(named.attributes, first)
    const more = { rawJson: '{"a":1,"b":2}' }
    equal(await activities.record(fillOf(named, { attributes: more })), 'recorded')
    same((await find(ada)).attributes, more)
    equal(await activities.record(fillOf(named, { attributes: first })), 'overtaken')
    same((await find(ada)).attributes, more)
    const bob = someProspect(tenantId)
    equal(await activities.record(changeOf(bob, null, { attributes: first })), 'recorded')
    same((await find(bob)).attributes, first)
  },

  'of many who fill a person at once, each adds what is new': async ({ log, textOf }) => {
    const { prospectId } = await log('ada@x.example', {})
    const names = ['a', 'b', 'c', 'd', 'e']
    await Promise.all(names.map((name) => log('ada@x.example', { [name]: 1, same: name })))
    const stored = JSON.parse((await textOf(prospectId)) ?? '')
    same(Object.keys(stored).sort(), [...names, 'same'])
  },
})
