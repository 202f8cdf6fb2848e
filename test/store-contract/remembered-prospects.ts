import type { Store } from 'prospect-pages/store'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import { at, foundProspect, identifiersOf, newId, type SomeProspect, someErasure } from './rows.ts'
import { stoppedClock } from './setting.ts'

const DAY_MS = 86_400_000

export const rememberedProspects = section(
  'remembered prospects',
  async ({ core, store, another, kept }) => {
    const elsewhere = await another()
    /** A process that remembers: it logs, and counts its look-ups. */
    const processOn = (on: Store, entriesMax = 1_000) => {
      const lookUps = { count: 0 }
      const recall: Store['activities']['recall'] = (want) => {
        lookUps.count++
        return on.activities.recall(want)
      }
      const activities = core.remembering({ ...on.activities, recall }, entriesMax)
      const clock = stoppedClock()
      const world = { store: { activities }, clock, newId: core.createNewId() }
      const logAny = core.logProspectActivity(world)
      const logBatch = core.logProspectActivities({ ...world, logProspectActivity: logAny })
      return {
        lookUps,
        clock,
        logAll: (inputs: readonly NewActivity[]) => logBatch({ inputs, prepare: (activity) => activity }),
        log: async (activity: NewActivity) => {
          const { value: receipt, replayed } = await logAny(activity)
          return { ...receipt, replayed }
        },
        /** The kind of the refusal. */
        refused: (activity: NewActivity) =>
          logAny(activity).then(
            () => 'not refused',
            ({ kind }) => kind,
          ),
      }
    }
    const prospectsOf = async (tenantId: string) =>
      (await kept()).prospects.filter((prospect) => prospect.tenantId === tenantId)
    const logsOf = async (tenantId: string) => (await kept()).logs.filter((log) => log.tenantId === tenantId)
    const until = at(1e9)
    const erase = async (prospect: SomeProspect) => {
      const { tenantId, prospectId } = prospect
      const erasures = [someErasure(tenantId, { prospectId })]
      const prospects = [foundProspect(prospect)]
      const changes = { tenantId, now: at(1), until, prospects, identifier: null, erasures }
      equal(await store.erasures.record(changes), 'recorded')
    }
    const merge = async (one: SomeProspect, into: SomeProspect) => {
      const { tenantId, prospectId } = one
      const before = foundProspect(one)
      const survivor = foundProspect(into)
      const ids = { tenantId, mergeId: newId('merge'), prospectId, intoId: into.prospectId }
      const changes = {
        merge: { ...ids, requestedAt: at(1) },
        merged: { before, after: { ...before, name: null, mergedInto: into.prospectId, updatedAt: at(1) } },
        survivor: { before: survivor, after: { ...survivor, updatedAt: at(1) } },
      }
      equal(await store.merges.record(changes), 'recorded')
    }
    /** Corrects a prospect: it gives up its email, external id and name. */
    const clear = async (prospect: SomeProspect) => {
      const before = foundProspect(prospect)
      const after = { ...before, email: null, externalId: null, name: null, updatedAt: at(1) }
      const released = identifiersOf(prospect)
      equal(await store.prospects.correct({ before, after, added: [], released, forgotten: [] }), 'recorded')
    }
    return { elsewhere, processOn, prospectsOf, logsOf, erase, merge, clear }
  },
  {
    'a prospect that another process created is found, then remembered': async (scene) => {
      const tenantId = await scene.newTenant()
      const here = scene.processOn(scene.store)
      const there = scene.processOn(scene.elsewhere)
      const { prospectId } = await there.log(activityOf(tenantId))
      for (let i = 0; i < 3; i++)
        like(await here.log(activityOf(tenantId)), { prospectId, createdProspect: false })
      equal(here.lookUps.count, 1)
    },

    'what is remembered of a person stays so for ever, and is checked by the store': async (scene) => {
      const { clear, erase, merge, processOn, prospectsOf, elsewhere, store } = scene
      const tenantId = await scene.newTenant()
      const here = processOn(store)
      const log = (email: string) => here.log(activityOf(tenantId, { email }))
      const firsts: string[] = []
      for (const email of ['a@x', 'b@x', 'c@x', 'd@x']) firsts.push((await log(email)).prospectId)
      const [cleared, merged, erased, survivor] = (await prospectsOf(tenantId)) as [
        SomeProspect,
        SomeProspect,
        SomeProspect,
        SomeProspect,
      ]
      await clear(cleared)
      await merge(merged, survivor)
      await erase(erased)
      equal(here.lookUps.count, 4)
      // It belongs to no one now.
      like(await log('a@x'), { createdProspect: true })
      like(await log('b@x'), { prospectId: firsts[3], createdProspect: false })
      for (const process of [here, here, processOn(elsewhere)])
        equal(await process.refused(activityOf(tenantId, { email: 'c@x' })), 'prospect_erased')
      like(await log('d@x'), { prospectId: firsts[3], createdProspect: false })
      equal(here.lookUps.count, 9)
      // The survivor is remembered by both emails; who is erased is looked up each time.
      for (const email of ['a@x', 'b@x', 'd@x']) await log(email)
      equal(here.lookUps.count, 9)
      equal(await here.refused(activityOf(tenantId, { email: 'c@x' })), 'prospect_erased')
      equal(here.lookUps.count, 10)
    },

    'an identifier that led to no one is checked until it is known, and its blank is filled': async (
      scene,
    ) => {
      const { processOn, clear, prospectsOf, store } = scene
      const tenantId = await scene.newTenant()
      const here = processOn(store)
      const both = { email: 'ada@x', externalId: '1' }
      const log = (fields: object) => here.log(activityOf(tenantId, { email: undefined, ...fields }))
      const { prospectId } = await log({ externalId: '1', email: 'first@x' })
      // The prospect has another email, so this one leads to no one.
      for (let i = 0; i < 2; i++) like(await log(both), { prospectId })
      const [ada] = (await prospectsOf(tenantId)) as [SomeProspect]
      const before = foundProspect(ada)
      const after = { ...before, email: null, updatedAt: at(9) }
      const released = identifiersOf({ ...ada, externalId: null })
      equal(await store.prospects.correct({ before, after, added: [], released, forgotten: [] }), 'recorded')
      like(await log(both), { prospectId })
      like(await prospectsOf(tenantId), [{ email: 'ada@x', externalId: '1' }])
      const [now] = (await prospectsOf(tenantId)) as [SomeProspect]
      await clear(now)
      for (let i = 0; i < 2; i++) like(await log(both), { createdProspect: i === 0 })
    },

    'a blank that another process filled stays as it was filled': async (scene) => {
      const tenantId = await scene.newTenant()
      const here = scene.processOn(scene.store)
      const there = scene.processOn(scene.elsewhere)
      await here.log(activityOf(tenantId))
      await there.log(activityOf(tenantId, { name: 'Ada' }))
      await here.log(activityOf(tenantId, { name: 'Grace' }))
      like(await scene.prospectsOf(tenantId), [{ name: 'Ada' }])
    },

    'a remembered blank is filled': async ({ processOn, prospectsOf, store, newTenant }) => {
      const tenantId = await newTenant()
      const { log, lookUps } = processOn(store)
      for (const name of [undefined, undefined, 'Ada', 'Grace']) await log(activityOf(tenantId, { name }))
      like(await prospectsOf(tenantId), [{ name: 'Ada' }])
      equal(lookUps.count, 1)
    },

    'an email that matches nobody has a new prospect each time': async ({ processOn, store, newTenant }) => {
      const tenantId = await newTenant()
      const { log } = processOn(store)
      for (const email of ['n/a', 'n/a', undefined, undefined, ' ', ' '])
        like(await log(activityOf(tenantId, { email })), { createdProspect: true })
    },

    'replays and reused keys are decided alike for remembered and evicted prospects': async (scene) => {
      const { processOn, store } = scene
      for (const entriesMax of [1_000, 1, 0]) {
        const tenantId = await scene.newTenant()
        const { log, logAll } = processOn(store, entriesMax)
        await log(activityOf(tenantId))
        const first = await log(activityOf(tenantId, { idempotencyKey: 'key' }))
        await log(activityOf(tenantId, { email: 'grace@example.com' }))
        const again = await logAll([
          activityOf(tenantId, { idempotencyKey: 'key' }),
          activityOf(tenantId),
          activityOf(tenantId, { idempotencyKey: 'new' }),
        ])
        like(again, [
          { value: { prospectLogId: first.prospectLogId }, replayed: true },
          { value: { prospectId: first.prospectId }, replayed: false },
          { value: { prospectId: first.prospectId }, replayed: false },
        ])
        const [reused] = await logAll([activityOf(tenantId, { idempotencyKey: 'key', type: 'other' })])
        like(reused, { kind: 'idempotency_key_reused', facts: { prospectLogId: first.prospectLogId } })
      }
    },

    'a key that another log took over is known, even if the first log under it is gone': async (scene) => {
      const { processOn, store } = scene
      const tenantId = await scene.newTenant()
      const { log, clock } = processOn(store)
      const delivered = activityOf(tenantId, {
        idempotencyKey: 'hash',
        keyScope: 'hook',
        isKeyOfBody: true,
        isVerified: true,
      })
      const first = await log(delivered)
      clock.advance(DAY_MS)
      const second = await log(delivered)
      equal(second.replayed, false)
      await store.erasures.expire({ tenantId, now: at(0), max: 10, beforeLogId: second.prospectLogId })
      same(
        (await scene.logsOf(tenantId)).map(({ prospectLogId }) => prospectLogId),
        [second.prospectLogId],
      )
      clock.advance(1)
      like(await log(delivered), { prospectLogId: second.prospectLogId, replayed: true })
      ok(first.prospectLogId !== second.prospectLogId)
    },

    'equal new emails, external ids and keys at once are one prospect, and one log of a key': async (
      scene,
    ) => {
      for (const named of [{}, { email: undefined, externalId: '1' }, { externalId: '1' }]) {
        const tenantId = await scene.newTenant()
        const processes = [scene.processOn(scene.store), scene.processOn(scene.elsewhere)] as const
        const answers = await Promise.all(
          Array.from({ length: 40 }, (_, i) =>
            processes[i % 2 === 0 ? 0 : 1].log(
              activityOf(tenantId, i < 20 ? { ...named, idempotencyKey: 'key' } : named),
            ),
          ),
        )
        equal(answers.filter(({ createdProspect, replayed }) => createdProspect && !replayed).length, 1)
        equal(new Set(answers.map(({ prospectId }) => prospectId)).size, 1)
        equal(new Set(answers.slice(0, 20).map(({ prospectLogId }) => prospectLogId)).size, 1)
        equal((await scene.prospectsOf(tenantId)).length, 1)
        equal((await scene.logsOf(tenantId)).length, 21)
      }
    },
  },
)

const activityOf = (
  tenantId: string,
  fields: { [Name in keyof NewActivity]?: NewActivity[Name] | undefined } = {},
): NewActivity =>
  ({
    tenantId,
    source: 'crm',
    type: 'webhook',
    payload: { rawJson: '{}' },
    email: 'ada@example.com',
    ...fields,
  }) as NewActivity
