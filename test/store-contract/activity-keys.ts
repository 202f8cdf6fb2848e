import type { ActivityChange, Store } from 'prospect-pages/store'
import { activitySetting, keyOf, NOTHING, RECEIPT_FIELDS, ROUNDS, raceTo } from './activity-scene.ts'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  assumedTo,
  at,
  changeOf,
  emailIdentifier,
  fillOf,
  keyFields,
  logChangeOf,
  logKey,
  only,
  type SomeProspect,
  someLog,
  someProspect,
} from './rows.ts'

export const activityKeys = section('activities', activitySetting, {
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

  'an idempotency key belongs to its source and its tenant': async ({
    recall,
    record,
    addProspect,
    newTenant,
  }) => {
    const ours = await addProspect(await newTenant())
    const theirs = await addProspect(await newTenant())
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
    const { activities, recall, addProspect } = scene
    const tenantId = await scene.newTenant()
    const scoped = (keyScope: string) => ({ ...keyFields('one'), keyScope })
    const first = await addProspect(tenantId)
    equal(await activities.record(logChangeOf(first, someLog(first, scoped('')))), 'recorded')
    for (const keyScope of ['a', 'a b', 'b']) {
      const stranger = someProspect(tenantId, { email: `${keyScope}@x` })
      const blank = await addProspect(tenantId)
      const changes = [
        changeOf(stranger, someLog(stranger, scoped(`${keyScope} added`))),
        fillOf(blank, { email: `fill-${keyScope}@x` }, someLog(blank, scoped(`${keyScope} filled`))),
        logChangeOf(first, someLog(first, scoped(`${keyScope} plain`))),
      ]
      for (const change of changes) {
        equal(await activities.record(change), 'recorded')
        const { receipt } = await recall({ tenantId, key: keyOf(change.log) })
        equal(receipt?.prospectLogId, change.log?.prospectLogId)
        const twin = await addProspect(tenantId)
        const taken = someLog(twin, scoped(change.log?.keyScope ?? ''))
        equal(await activities.record(logChangeOf(twin, taken)), 'overtaken')
        equal(await activities.record(fillOf(twin, { email: `twin-${keyScope}@x` }, taken)), 'overtaken')
      }
    }
    same(await recall({ tenantId, key: logKey('one', { keyScope: 'c' }) }), NOTHING)
    same(await recall({ tenantId, key: logKey('two', { keyScope: 'a added' }) }), NOTHING)
  },

  'of several logs under one key, the one with the last scope that was asked for has it': async (scene) => {
    const { record, recall, addProspect } = scene
    const ada = await addProspect(await scene.newTenant())
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

  'logs without an idempotency key never conflict': async ({ keptOf, record, addProspect, newTenant }) => {
    const prospect = await addProspect(await newTenant())
    equal(await record([], [someLog(prospect), someLog(prospect), someLog(prospect)]), 'recorded')
    equal((await keptOf(prospect.tenantId)).logs.length, 4)
  },

  'a change whose idempotency key is taken is overtaken, and leaves nothing': async (scene) => {
    const { expectOvertaken, record, addProspect } = scene
    const prospect = await addProspect(await scene.newTenant(), { name: null })
    const { tenantId } = prospect
    const taken = keyFields('taken')
    await record([], [someLog(prospect, taken)])
    const other = someProspect(tenantId, { email: 'new@example.com' })
    const toNone = assumedTo(emailIdentifier(tenantId, 'nobody@x'), null)
    await expectOvertaken(
      changeOf(other, someLog(other, taken)),
      fillOf(prospect, { name: 'Ada', email: 'ada@x' }, someLog(prospect, taken)),
      logChangeOf(prospect, someLog(prospect, taken)),
      logChangeOf(prospect, someLog(prospect, taken), { assumed: [toNone] }),
    )
  },

  'the longest source and idempotency key of the widest characters find their receipt': async (scene) => {
    const { recall, record, addProspect } = scene
    const prospect = await addProspect(await scene.newTenant())
    const source = Array.from({ length: 100 }, (_, i) => String.fromCodePoint(0x1f300 + i)).join('')
    const idempotencyKey = Array.from({ length: 255 }, (_, i) => String.fromCodePoint(0x20000 + i * 7)).join(
      '',
    )
    const log = someLog(prospect, { source, ...keyFields(idempotencyKey) })
    equal(await record([], [log]), 'recorded')
    const { receipt } = await recall({ tenantId: prospect.tenantId, key: logKey(idempotencyKey, { source }) })
    equal(receipt?.prospectLogId, log.prospectLogId)
  },

  'of writers in two processes that use one key at once, exactly one is recorded': async (scene) => {
    for (let round = 0; round < ROUNDS; round++) await raceTo(scene, { idempotencyKey: 'contended' })
  },

  'of writers in two processes that use one key in three scopes at once, one of each scope is recorded':
    async (scene) => {
      const { activities, elsewhere, keptOf, addProspect } = scene
      const ada = await addProspect(await scene.newTenant())
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
    const { activities, elsewhere, keptOf, recall, addProspect } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = await scene.newTenant()
      const blank = await addProspect(tenantId)
      const ada = await addProspect(tenantId)
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
    const { activities, elsewhere, keptOf, addProspect } = scene
    const ada = await addProspect(await scene.newTenant())
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
})
