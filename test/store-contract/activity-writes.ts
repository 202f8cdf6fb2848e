import type { ActivityChange, NewEvent, NewLog, Store } from 'prospect-pages/store'
import { PAYLOADS } from './activity-payloads.ts'
import {
  type ActivityScene,
  activitySetting,
  changesTo,
  checkIdentifiers,
  erasedBy,
  idsOf,
  LONG_AGO,
  mergedBy,
  NOTHING,
  ROUNDS,
} from './activity-scene.ts'
import { equal, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import { randomBy, shuffled } from './random.ts'
import {
  addTenant,
  assumedTo,
  at,
  changeOf,
  emailIdentifier,
  fillOf,
  identifiersOf,
  keyFields,
  logChangeOf,
  newId,
  only,
  readEach,
  type SomeProspect,
  scribbleOn,
  someEvent,
  someLog,
  someProspect,
} from './rows.ts'

const SEED = 20_260_101
const LOG_FIELDS = ['payload', 'email', 'name', 'externalId', 'occurredAt', 'idempotencyKey'] as const

export const activityWrites = section('activities', activitySetting, {
  'a prospect is not added for a tenant that is deleted or missing': async ({
    expectOvertaken,
    addProspect,
    store,
    newTenant,
  }) => {
    const deleted = await newTenant()
    await addProspect(deleted)
    await store.tenants.setState(deleted, { suspendedAt: at(1), deletedAt: at(1) })
    for (const tenantId of [deleted, newId('tenant')]) {
      const late = someProspect(tenantId, { email: 'late@x' })
      await expectOvertaken(changeOf(late, someLog(late, { createdProspect: true })), changeOf(late))
    }
  },

  'a prospect is not added under an id that exists': async ({ expectOvertaken, addProspect, newTenant }) => {
    const ada = await addProspect(await newTenant(), { name: 'Ada' })
    const twin = { ...ada, email: 'twin@x' }
    await expectOvertaken(changeOf(twin, someLog(twin, keyFields('one'))))
  },

  'another tenant that records under our ids changes nothing of ours': async (scene) => {
    const { keptOf, expectOvertaken, recall, record, addProspect } = scene
    const ours = await addProspect(await scene.newTenant())
    const { tenantId } = ours
    const before = await keptOf(tenantId)
    const theirs = {
      ...ours,
      tenantId: await scene.newTenant(),
      email: 'theirs@example.com',
      name: 'Theirs',
    }
    await expectOvertaken(...changesTo({ ...theirs, email: null }))
    equal(await record([theirs], [someLog(theirs)]), 'recorded')
    same(await keptOf(tenantId), before)
    const identifiers = [emailIdentifier(tenantId, 'theirs@example.com')]
    same(await recall({ tenantId, identifiers }), NOTHING)
  },

  'a batch of a tenant without events stores each log whose prospect is as it was recalled': async (
    scene,
  ) => {
    const { store, activities, addProspect, erase, merge, keptOf } = scene
    if (activities.recordEach === undefined) return
    const { tenantId } = await addTenant(store)
    const recall = async ({ prospectId }: SomeProspect) => {
      const { prospects } = await activities.recall({ tenantId, prospectId, identifiers: [] })
      return prospects[0] as (typeof prospects)[number]
    }
    const newPerson = () => addProspect(tenantId)
    const [ada, bob, filled] = [await newPerson(), await newPerson(), await newPerson()]
    const [erased, merged, survivor] = [await newPerson(), await newPerson(), await newPerson()]
    const logOf = async (person: SomeProspect, fields: Partial<NewLog> = {}) => {
      const prospect = await recall(person)
      return logChangeOf(person, someLog(person, fields), { prospect, unchangedSince: prospect.updatedAt })
    }
    const stale = [await logOf(filled), await logOf(erased), await logOf(merged), await logOf(survivor)]
    equal(await activities.record(fillOf(filled, { name: 'Filled' })), 'recorded')
    await erase(erased)
    await merge(merged, survivor)
    const taken = someLog(ada, keyFields('taken'))
    equal(await activities.record(logChangeOf(ada, taken)), 'recorded')
    const exact = await Promise.all(PAYLOADS.map((rawJson) => logOf(ada, { payload: { rawJson } })))
    const unrecalled = logChangeOf(
      bob,
      someLog(bob, { occurredAt: at(-5), externalId: 'an "id"', name: null }),
    )
    const free = await logOf(bob, keyFields('free'))
    const late = await logOf(bob, keyFields('taken'))
    const changes = [...stale, ...exact, unrecalled, free, late]
    const outcomes = await activities.recordEach(changes.map((change) => ({ change, events: [] })))
    const isOvertaken = (change: ActivityChange) => change === late || stale.includes(change)
    same(
      outcomes,
      changes.map((change) => (isOvertaken(change) ? 'overtaken' : 'recorded')),
    )
    const { logs } = await keptOf(tenantId)
    const keptBy = new Map(logs.map((log) => [log.prospectLogId, log]))
    for (const [i, { log }] of changes.entries()) {
      const kept = keptBy.get(log?.prospectLogId ?? '')
      if (outcomes[i] === 'overtaken') equal(kept, undefined)
      else same(only([kept as NewLog], ...LOG_FIELDS), only([log as NewLog], ...LOG_FIELDS))
    }
    same(await activities.recordEach([{ change: await logOf(filled), events: [] }]), ['recorded'])
  },

  'changes saved together are saved whole or not at all, each by itself, with their events': async (
    scene,
  ) => {
    const { activities, addProspect, keptOf, eventsOf } = scene
    if (activities.recordEach === undefined) return
    const tenantId = await scene.newTenant()
    const otherId = await scene.newTenant()
    const [ada, bob, eve] = [
      await addProspect(tenantId),
      await addProspect(tenantId),
      await addProspect(tenantId),
    ]
    const cleo = await addProspect(otherId)
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

  'a log at or before the id up to which its tenant is closed is overtaken, and leaves nothing': async (
    scene,
  ) => {
    const { activities, expectOvertaken, record, addProspect, store } = scene
    const tenantId = await scene.newTenant()
    await store.counts.markRead(tenantId, at(0))
    const prospect = await addProspect(tenantId)
    const early = newId('prospectlog')
    const last = newId('prospectlog')
    ok(await store.counts.close(tenantId, last, LONG_AGO))
    for (const prospectLogId of [early, last]) {
      const added = someProspect(tenantId, { email: 'ada@x' })
      const logging = [changeOf(added, someLog(added)), ...changesTo(prospect)]
      await expectOvertaken(
        ...logging.flatMap((change) =>
          change.log === null ? [] : { ...change, log: { ...change.log, prospectLogId } },
        ),
      )
    }
    for (const change of changesTo(prospect).slice(0, 3)) equal(await activities.record(change), 'recorded')
    // Other tenants are not closed.
    const other = await addProspect(await scene.newTenant())
    equal(await record([], [someLog(other, { prospectLogId: early })]), 'recorded')
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

  'of logs that are added while their prospect is erased or merged, none is added later': async (scene) => {
    const { activities, elsewhere, keptOf, expectOvertaken, addProspect, store } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = await scene.newTenant()
      const ada = await addProspect(tenantId, { email: 'ada@x' })
      const other = await addProspect(tenantId)
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
      await expectOvertaken(logChangeOf(ada, someLog(ada)))
      const { logs } = await keptOf(tenantId)
      same(
        new Set(logs.slice(2).map(({ prospectLogId }) => prospectLogId)),
        new Set(added.map(({ prospectLogId }) => prospectLogId)),
      )
    }
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

/** Changes of one tenant: those that a store records, and those that contradict what it has stored. */
const mixedChanges = async (scene: ActivityScene) => {
  const { erase, merge, record, addProspect } = scene
  const tenantId = await scene.newTenant()
  const living = await addProspect(tenantId, { email: 'taken@x' })
  const takenKey = keyFields('taken')
  equal(await record([], [someLog(living, takenKey)]), 'recorded')
  const merged = await addProspect(tenantId)
  const erased = await addProspect(tenantId)
  await merge(merged, await addProspect(tenantId))
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
      filled(await addProspect(tenantId)),
      logged(living, {}),
      logged(living),
      assumingUnknown('nobody@x'),
    )
    const blank = await addProspect(tenantId)
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
  { keptOf }: ActivityScene,
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

/** Checks that the events of these logs are stored, and these other events. */
const checkEvents = async (
  { eventsOf }: ActivityScene,
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

const sortedBy = <Name extends string, Row extends Readonly<Record<Name, string>>>(
  name: Name,
  rows: readonly Row[],
): Row[] => rows.toSorted((a, b) => (a[name] < b[name] ? -1 : 1))
