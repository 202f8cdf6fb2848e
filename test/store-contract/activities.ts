import type {
  ActivityChange,
  ActivityLookup,
  AssumedIdentifier,
  Identifier,
  IdentifierKind,
  NewEvent,
  NewLog,
  Recorded,
  Store,
} from 'prospect-pages/store'
import { equal, ok, same } from './assertions.ts'
import { type Subject, section } from './contract.ts'
import { randomBy, shuffled } from './random.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  assumedTo,
  at,
  changeOf,
  emailIdentifier,
  externalIdentifier,
  fillOf,
  foundProspect,
  identifiersOf,
  keyFields,
  logChangeOf,
  logKey,
  newId,
  only,
  readEach,
  recordAll,
  type SomeProspect,
  scribbleOn,
  someEndpoint,
  someErasure,
  someEvent,
  someLog,
  someProspect,
} from './rows.ts'

const PAYLOADS = [
  '{}',
  '{ }',
  ' {\n\t"a" : [ 1 , 2 ]\r\n} ',
  '{"text":"\\u0000 in the middle \\u0000"}',
  '{"half":"\\ud83d","other":"\\udE00","turned":"\\udE00\\ud83d"}',
  '{"long":12345678901234567890,"exact":0.1000000000000000055511151231257827}',
  '{"huge":1e131071,"tiny":1E-131071,"plus":1e+2,"zero":-0,"dot":1.0}',
  '{"a":1,"a":2,"__proto__":{"a":3},"constructor":null}',
  '{"quotes":"\\" \' \\\\ \\/ / \\n","braces":"{}[],","null":"NULL"}',
  '{"\\u0061":"\\u00e9 é e\u0301 👩‍👩‍👧‍👦 \u2028\u2029\ufeff\uffff"}',
  `{"deep":${'['.repeat(500)}${']'.repeat(500)}}`,
  `{"wide":"${'x'.repeat(100_000)}"}`,
]

const SEED = 20_260_101
const ROUNDS = 5
/** A blocked identifier is blocked until then. */
const UNTIL = at(1e9)
/** A time before now by any clock of a database. */
const LONG_AGO = '2020-01-01T00:00:00.000Z'

const settingOf = async ({ store, another, kept }: Subject) => {
  const { activities } = store
  const elsewhere = await another()
  /** A tenant that uses its events. */
  const newTenant = async () => {
    const { tenantId } = await addTenant(store)
    equal(await store.webhooks.add(someEndpoint(tenantId)), 'recorded')
    return tenantId
  }
  const keptOf = async (tenantId: string) => {
    const { prospects, logs } = await kept()
    const ours = (row: { tenantId: string }) => row.tenantId === tenantId
    return { prospects: prospects.filter(ours), logs: logs.filter(ours) }
  }
  const eventsOf = async (tenantId: string) => {
    let numbered = 0
    do {
      numbered = await store.events.number({ tenantId, now: at(0), max: 100 })
    } while (numbered > 0)
    return (await store.events.list({ tenantId, afterSequence: 0, limit: 1_000 })).rows
  }
  /** What is known, without the times of the last changes. */
  const recall = async (lookup: Partial<ActivityLookup> & { readonly tenantId: string }) => {
    const known = await activities.recall({ identifiers: [], ...lookup })
    return {
      prospects: withoutTwins(only(known.prospects, ...PROSPECT_FIELDS)),
      identifiers: only(known.identifiers, ...IDENTIFIER_FIELDS),
      receipt: known.receipt && only([known.receipt], ...RECEIPT_FIELDS)[0],
      countedId: known.countedId,
    }
  }
  const record = (prospects: readonly SomeProspect[], logs: readonly NewLog[] = []) =>
    recordAll(activities, prospects, logs)
  const recorded = async (tenantId: string, fields: Partial<SomeProspect> = {}) => {
    const prospect = someProspect(tenantId, fields)
    equal(await record([prospect], [someLog(prospect)]), 'recorded')
    return prospect
  }
  /** Checks that changes of one tenant are overtaken, with an event and without, and leave nothing behind. */
  const overtaken = async (...changes: readonly ActivityChange[]) => {
    const { tenantId } = (changes[0] as ActivityChange).prospect
    const lookups = changes.map(({ identifiers, log }) => ({ tenantId, identifiers, key: keyOf(log) }))
    const everything = async () => ({
      kept: await keptOf(tenantId),
      known: await readEach(recall, lookups),
      events: await eventsOf(tenantId),
    })
    const before = await everything()
    for (const change of changes) {
      equal(await activities.record(change, []), 'overtaken')
      equal(await activities.record(change, [someEvent(tenantId)]), 'overtaken')
    }
    same(await everything(), before)
  }
  const merge = async (merged: SomeProspect, survivor: SomeProspect) =>
    equal(await mergedBy(store, merged, survivor), 'recorded')
  const erase = async (prospect: SomeProspect) => equal(await erasedBy(store, prospect), 'recorded')
  /** Blocks an identifier that leads to no one. */
  const block = async (identifier: Identifier) => {
    const { tenantId } = identifier
    const erasure = someErasure(tenantId)
    const changes = { tenantId, now: at(1), until: UNTIL, prospects: [], identifier, erasures: [erasure] }
    equal(await store.erasures.record(changes), 'recorded')
    return erasure
  }
  /** Takes the identifiers from a prospect, as a correction does. */
  const release = async (prospect: SomeProspect) => {
    const before = foundProspect(prospect)
    const after = { ...before, email: null, externalId: null, updatedAt: at(1) }
    const released = identifiersOf(prospect)
    equal(await store.prospects.correct({ before, after, added: [], released, forgotten: [] }), 'recorded')
  }
  return {
    activities,
    elsewhere,
    newTenant,
    keptOf,
    eventsOf,
    recall,
    record,
    recorded,
    overtaken,
    merge,
    erase,
    block,
    release,
  }
}
type Scene = Subject & Awaited<ReturnType<typeof settingOf>>

export const activities = section('activities', settingOf, {
  'a recorded prospect is recalled by its id and by what identifies it': async (scene) => {
    const { recall, recorded } = scene
    const tenantId = await scene.newTenant()
    const fields = { email: 'ada@example.com', externalId: 'crm 1', name: 'Ada' }
    const { prospectId } = await recorded(tenantId, fields)
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
    const { recall, recorded } = scene
    const tenantId = await scene.newTenant()
    const ada = await recorded(tenantId, { name: 'Ada' })
    const byEmail = await recorded(tenantId, { email: 'grace@x' })
    const byExternalId = await recorded(tenantId, { externalId: '1' })
    const identifiers = [...identifiersOf(byEmail), ...identifiersOf(byExternalId)]
    const known = await recall({ tenantId, prospectId: ada.prospectId, identifiers })
    same(idsOf(known.prospects), idsOf([ada, byEmail, byExternalId]))
    same(idsOf(known.identifiers), idsOf([byEmail, byExternalId]))
  },

  'a prospect is not added for a tenant that is deleted or missing': async ({
    overtaken,
    recorded,
    store,
    newTenant,
  }) => {
    const deleted = await newTenant()
    await recorded(deleted)
    await store.tenants.setState(deleted, { suspendedAt: at(1), deletedAt: at(1) })
    for (const tenantId of [deleted, newId('tenant')]) {
      const late = someProspect(tenantId, { email: 'late@x' })
      await overtaken(changeOf(late, someLog(late, { createdProspect: true })), changeOf(late))
    }
  },

  'a prospect is not added under an id that exists': async ({ overtaken, recorded, newTenant }) => {
    const ada = await recorded(await newTenant(), { name: 'Ada' })
    const twin = { ...ada, email: 'twin@x' }
    await overtaken(changeOf(twin, someLog(twin, keyFields('one'))))
  },

  'a prospect is recalled with the time of its last change': async ({ activities, recorded, newTenant }) => {
    const ada = await recorded(await newTenant(), { email: 'ada@x' })
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
    recorded,
    newTenant,
  }) => {
    const tenantId = await newTenant()
    const byEmail = await recorded(tenantId, { email: 'ada@x' })
    const byExternalId = await recorded(tenantId, { externalId: 'ada@x' })
    const wanted = [externalIdentifier(tenantId, 'ada@x'), emailIdentifier(tenantId, 'ada@x')]
    const { identifiers } = await recall({ tenantId, identifiers: wanted })
    same(Object.fromEntries(identifiers.map(({ kind, prospectId }) => [kind, prospectId])), {
      email: byEmail.prospectId,
      externalId: byExternalId.prospectId,
    })
  },

  'a blocked identifier is recalled with its erasure and without a prospect': async (scene) => {
    const { block, recall } = scene
    const tenantId = await scene.newTenant()
    const identifier = emailIdentifier(tenantId, 'gone@example.com')
    const { erasureId } = await block(identifier)
    const known = await recall({ tenantId, identifiers: [identifier] })
    same(known.identifiers, [{ ...identifier, prospectId: null, blockedUntil: UNTIL, erasureId }])
    same(known.prospects, [])
  },

  'an erased prospect and a merged one are recalled as such by their ids': async (scene) => {
    const { erase, merge, recall, recorded } = scene
    const tenantId = await scene.newTenant()
    const fields = { email: 'ada@x', externalId: '1', name: 'Ada' }
    const erased = await recorded(tenantId, fields)
    const merged = await recorded(tenantId, { email: 'grace@x' })
    const survivor = await recorded(tenantId)
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
    const { recall, recorded, store } = scene
    const { tenantId } = await addTenant(store)
    await store.counts.markRead(tenantId, at(0))
    const { prospectId } = await recorded(tenantId, { email: 'ada@x' })
    const other = await recorded((await addTenant(store)).tenantId, { email: 'ada@x' })
    for (const countedId of ['', 'prospectlog_0']) {
      ok(await store.counts.close(tenantId, countedId, LONG_AGO))
      const known = await readEach(recall, [{ tenantId }, other, { tenantId, prospectId }])
      same(only(known, 'countedId'), [{ countedId }, { countedId: null }, { countedId }])
    }
  },

  'a recorded log is recalled as a receipt by its idempotency key, with every field': async (scene) => {
    const { recall, record } = scene
    const prospect = someProspect(await scene.newTenant())
    const log = someLog(prospect, {
      ...keyFields('first'),
      type: 'form.sent',
      createdProspect: true,
      createdAt: at(123),
    })
    await record([prospect], [log])
    const { tenantId, source } = log
    const { receipt } = await recall({ tenantId, key: logKey('first', { source }) })
    same(receipt, only([log], ...RECEIPT_FIELDS)[0])
  },

  'a prospect without email or name is recalled with nulls': async ({ recall, recorded, newTenant }) => {
    const { tenantId, prospectId } = await recorded(await newTenant())
    const { prospects } = await recall({ tenantId, prospectId })
    const blank = { email: null, externalId: null, name: null, erasedAt: null, mergedInto: null }
    same(prospects, [{ tenantId, prospectId, ...blank }])
  },

  'a look-up returns only what it asks for': async ({ recall, recorded, newTenant }) => {
    const tenantId = await newTenant()
    const { prospectId } = await recorded(tenantId, { email: 'wanted@example.com' })
    await recorded(tenantId, { email: 'neighbour@example.com' })
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

  'another tenant that records under our ids changes nothing of ours': async (scene) => {
    const { keptOf, overtaken, recall, record, recorded } = scene
    const ours = await recorded(await scene.newTenant())
    const { tenantId } = ours
    const before = await keptOf(tenantId)
    const theirs = {
      ...ours,
      tenantId: await scene.newTenant(),
      email: 'theirs@example.com',
      name: 'Theirs',
    }
    await overtaken(...changesTo({ ...theirs, email: null }))
    equal(await record([theirs], [someLog(theirs)]), 'recorded')
    same(await keptOf(tenantId), before)
    const identifiers = [emailIdentifier(tenantId, 'theirs@example.com')]
    same(await recall({ tenantId, identifiers }), NOTHING)
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

  'an idempotency key belongs to its source and its tenant': async ({
    recall,
    record,
    recorded,
    newTenant,
  }) => {
    const ours = await recorded(await newTenant())
    const theirs = await recorded(await newTenant())
    const logs = [
      someLog(ours, { source: 'crm', ...keyFields('one') }),
      someLog(ours, { source: 'shop', ...keyFields('one') }),
      someLog(theirs, { source: 'crm', ...keyFields('one') }),
    ]
    equal(await record([], logs), 'recorded')
    for (const log of logs) {
      const { receipt } = await recall({ tenantId: log.tenantId, key: keyOf(log) })
      equal(receipt?.prospectLogId, log.prospectLogId)
    }
  },

  'an idempotency key belongs to its scope, whether its prospect is added, filled or unchanged': async (
    scene,
  ) => {
    const { activities, recall, recorded } = scene
    const tenantId = await scene.newTenant()
    const scoped = (keyScope: string) => ({ ...keyFields('one'), keyScope })
    const first = await recorded(tenantId)
    equal(await activities.record(logChangeOf(first, someLog(first, scoped('')))), 'recorded')
    for (const keyScope of ['a', 'a b', 'b']) {
      const stranger = someProspect(tenantId, { email: `${keyScope}@x` })
      const blank = await recorded(tenantId)
      const changes = [
        changeOf(stranger, someLog(stranger, scoped(`${keyScope} added`))),
        fillOf(blank, { email: `fill-${keyScope}@x` }, someLog(blank, scoped(`${keyScope} filled`))),
        logChangeOf(first, someLog(first, scoped(`${keyScope} plain`))),
      ]
      for (const change of changes) {
        equal(await activities.record(change), 'recorded')
        const { receipt } = await recall({ tenantId, key: keyOf(change.log) })
        equal(receipt?.prospectLogId, change.log?.prospectLogId)
        const twin = await recorded(tenantId)
        const taken = someLog(twin, scoped(change.log?.keyScope ?? ''))
        equal(await activities.record(logChangeOf(twin, taken)), 'overtaken')
        equal(await activities.record(fillOf(twin, { email: `twin-${keyScope}@x` }, taken)), 'overtaken')
      }
    }
    same(await recall({ tenantId, key: logKey('one', { keyScope: 'c' }) }), NOTHING)
    same(await recall({ tenantId, key: logKey('two', { keyScope: 'a added' }) }), NOTHING)
  },

  'of several logs under one key, the one with the last scope that was asked for has it': async (scene) => {
    const { record, recall, recorded } = scene
    const ada = await recorded(await scene.newTenant())
    const scopes = ['b prospectlog_2', '', 'b', 'c', 'b prospectlog_1', 'a']
    const logs = scopes.map((keyScope) => someLog(ada, { ...keyFields('one'), keyScope }))
    equal(await record([], [...logs, someLog(ada, { ...keyFields('two'), keyScope: 'b z' })]), 'recorded')
    const scopeFound = async (keyScope: string, lastKeyScope = keyScope) => {
      const { receipt } = await recall({
        tenantId: ada.tenantId,
        key: logKey('one', { keyScope, lastKeyScope }),
      })
      return logs.find(({ prospectLogId }) => prospectLogId === receipt?.prospectLogId)?.keyScope
    }
    equal(await scopeFound('b', 'b ~'), 'b prospectlog_2')
    equal(await scopeFound('b'), 'b')
    equal(await scopeFound(''), '')
    equal(await scopeFound('a', 'a ~'), 'a')
    equal(await scopeFound('', '~'), 'c')
    equal(await scopeFound('bb', 'bb ~'), undefined)
    equal(await scopeFound('d', 'd ~'), undefined)
    equal(await scopeFound('c', 'b'), undefined)
  },

  'logs without an idempotency key never conflict': async ({ keptOf, record, recorded, newTenant }) => {
    const prospect = await recorded(await newTenant())
    equal(await record([], [someLog(prospect), someLog(prospect), someLog(prospect)]), 'recorded')
    equal((await keptOf(prospect.tenantId)).logs.length, 4)
  },

  'a log is kept with every field, whether its prospect is added, filled or unchanged': async (scene) => {
    const { activities, keptOf } = scene
    const ada = someProspect(await scene.newTenant(), { email: 'ada@x' })
    const filled = { ...ada, name: 'Ada', updatedAt: at(1) }
    const logOf = (key: string) =>
      someLog(ada, {
        ...keyFields(key),
        source: 'shop',
        type: 'order',
        payload: { rawJson: '{ "n" : 12345678901234567890 }' },
        email: ' Ada@X',
        name: 'Ada',
        externalId: '1',
        occurredAt: at(5),
        createdAt: at(7),
      })
    const logs = ['1', '2', '3', '4'].map(logOf) as [NewLog, NewLog, NewLog, NewLog]
    for (const change of [
      changeOf(ada, logs[0]),
      fillOf(ada, { name: 'Ada' }, logs[1]),
      logChangeOf(filled, logs[2]),
      logChangeOf(filled, logs[3], { assumed: [assumedTo(externalIdentifier(ada.tenantId, '1'), null)] }),
    ])
      equal(await activities.record(change), 'recorded')
    same(await keptOf(ada.tenantId), { prospects: [filled], logs })
  },

  'a change that adds an identifier which was added meanwhile is overtaken, and leaves nothing': async (
    scene,
  ) => {
    const { overtaken, recorded } = scene
    const own = { email: 'own@x', externalId: 'own' }
    for (const taken of [{ email: 'taken@x' }, { externalId: 'taken' }]) {
      const tenantId = await scene.newTenant()
      await recorded(tenantId, taken)
      const blank = await recorded(tenantId)
      const late = someProspect(tenantId, { ...own, ...taken })
      // Even if it adds the identifier without a word about where it led.
      for (const change of [
        changeOf(late, someLog(late, keyFields('one'))),
        fillOf(blank, { ...own, ...taken }, someLog(blank, keyFields('one'))),
      ])
        await overtaken(change, { ...change, assumed: [] })
    }
  },

  'an identifier is taken within its tenant only': async ({ keptOf, recorded, newTenant }) => {
    const fields = { email: 'both@example.com', externalId: '1' }
    await recorded(await newTenant(), fields)
    const other = await recorded(await newTenant(), fields)
    equal((await keptOf(other.tenantId)).prospects.length, 1)
  },

  'a change that assumes where an email leads is overtaken if it leads elsewhere': (scene) =>
    testAssumptions(scene, 'email'),

  'a change that assumes where an external id leads is overtaken if it leads elsewhere': (scene) =>
    testAssumptions(scene, 'externalId'),

  'a blocked identifier cannot be added': async ({ block, overtaken, recorded, newTenant }) => {
    const tenantId = await newTenant()
    await block(emailIdentifier(tenantId, 'gone@x'))
    const blank = await recorded(tenantId)
    const added = someProspect(tenantId, { email: 'gone@x' })
    for (const change of [
      changeOf(added, someLog(added)),
      fillOf(blank, { email: 'gone@x' }, someLog(blank)),
    ])
      await overtaken(change, { ...change, assumed: [] })
  },

  'an identifier that was released leads where it is added next': async (scene) => {
    const { activities, recall, recorded, release } = scene
    const tenantId = await scene.newTenant()
    const first = await recorded(tenantId, { email: 'ada@x', externalId: '1' })
    await release(first)
    const second = await recorded(tenantId, { email: 'ada@x' })
    // The first prospect may get its external id back, too.
    const blank = { ...first, email: null, externalId: null, updatedAt: at(1) }
    equal(await activities.record(fillOf(blank, { externalId: '1' }, someLog(first))), 'recorded')
    const { identifiers } = await recall({ tenantId, identifiers: identifiersOf(first) })
    same(Object.fromEntries(identifiers.map(({ kind, prospectId }) => [kind, prospectId])), {
      email: second.prospectId,
      externalId: first.prospectId,
    })
  },

  'changes saved together are saved whole or not at all, each by itself, with their events': async (
    scene,
  ) => {
    const { activities, recorded, keptOf, eventsOf } = scene
    if (activities.recordEach === undefined) return
    const tenantId = await scene.newTenant()
    const otherId = await scene.newTenant()
    const [ada, bob, eve] = [await recorded(tenantId), await recorded(tenantId), await recorded(tenantId)]
    const cleo = await recorded(otherId)
    const stale = { ...ada, updatedAt: at(-1) }
    const missing = someProspect(tenantId)
    const keyed = (key: string, fields = {}) => someLog(bob, { ...keyFields(key), ...fields })
    const before = await eventsOf(tenantId)
    const changes = [
      logChangeOf(
        ada,
        someLog(ada, { payload: { rawJson: '{"text":"\\n \\u00e9 \\"\\\\ é {NULL}"}' }, hops: 1 }),
      ),
      logChangeOf(stale, someLog(ada)),
      logChangeOf(
        bob,
        keyed('one', { occurredAt: at(-5), externalId: 'an "id"', name: null, email: 'NULL' }),
      ),
      logChangeOf(cleo, someLog(cleo)),
      changeOf(someProspect(tenantId, { email: 'dan@x' })),
      fillOf(eve, { name: 'Eve' }),
      logChangeOf(missing, someLog(missing)),
    ]
    const outcomes = await activities.recordEach(changes.map((change) => ({ change, events: [] })))
    same(outcomes, ['recorded', 'overtaken', 'recorded', 'recorded', 'recorded', 'recorded', 'overtaken'])
    const saved = changes.filter((_, i) => outcomes[i] === 'recorded').flatMap(({ log }) => log ?? [])
    const { logs } = await keptOf(tenantId)
    const others = await keptOf(otherId)
    for (const log of saved) {
      const found = [...logs, ...others.logs].filter(
        ({ prospectLogId }) => prospectLogId === log.prospectLogId,
      )
      same(only(found, 'payload', 'email', 'name', 'externalId', 'occurredAt', 'idempotencyKey'), [
        {
          payload: log.payload,
          email: log.email,
          name: log.name,
          externalId: log.externalId,
          occurredAt: log.occurredAt,
          idempotencyKey: log.idempotencyKey,
        },
      ])
    }
    const events = (await eventsOf(tenantId)).slice(before.length)
    same(
      events
        .map(({ ids }) => ids.prospectLogId)
        .filter(Boolean)
        .sort(),
      [...saved.filter((log) => log.tenantId === tenantId).map(({ prospectLogId }) => prospectLogId)].sort(),
    )
    const again = logChangeOf(ada, keyed('one', { prospectId: ada.prospectId }))
    same(await activities.recordEach([{ change: again, events: [] }]), ['overtaken'])
  },

  'a change whose idempotency key is taken is overtaken, and leaves nothing': async (scene) => {
    const { overtaken, record, recorded } = scene
    const prospect = await recorded(await scene.newTenant(), { name: null })
    const { tenantId } = prospect
    const taken = keyFields('taken')
    await record([], [someLog(prospect, taken)])
    const other = someProspect(tenantId, { email: 'new@example.com' })
    const toNone = assumedTo(emailIdentifier(tenantId, 'nobody@x'), null)
    await overtaken(
      changeOf(other, someLog(other, taken)),
      fillOf(prospect, { name: 'Ada', email: 'ada@x' }, someLog(prospect, taken)),
      logChangeOf(prospect, someLog(prospect, taken)),
      logChangeOf(prospect, someLog(prospect, taken), { assumed: [toNone] }),
    )
  },

  'a change whose prospect was changed since is overtaken, and leaves nothing': async (scene) => {
    const { activities, erase, merge, overtaken, recorded, release } = scene
    const tenantId = await scene.newTenant()
    const person = () => recorded(tenantId, { externalId: newId('prospect') })
    const fill = async (prospect: SomeProspect) => {
      equal(await activities.record(fillOf(prospect, { name: 'Ada' })), 'recorded')
    }
    const changed = async (change: (prospect: SomeProspect) => Promise<void>) => {
      const prospect = await person()
      await change(prospect)
      await overtaken(...changesTo(prospect))
      return { ...prospect, updatedAt: at(1) }
    }
    const filled = await changed(fill)
    const released = await changed(release)
    const survivor = await changed(async (prospect) => merge(await person(), prospect))
    for (const prospect of [filled, released, survivor])
      equal(await activities.record(logChangeOf(prospect, someLog(prospect))), 'recorded')
    // An erased, merged or missing prospect takes no activities, even if the change knows its last state.
    const erased = await changed(erase)
    const merged = await changed(async (prospect) => merge(prospect, await person()))
    for (const gone of [erased, merged, someProspect(tenantId)]) await overtaken(...changesTo(gone))
    const unchanged = await person()
    for (const ms of [-1, 1]) await overtaken(...changesTo({ ...unchanged, updatedAt: at(ms) }))
  },

  'a log at or before the id up to which its tenant is closed is overtaken, and leaves nothing': async (
    scene,
  ) => {
    const { activities, overtaken, record, recorded, store } = scene
    const tenantId = await scene.newTenant()
    await store.counts.markRead(tenantId, at(0))
    const prospect = await recorded(tenantId)
    const early = newId('prospectlog')
    const last = newId('prospectlog')
    ok(await store.counts.close(tenantId, last, LONG_AGO))
    for (const prospectLogId of [early, last]) {
      const added = someProspect(tenantId, { email: 'ada@x' })
      const logging = [changeOf(added, someLog(added)), ...changesTo(prospect)]
      await overtaken(
        ...logging.flatMap((change) =>
          change.log === null ? [] : { ...change, log: { ...change.log, prospectLogId } },
        ),
      )
    }
    for (const change of changesTo(prospect).slice(0, 3)) equal(await activities.record(change), 'recorded')
    // Other tenants are not closed.
    const other = await recorded(await scene.newTenant())
    equal(await record([], [someLog(other, { prospectLogId: early })]), 'recorded')
  },

  'a change fills blanks with what identifies the prospect': async (scene) => {
    const { activities, keptOf, recall, recorded } = scene
    const blank = await recorded(await scene.newTenant(), { name: 'Ada' })
    const { tenantId, prospectId } = blank
    const fills = { email: 'ada@example.com', externalId: 'crm 1', updatedAt: at(5_000) }
    const fill = fillOf(blank, fills, someLog(blank))
    equal(await activities.record(fill), 'recorded')
    same((await keptOf(tenantId)).prospects, [{ ...blank, ...fills }])
    const { identifiers } = await recall({ tenantId, identifiers: fill.identifiers })
    same(identifiers.map((found) => [found.kind, found.prospectId]).toSorted(), [
      ['email', prospectId],
      ['externalId', prospectId],
    ])
  },

  'filling a blank that another writer filled is overtaken, and leaves nothing': async (scene) => {
    const { activities, overtaken, recorded } = scene
    for (const [first, second] of [
      [{ email: 'first@x' }, { email: 'second@x' }],
      [{ externalId: '1' }, { externalId: '2' }],
      [{ name: 'Ada' }, { name: 'Grace' }],
      [{ name: 'Ada' }, { email: 'second@x' }],
    ] as const) {
      const blank = await recorded(await scene.newTenant())
      equal(await activities.record(fillOf(blank, first, someLog(blank))), 'recorded')
      await overtaken(fillOf(blank, second, someLog(blank)))
    }
  },

  'a name fills a blank, and leaves what identifies the prospect alone': async (scene) => {
    const { activities, keptOf, recall, recorded } = scene
    const nameless = await recorded(await scene.newTenant(), { email: 'ada@example.com', externalId: '1' })
    const { tenantId, prospectId } = nameless
    equal(await activities.record(fillOf(nameless, { name: 'Ada' }, someLog(nameless))), 'recorded')
    same((await keptOf(tenantId)).prospects, [{ ...nameless, name: 'Ada', updatedAt: at(1) }])
    const { identifiers } = await recall({ tenantId, identifiers: identifiersOf(nameless) })
    same(only(identifiers, 'prospectId'), [{ prospectId }, { prospectId }])
  },

  'an email of ten thousand characters is kept, and differs from one with the same beginning': async (
    scene,
  ) => {
    const { keptOf, recall, record } = scene
    const tenantId = await scene.newTenant()
    const emails = ['a', 'b'].map((end) => `${'long.'.repeat(2_000)}${end}@example.com`)
    const prospects = emails.map((email) => someProspect(tenantId, { email }))
    const logs = prospects.map((prospect) => someLog(prospect, { email: prospect.email }))
    equal(await record(prospects, logs), 'recorded')
    same(await keptOf(tenantId), { prospects, logs })
    const known = await recall({ tenantId, identifiers: [emailIdentifier(tenantId, emails[1] ?? '')] })
    same(only(known.prospects, 'prospectId'), only(prospects.slice(1), 'prospectId'))
  },

  'a payload is kept byte for byte': async ({ keptOf, record, recorded, newTenant }) => {
    const prospect = await recorded(await newTenant())
    const logs = PAYLOADS.map((rawJson) => someLog(prospect, { payload: { rawJson } }))
    equal(await record([], logs), 'recorded')
    const added = PAYLOADS.map(() => someProspect(prospect.tenantId))
    const firstLogs = PAYLOADS.map((rawJson, i) =>
      someLog(added[i] as SomeProspect, { payload: { rawJson } }),
    )
    equal(await record(added, firstLogs), 'recorded')
    const { logs: rows } = await keptOf(prospect.tenantId)
    same(
      rows.slice(1).map(({ payload }) => payload.rawJson),
      [...PAYLOADS, ...PAYLOADS],
    )
  },

  'every text field keeps every text unchanged': async ({ keptOf, recall, record, newTenant }) => {
    const tenantId = await newTenant()
    const prospects = AWKWARD_TEXTS.map((text) =>
      someProspect(tenantId, { email: text, externalId: text, name: text }),
    )
    const logs = AWKWARD_TEXTS.map((text, i) =>
      someLog(prospects[i] as SomeProspect, {
        source: text,
        type: text,
        email: text,
        name: text,
        externalId: text,
        ...keyFields(text),
      }),
    )
    equal(await record(prospects, logs), 'recorded')
    same(await keptOf(tenantId), { prospects, logs })
    const lookups = logs.map((log) => ({ tenantId, prospectId: log.prospectId, key: keyOf(log) }))
    const known = await readEach(recall, lookups)
    same(
      known.map(({ receipt }) => [receipt?.source, receipt?.type, receipt?.idempotencyKey]),
      AWKWARD_TEXTS.map((text) => [text, text, text]),
    )
    same(
      known.map(({ prospects: [found] }) => [found?.email, found?.externalId, found?.name]),
      AWKWARD_TEXTS.map((text) => [text, text, text]),
    )
  },

  'the longest source and idempotency key of the widest characters find their receipt': async (scene) => {
    const { recall, record, recorded } = scene
    const prospect = await recorded(await scene.newTenant())
    const source = Array.from({ length: 100 }, (_, i) => String.fromCodePoint(0x1f300 + i)).join('')
    const idempotencyKey = Array.from({ length: 255 }, (_, i) => String.fromCodePoint(0x20000 + i * 7)).join(
      '',
    )
    const log = someLog(prospect, { source, ...keyFields(idempotencyKey) })
    equal(await record([], [log]), 'recorded')
    const { receipt } = await recall({ tenantId: prospect.tenantId, key: logKey(idempotencyKey, { source }) })
    equal(receipt?.prospectLogId, log.prospectLogId)
  },

  'each of two hundred changes at once is recorded': async ({ activities, keptOf, recall, newTenant }) => {
    const tenantId = await newTenant()
    const prospects = Array.from({ length: 200 }, (_, i) =>
      someProspect(tenantId, { email: `p${i}@x`, externalId: `${i}` }),
    )
    const logs = prospects.map((prospect) => someLog(prospect, keyFields(prospect.prospectId)))
    const outcomes = prospects.map((prospect, i) => activities.record(changeOf(prospect, logs[i])))
    same(new Set(await Promise.all(outcomes)), new Set(['recorded']))
    same(await keptOf(tenantId), { prospects, logs })
    const lookups = prospects.map((prospect) => ({ tenantId, identifiers: identifiersOf(prospect) }))
    same(
      (await readEach(recall, lookups)).map(({ identifiers }) => idsOf(identifiers)),
      prospects.map(({ prospectId }) => [prospectId, prospectId]),
    )
  },

  'of many changes at once some are overtaken, and each is saved whole or not at all': async (scene) => {
    const { activities, elsewhere, keptOf } = scene
    const { tenantId, valid, stale } = await mixedChanges(scene)
    const attempts = shuffled([...valid, ...stale], randomBy(SEED)).map((change, i) => ({
      change,
      isValid: valid.includes(change),
      port: i % 3 === 0 ? elsewhere.activities : activities,
      events: i % 7 < 4 ? [someEvent(tenantId)] : [],
    }))
    const before = await keptOf(tenantId)
    const outcomes = await Promise.all(
      attempts.map(({ port, change, events }) => port.record(change, events)),
    )
    same(
      outcomes,
      attempts.map(({ isValid }) => (isValid ? 'recorded' : 'overtaken')),
    )
    await checkProspects(scene, tenantId, before.prospects, valid)
    const logs = valid.flatMap(({ log }) => log ?? [])
    const allLogs = [...before.logs, ...logs]
    same((await keptOf(tenantId)).logs, sortedBy('prospectLogId', allLogs))
    await checkIdentifiers(scene, tenantId, valid, ({ identifiers }) => identifiers.length)
    await checkIdentifiers(scene, tenantId, stale, () => 0)
    const savedEvents = attempts.flatMap(({ isValid, events }) => (isValid ? events : []))
    await checkEvents(scene, tenantId, allLogs, savedEvents)
  },

  'of writers in two processes that add one email at once, exactly one is recorded': async (scene) => {
    for (let round = 0; round < ROUNDS; round++) await raceTo(scene, { email: `${round}@x` })
  },

  'of writers in two processes that add one external id at once, exactly one is recorded': async (scene) => {
    for (let round = 0; round < ROUNDS; round++) await raceTo(scene, { externalId: `${round}` })
  },

  'of writers in two processes that use one key at once, exactly one is recorded': async (scene) => {
    for (let round = 0; round < ROUNDS; round++) await raceTo(scene, { idempotencyKey: 'contended' })
  },

  'of writers in two processes that use one key in three scopes at once, one of each scope is recorded':
    async (scene) => {
      const { activities, elsewhere, keptOf, recorded } = scene
      const ada = await recorded(await scene.newTenant())
      for (let round = 0; round < ROUNDS; round++) {
        const logs = Array.from({ length: 30 }, (_, i) =>
          someLog(ada, { ...keyFields(`${round}`), keyScope: ['', 'a', 'a b'][i % 3] ?? '' }),
        )
        const outcomes = await Promise.all(
          logs.map((log, i) =>
            (i % 2 === 0 ? activities : elsewhere.activities).record(logChangeOf(ada, log)),
          ),
        )
        const stored = logs.filter((_, i) => outcomes[i] === 'recorded')
        same(stored.map(({ keyScope }) => keyScope).toSorted(), ['', 'a', 'a b'])
      }
      equal((await keptOf(ada.tenantId)).logs.length, 1 + 3 * ROUNDS)
    },

  'of a new prospect, a fill and logs under one key at once, exactly one is recorded': async (scene) => {
    const { activities, elsewhere, keptOf, recall, recorded } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = await scene.newTenant()
      const blank = await recorded(tenantId)
      const ada = await recorded(tenantId)
      const added = someProspect(tenantId, { email: 'new@x' })
      const log = (owner: SomeProspect) => someLog(owner, keyFields('one'))
      const changes = [
        changeOf(added, log(added)),
        fillOf(blank, { email: 'fill@x' }, log(blank)),
        logChangeOf(ada, log(ada)),
        logChangeOf(blank, log(blank)),
      ]
      const turns = [...changes.slice(round % 4), ...changes.slice(0, round % 4)]
      const outcomes = await Promise.all(
        turns.map((change, i) => (i % 2 === 0 ? activities : elsewhere.activities).record(change)),
      )
      same(outcomes.toSorted(), ['overtaken', 'overtaken', 'overtaken', 'recorded'])
      const winner = turns[outcomes.indexOf('recorded')] as ActivityChange
      const { logs, prospects } = await keptOf(tenantId)
      same(logs.slice(2), [winner.log])
      equal(prospects.length, winner === changes[0] ? 3 : 2)
      for (const { prospect, identifiers } of changes.slice(0, 2)) {
        const known = await recall({ tenantId, identifiers })
        equal(known.identifiers.length, winner.prospect === prospect ? 1 : 0)
      }
    }
  },

  'of equal keys in two processes at once each is recorded once': async (scene) => {
    const { activities, elsewhere, keptOf, recorded } = scene
    const ada = await recorded(await scene.newTenant())
    const logAll = async (on: Store['activities'], keys: readonly string[]) => {
      const logs = keys.map((key) => someLog(ada, keyFields(key)))
      const outcomes = await Promise.all(logs.map((log) => on.record(logChangeOf(ada, log))))
      return logs.filter((_, i) => outcomes[i] === 'recorded')
    }
    const keys = Array.from({ length: 40 }, (_, i) => `${i}`)
    const here = logAll(activities, keys)
    const there = logAll(elsewhere.activities, keys.toReversed())
    const added = [...(await here), ...(await there)]
    same(added.map(({ idempotencyKey }) => idempotencyKey).toSorted(), keys.toSorted())
    const { logs } = await keptOf(ada.tenantId)
    same(
      new Set(logs.slice(1).map(({ prospectLogId }) => prospectLogId)),
      new Set(added.map(({ prospectLogId }) => prospectLogId)),
    )
  },

  'of two writers that fill one blank with two emails at once, exactly one is recorded': async (scene) => {
    const { activities, elsewhere, keptOf, recall, recorded } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const blank = await recorded(await scene.newTenant())
      const { tenantId } = blank
      const emails = ['one@x', 'two@x']
      const outcomes = await Promise.all(
        emails.map((email, i) =>
          (i === round % 2 ? activities : elsewhere.activities).record(
            fillOf(blank, { email }, someLog(blank)),
          ),
        ),
      )
      same(outcomes.toSorted(), ['overtaken', 'recorded'])
      const { prospects, logs } = await keptOf(tenantId)
      same(only(prospects, 'email'), [{ email: emails[outcomes.indexOf('recorded')] }])
      equal(logs.length, 2)
      const lookups = emails.map((email) => ({ tenantId, identifiers: [emailIdentifier(tenantId, email)] }))
      same(
        (await readEach(recall, lookups)).map(({ identifiers }) => identifiers.length),
        outcomes.map((outcome) => (outcome === 'recorded' ? 1 : 0)),
      )
    }
  },

  'an identifier that is added while its prospect is erased leads to a living prospect or to none': (scene) =>
    raceToFill(scene, (person) => erasedBy(scene.elsewhere, person)),

  'an identifier that is added while its prospect is merged leads to a living prospect or to none': (scene) =>
    raceToFill(scene, (person, survivor) => mergedBy(scene.elsewhere, person, survivor)),

  'of logs that are added while their prospect is erased or merged, none is added later': async (scene) => {
    const { activities, elsewhere, keptOf, overtaken, recorded, store } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = await scene.newTenant()
      const ada = await recorded(tenantId, { email: 'ada@x' })
      const other = await recorded(tenantId)
      const logging = async (on: Store['activities']) => {
        const logs = [someLog(ada), someLog(ada)]
        const outcomes = await Promise.all(logs.map((log) => on.record(logChangeOf(ada, log))))
        return logs.filter((_, i) => outcomes[i] === 'recorded')
      }
      const ending = round % 2 === 0 ? erasedBy(store, ada) : mergedBy(store, ada, other)
      const loggingElsewhere = logging(elsewhere.activities)
      const loggingHere = logging(activities)
      equal(await ending, 'recorded')
      const added = [...(await loggingElsewhere), ...(await loggingHere)]
      await overtaken(logChangeOf(ada, someLog(ada)))
      const { logs } = await keptOf(tenantId)
      same(
        new Set(logs.slice(2).map(({ prospectLogId }) => prospectLogId)),
        new Set(added.map(({ prospectLogId }) => prospectLogId)),
      )
    }
  },

  'a caller that changes what was recalled changes nothing in the store': async (scene) => {
    const { activities, block, keptOf, recall, record, recorded } = scene
    const prospect = await recorded(await scene.newTenant(), { email: 'ada@example.com', name: 'Ada' })
    const { tenantId, prospectId } = prospect
    const log = someLog(prospect, keyFields('one'))
    await record([], [log])
    const gone = externalIdentifier(tenantId, 'gone')
    await block(gone)
    const before = await keptOf(tenantId)
    const identifiers = [emailIdentifier(tenantId, 'ada@example.com'), gone]
    const lookup = { tenantId, prospectId, identifiers, key: logKey('one', log) }
    const expected = await recall(lookup)
    scribbleOn(await activities.recall(lookup))
    same(await recall(lookup), expected)
    same(await keptOf(tenantId), before)
  },

  'a caller that changes what it recorded changes nothing in the store': async (scene) => {
    const { activities, keptOf, recall } = scene
    const prospect = someProspect(await scene.newTenant(), { email: 'ada@example.com' })
    const { tenantId } = prospect
    const filled = { ...prospect, name: 'Ada', externalId: '1', updatedAt: at(1) }
    const changes = [
      changeOf(prospect, someLog(prospect, keyFields('one'))),
      fillOf(prospect, { name: 'Ada', externalId: '1' }, someLog(prospect, keyFields('two'))),
      logChangeOf(filled, someLog(prospect)),
    ]
    const copies = structuredClone(changes)
    for (const change of changes) {
      equal(await activities.record(change), 'recorded')
      scribbleOn(change)
    }
    const logs = copies.map(({ log }) => log)
    same(await keptOf(tenantId), { prospects: [filled], logs })
    const known = await recall({ tenantId, identifiers: identifiersOf(filled) })
    same(idsOf(known.identifiers), [filled.prospectId, filled.prospectId])
  },
})

const testAssumptions = async (scene: Scene, kind: IdentifierKind): Promise<void> => {
  const { activities, block, erase, merge, overtaken, recorded, release } = scene
  const tenantId = await scene.newTenant()
  const identifierOf = kind === 'email' ? emailIdentifier : externalIdentifier
  const identifier = identifierOf(tenantId, 'ada@x')
  const fields = { [kind]: 'ada@x' }
  const recordAssuming = async (prospectId: string | null) => {
    for (const change of await changesAssuming(scene, assumedTo(identifier, prospectId)))
      equal(await activities.record(change), 'recorded')
  }
  const overtakenAssuming = async (prospectId: string | null, assumed = identifier) =>
    overtaken(...(await changesAssuming(scene, assumedTo(assumed, prospectId))))

  const bystander = await recorded(tenantId, { name: 'Bystander' })
  await recordAssuming(null)
  await overtakenAssuming(bystander.prospectId)

  const first = await recorded(tenantId, fields)
  await recordAssuming(first.prospectId)
  await overtakenAssuming(null)
  await overtakenAssuming(bystander.prospectId)

  await release(first)
  await overtakenAssuming(first.prospectId)
  await recordAssuming(null)

  const second = await recorded(tenantId, fields)
  const survivor = await recorded(tenantId)
  await merge(second, survivor)
  await overtakenAssuming(second.prospectId)
  await recordAssuming(survivor.prospectId)

  await erase({ ...survivor, updatedAt: at(1) })
  await overtakenAssuming(null)
  await overtakenAssuming(survivor.prospectId)

  const blocked = identifierOf(tenantId, 'gone@x')
  await block(blocked)
  await overtakenAssuming(null, blocked)
  await overtakenAssuming(bystander.prospectId, blocked)
}

/** A new prospect, a log and a fill, each with an identifier of the other kind, under this assumption. */
const changesAssuming = async ({ recorded }: Scene, assumption: AssumedIdentifier) => {
  const { tenantId, kind } = assumption
  const isByEmail = kind === 'email'
  const newFields = () => ({ [isByEmail ? 'externalId' : 'email']: newId('prospect') })
  const unknown = (isByEmail ? externalIdentifier : emailIdentifier)(tenantId, 'unknown@x')
  const added = someProspect(tenantId, newFields())
  const logging = await recorded(tenantId)
  const filled = await recorded(tenantId)
  const changes = [
    changeOf(added, someLog(added, keyFields(newId('prospectlog')))),
    logChangeOf(logging, someLog(logging, keyFields(newId('prospectlog'))), {
      assumed: [assumedTo(unknown, null)],
    }),
    fillOf(filled, newFields(), someLog(filled)),
  ]
  return changes.map((change) => ({ ...change, assumed: [...change.assumed, assumption] }))
}

/** Changes of one tenant: those that a store records, and those that contradict what it has stored. */
const mixedChanges = async (scene: Scene) => {
  const { erase, merge, record, recorded } = scene
  const tenantId = await scene.newTenant()
  const living = await recorded(tenantId, { email: 'taken@x' })
  const takenKey = keyFields('taken')
  equal(await record([], [someLog(living, takenKey)]), 'recorded')
  const merged = await recorded(tenantId)
  const erased = await recorded(tenantId)
  await merge(merged, await recorded(tenantId))
  await erase(erased)

  const newText = () => newId('prospect')
  const newKey = () => keyFields(newText())
  const newFields = () => ({ email: `${newText()}@x`, externalId: newText() })
  const added = (fields: Partial<SomeProspect> = {}, key = newKey()) => {
    const prospect = someProspect(tenantId, { ...newFields(), ...fields })
    return changeOf(prospect, someLog(prospect, { createdProspect: true, ...key }))
  }
  const filled = (blank: SomeProspect, fields: Partial<SomeProspect> = {}) =>
    fillOf(blank, { ...newFields(), ...fields }, someLog(blank, newKey()))
  const logged = (prospect: SomeProspect, key: Partial<NewLog> = newKey()) =>
    logChangeOf(prospect, someLog(prospect, key))
  const assumingUnknown = (email: string) => ({
    ...logged(living),
    assumed: [assumedTo(emailIdentifier(tenantId, email), null)],
  })

  const valid: ActivityChange[] = []
  const stale: ActivityChange[] = []
  for (let round = 0; round < 10; round++) {
    valid.push(
      added(),
      { ...added(), log: null },
      filled(await recorded(tenantId)),
      logged(living, {}),
      logged(living),
      assumingUnknown('nobody@x'),
    )
    const blank = await recorded(tenantId)
    stale.push(
      added({ email: 'taken@x' }),
      added({}, takenKey),
      filled(blank, { email: 'taken@x' }),
      logged(merged),
      logged(living, takenKey),
      assumingUnknown('taken@x'),
      filled({ ...blank, updatedAt: at(-1) }),
      filled({ ...erased, updatedAt: at(1) }),
    )
  }
  return { tenantId, valid, stale }
}

/** Checks that the changed prospects are stored as changed, and the others unchanged. */
const checkProspects = async (
  { keptOf }: Scene,
  tenantId: string,
  before: readonly SomeProspect[],
  changes: readonly ActivityChange[],
): Promise<void> => {
  const fields = ['prospectId', 'email', 'externalId', 'name', 'updatedAt'] as const
  const expected = new Map(before.map((prospect) => [prospect.prospectId, only([prospect], ...fields)]))
  for (const { prospect } of changes) expected.set(prospect.prospectId, only([prospect], ...fields))
  same(
    only((await keptOf(tenantId)).prospects, ...fields),
    sortedBy('prospectId', [...expected.values()].flat()),
  )
}

/** Checks how many identifiers of each change lead to its prospect. */
const checkIdentifiers = async (
  { recall }: Scene,
  tenantId: string,
  changes: readonly ActivityChange[],
  countOf: (change: ActivityChange) => number,
): Promise<void> => {
  for (const change of changes) {
    const { identifiers, log, prospect } = change
    const known = await recall({ tenantId, identifiers, key: keyOf(log) })
    const leading = known.identifiers.filter(({ prospectId }) => prospectId === prospect.prospectId)
    equal(leading.length, countOf(change))
  }
}

/** Checks that the events of these logs are stored, and these other events. */
const checkEvents = async (
  { eventsOf }: Scene,
  tenantId: string,
  logs: readonly NewLog[],
  events: readonly NewEvent[],
): Promise<void> => {
  const found: unknown[] = []
  for (const { type, ids, eventId } of await eventsOf(tenantId)) {
    if (type === 'prospect_log.created') found.push(ids.prospectLogId)
    else if (type !== 'prospect.created') found.push(eventId)
  }
  const expected = [
    ...logs.map(({ prospectLogId }) => prospectLogId),
    ...events.map(({ eventId }) => eventId),
  ]
  same(found.toSorted(), expected.toSorted())
}

type Contended = { readonly email?: string; readonly externalId?: string; readonly idempotencyKey?: string }

/** Eight writers in two processes add a prospect each, all with the contended identifier or idempotency key. */
const raceTo = async (scene: Scene, { idempotencyKey, ...identifier }: Contended): Promise<void> => {
  const { activities, elsewhere, eventsOf, keptOf, recall } = scene
  const tenantId = await scene.newTenant()
  const newText = () => newId('prospect')
  const changes = Array.from({ length: 8 }, (_, i) => {
    const prospect = someProspect(tenantId, {
      email: `${newText()}@x`,
      externalId: newText(),
      ...identifier,
    })
    const rawJson = JSON.stringify({ a: 'x'.repeat(i % 4 < 2 ? 1 : 70_000) })
    const key = keyFields(idempotencyKey ?? newText())
    return changeOf(prospect, someLog(prospect, { ...key, payload: { rawJson } }))
  })
  const outcomes = await Promise.all(
    changes.map((change, i) => {
      const port = i % 2 === 0 ? activities : elsewhere.activities
      return port.record(change, [someEvent(tenantId)])
    }),
  )
  equal(outcomes.filter((outcome) => outcome === 'recorded').length, 1)
  equal(outcomes.filter((outcome) => outcome === 'overtaken').length, 7)
  const winner = changes[outcomes.indexOf('recorded')] as ActivityChange
  const { prospects, logs } = await keptOf(tenantId)
  same(only(prospects, 'prospectId'), only([winner.prospect], 'prospectId'))
  same(logs, [winner.log])
  equal((await eventsOf(tenantId)).length, 2)
  await checkIdentifiers(scene, tenantId, changes, (change) => (change === winner ? 2 : 0))
  if (idempotencyKey === undefined)
    for (const change of changes) {
      const { receipt } = await recall({ tenantId, key: keyOf(change.log) })
      equal(receipt?.prospectLogId, change === winner ? change.log?.prospectLogId : undefined)
    }
  const late = someProspect(tenantId, identifier)
  const lateKey = idempotencyKey === undefined ? {} : keyFields(idempotencyKey)
  equal(await activities.record(changeOf(late, someLog(late, lateKey))), 'overtaken')
}

/** Fills a prospect while another process erases or merges it. Whichever is slower finds the prospect changed. */
const raceToFill = async (
  { activities, keptOf, newTenant, recall, recorded }: Scene,
  end: (person: SomeProspect, survivor: SomeProspect) => Promise<Recorded>,
): Promise<void> => {
  for (let round = 0; round < ROUNDS; round++) {
    const tenantId = await newTenant()
    const person = await recorded(tenantId)
    const survivor = await recorded(tenantId)
    const fill = fillOf(person, { email: 'ada@x', externalId: '1' }, someLog(person))
    const endingFirst = round % 2 === 0 ? undefined : end(person, survivor)
    const filling = activities.record(fill)
    const ending = endingFirst ?? end(person, survivor)
    const isFilled = (await filling) === 'recorded'
    equal(await ending, isFilled ? 'overtaken' : 'recorded')
    const { identifiers } = await recall({ tenantId, identifiers: fill.identifiers })
    same(
      new Set(identifiers.map(({ prospectId }) => prospectId)),
      new Set(isFilled ? [person.prospectId] : []),
    )
    const { logs } = await keptOf(tenantId)
    equal(logs.length, isFilled ? 3 : 2)
  }
}

/** Changes to a prospect that exists: a log, one that also says where an identifier leads, and fills. */
const changesTo = (prospect: SomeProspect): ActivityChange[] => {
  const { tenantId } = prospect
  const log = () => someLog(prospect, keyFields(newId('prospectlog')))
  const toNone = assumedTo(emailIdentifier(tenantId, 'nobody@x'), null)
  return [
    logChangeOf(prospect, log()),
    logChangeOf(prospect, log(), { assumed: [toNone] }),
    fillOf(prospect, { email: `${newId('prospect')}@x` }, log()),
    fillOf(prospect, { name: 'Late' }, log()),
    fillOf(prospect, { email: `${newId('prospect')}@x`, name: 'Late' }),
  ]
}

/** Erases a prospect that no other process has changed. */
const erasedBy = (store: Store, prospect: SomeProspect) => {
  const { tenantId, prospectId } = prospect
  const erasures = [someErasure(tenantId, { prospectId })]
  const prospects = [foundProspect(prospect)]
  return store.erasures.record({ tenantId, now: at(1), until: UNTIL, prospects, identifier: null, erasures })
}

/** Merges one prospect into another, which keeps its fields. */
const mergedBy = (store: Store, merged: SomeProspect, survivor: SomeProspect) => {
  const { tenantId, prospectId } = merged
  const intoId = survivor.prospectId
  const mergedBefore = foundProspect(merged)
  const survivorBefore = foundProspect(survivor)
  return store.merges.record({
    merge: { tenantId, mergeId: newId('merge'), prospectId, intoId, requestedAt: at(1) },
    merged: {
      before: mergedBefore,
      after: { ...mergedBefore, name: null, mergedInto: intoId, updatedAt: at(1) },
    },
    survivor: { before: survivorBefore, after: { ...survivorBefore, updatedAt: at(1) } },
  })
}

const NOTHING = { prospects: [], identifiers: [], receipt: null, countedId: null }
const PROSPECT_FIELDS = [
  'tenantId',
  'prospectId',
  'email',
  'externalId',
  'name',
  'erasedAt',
  'mergedInto',
] as const
const IDENTIFIER_FIELDS = ['tenantId', 'kind', 'hash', 'prospectId', 'blockedUntil', 'erasureId'] as const
const RECEIPT_FIELDS = [
  'tenantId',
  'source',
  'idempotencyKey',
  'requestHash',
  'prospectId',
  'prospectLogId',
  'type',
  'createdProspect',
  'createdAt',
] as const

const keyOf = (log: NewLog | null): ActivityLookup['key'] =>
  log?.idempotencyKey == null ? undefined : logKey(log.idempotencyKey, log)

const idsOf = (rows: readonly { readonly prospectId: string | null }[]) =>
  rows.map(({ prospectId }) => prospectId).toSorted()

/** A prospect that was wanted in two ways may come twice. */
const withoutTwins = <Row>(rows: readonly Row[]): Row[] => [
  ...new Map(rows.map((row) => [JSON.stringify(row), row])).values(),
]

const sortedBy = <Name extends string, Row extends Readonly<Record<Name, string>>>(
  name: Name,
  rows: readonly Row[],
): Row[] => rows.toSorted((a, b) => (a[name] < b[name] ? -1 : 1))
