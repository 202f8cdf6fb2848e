import type { Identifier, NewLog, ProspectChange, RememberedLog, Store } from 'prospect-pages'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  addTenant,
  at,
  changesOf,
  foundProspect,
  identifiersOf,
  keyFields,
  newId,
  someErasure,
  someLog,
  someProspect,
  someRememberedLog,
} from './rows.ts'
import { stoppedClock } from './setting.ts'

export const rememberedProspects = section(
  'remembered prospects',
  async ({ core, store, another, kept }) => {
    const { activities } = store
    const elsewhere = await another()
    const processOn = (on: Store, entriesMax = 1_000) => {
      const remembered = core.rememberProspects(entriesMax)
      const world = { store: on, clock: stoppedClock(), newId: core.createNewId() }
      const logLocated = core.logProspectActivities({ ...world, remembered })
      const logAll = (activities: readonly NewActivity[]) => logLocated(activities.map(remembered.locate))
      return { logAll, remembered }
    }
    const answered = async (logged: ReturnType<ReturnType<typeof processOn>['logAll']>) => {
      const [outcome] = await logged
      if (outcome === undefined || outcome instanceof core.DomainFailure) throw outcome
      return { ...outcome.receipt, replayed: outcome.replayed }
    }
    const prospectsOf = async (tenantId: string) =>
      (await kept()).prospects.filter((prospect) => prospect.tenantId === tenantId)
    const logsOf = async (tenantId: string) => (await kept()).logs.filter((log) => log.tenantId === tenantId)
    const recorded = async (tenantId: string, fields: Partial<ProspectChange> = {}) => {
      const prospect = someProspect(tenantId, fields)
      equal(await activities.record(changesOf([prospect])), 'recorded')
      return prospect
    }
    /** Adds logs and returns their ids. A store may skip all of a list, so those that were skipped are tried alone. */
    const added = async (logs: readonly RememberedLog[]) => {
      const ids = [...(await activities.recordLogs(logs))]
      for (const log of logs.filter(({ prospectLogId }) => !ids.includes(prospectLogId)))
        ids.push(...(await activities.recordLogs([log])))
      return ids.sort()
    }
    const until = at(1e9)
    const erase = async (prospect: ProspectChange) => {
      const { tenantId, prospectId } = prospect
      const erasures = [someErasure(tenantId, { prospectId })]
      const prospects = [foundProspect(prospect)]
      const changes = { tenantId, now: at(1), until, prospects, identifier: null, erasures }
      equal(await store.erasures.record(changes), 'recorded')
    }
    const block = async (identifier: Identifier) => {
      const { tenantId } = identifier
      const erasures = [someErasure(tenantId)]
      const changes = { tenantId, now: at(1), until, prospects: [], identifier, erasures }
      equal(await store.erasures.record(changes), 'recorded')
    }
    const merge = async (one: ProspectChange, into: ProspectChange) => {
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
    const clear = async (prospect: ProspectChange) => {
      const before = foundProspect(prospect)
      const after = { ...before, email: null, externalId: null, name: null, updatedAt: at(1) }
      const released = identifiersOf(prospect)
      equal(await store.prospects.correct({ before, after, added: [], released }), 'recorded')
    }
    return {
      activities,
      elsewhere,
      processOn,
      answered,
      prospectsOf,
      logsOf,
      recorded,
      added,
      erase,
      block,
      merge,
      clear,
    }
  },
  {
    'logs are added, and those whose idempotency key is taken are skipped': async (scene) => {
      const { added, logsOf, recorded } = scene
      const prospect = await recorded(await scene.newTenant())
      const keyed = (idempotencyKey: string) => someRememberedLog(prospect, keyFields(idempotencyKey))
      const earlier = [keyed('1'), someRememberedLog(prospect)]
      const later = [keyed('2'), someRememberedLog(prospect)]
      same(await added(earlier), idsOf(earlier))
      same(await added([keyed('1'), ...later]), idsOf(later))
      same(idsOf(await logsOf(prospect.tenantId)), idsOf([...earlier, ...later]))
    },

    'logs are kept with every field': async ({ activities, logsOf, recorded, newTenant }) => {
      const prospect = await recorded(await newTenant(), { email: 'ada@x' })
      const log = someLog(prospect, {
        ...keyFields('one'),
        source: 'shop',
        type: 'order',
        payload: { rawJson: '{ "n" : 12345678901234567890 }' },
        email: ' Ada@X',
        name: 'Ada',
        externalId: '1',
        occurredAt: at(5),
        createdAt: at(7),
      })
      same(await activities.recordLogs([{ ...log, prospectUpdatedAt: prospect.updatedAt }]), [
        log.prospectLogId,
      ])
      same(await logsOf(prospect.tenantId), [log])
    },

    'equal keys from two processes at once are added once': async (scene) => {
      const { activities, elsewhere, logsOf, recorded } = scene
      const prospect = await recorded(await scene.newTenant())
      const listOf = () =>
        Array.from({ length: 40 }, (_, i) => someRememberedLog(prospect, keyFields(`${i}`)))
      const here = listOf()
      const there = listOf().reverse()
      const added = await Promise.all([activities.recordLogs(here), elsewhere.activities.recordLogs(there)])
      same(added.flat().sort(), idsOf(await logsOf(prospect.tenantId)))
      // A store may skip all of a list if another writer was faster.
      ok(added.flat().length <= 40)
    },

    'of a list, those logs are added whose prospect was not changed since': async (scene) => {
      const { activities, added, clear, erase, logsOf, merge, recorded } = scene
      const tenantId = await scene.newTenant()
      const person = (text: string) => recorded(tenantId, { email: text, externalId: text })
      const [ada, blank, cleared, merged, survivor, erased] = [
        await person('ada@x'),
        await recorded(tenantId, { email: 'blank@x' }),
        await person('cleared@x'),
        await person('merged@x'),
        await person('survivor@x'),
        await person('erased@x'),
      ]
      const filled = changesOf([{ ...blank, email: null, name: 'Filled' }], [], {
        identifiers: [],
        assumed: [],
      })
      equal(await activities.record(filled), 'recorded')
      await clear(cleared)
      await merge(merged, survivor)
      await erase(erased)
      const changed = [blank, cleared, merged, survivor, erased]
      const wrong = [
        ...changed.map((prospect) => someRememberedLog(prospect)),
        someRememberedLog(ada, { prospectUpdatedAt: at(1) }),
        someRememberedLog(ada, { prospectUpdatedAt: at(-1) }),
        someRememberedLog(someProspect(tenantId)),
        someRememberedLog({ ...(await recorded(await scene.newTenant())), tenantId }),
      ]
      const found = await readNow(scene.store, [blank, cleared, survivor])
      const right = [someRememberedLog(ada), ...found.map((prospect) => someRememberedLog(prospect))]
      same(await added([...wrong, ...right]), idsOf(right))
      for (const log of wrong) same(await added([log]), [])
      same(idsOf(await logsOf(tenantId)), idsOf(right))
      // Not even with the time of its last change.
      for (const gone of await readNow(scene.store, [merged, erased]))
        same(await added([someRememberedLog(gone)]), [])
    },

    'a log at or before the id up to which its tenant is closed is skipped': async (scene) => {
      const { added, logsOf, recorded, store } = scene
      const { tenantId } = await addTenant(store)
      await store.counts.markRead(tenantId, at(0))
      const ada = await recorded(tenantId, { email: 'ada@x' })
      const logs = Array.from({ length: 4 }, () => someRememberedLog(ada)) as [
        RememberedLog,
        RememberedLog,
        RememberedLog,
        RememberedLog,
      ]
      ok(await store.counts.close(tenantId, logs[1].prospectLogId, '2020-01-01T00:00:00.000Z'))
      same(await added(logs), idsOf(logs.slice(2)))
      same(idsOf(await logsOf(tenantId)), idsOf(logs.slice(2)))
    },

    'of logs that are added while their prospect is erased or merged, none is added later': async (scene) => {
      const { activities, elsewhere, erase, logsOf, merge, recorded } = scene
      for (let round = 0; round < 4; round++) {
        const tenantId = await scene.newTenant()
        const ada = await recorded(tenantId, { email: 'ada@x' })
        const other = await recorded(tenantId)
        const logging = (on: Store) =>
          on.activities.recordLogs([someRememberedLog(ada), someRememberedLog(ada)])
        const ending = round % 2 === 0 ? erase(ada) : merge(ada, other)
        const [, ...added] = await Promise.all([
          ending,
          logging(elsewhere),
          logging({ ...elsewhere, activities }),
        ])
        same(await logging(elsewhere), [])
        same(idsOf(await logsOf(tenantId)), added.flat().toSorted())
      }
    },

    'a prospect that another process created is found, then remembered': async (scene) => {
      const tenantId = await scene.newTenant()
      const here = scene.processOn(scene.store)
      const there = scene.processOn(scene.elsewhere)
      const { prospectId } = await scene.answered(there.logAll([activityOf(tenantId)]))
      for (let i = 0; i < 2; i++)
        like(await scene.answered(here.logAll([activityOf(tenantId)])), {
          prospectId,
          createdProspect: false,
        })
      equal(here.remembered.locate(activityOf(tenantId)).remembered?.prospectId, prospectId)
    },

    'what is remembered of a person stays so for ever, and is checked by the store': async (scene) => {
      const { clear, erase, merge, processOn, answered, prospectsOf, elsewhere, store } = scene
      const tenantId = await scene.newTenant()
      const { logAll, remembered } = processOn(store)
      const log = (email: string) => answered(logAll([activityOf(tenantId, { email })]))
      const firsts: string[] = []
      for (const email of ['a@x', 'b@x', 'c@x', 'd@x']) firsts.push((await log(email)).prospectId)
      const [cleared, merged, erased, survivor] = (await prospectsOf(tenantId)) as [
        ProspectChange,
        ProspectChange,
        ProspectChange,
        ProspectChange,
      ]
      await clear(cleared)
      await merge(merged, survivor)
      await erase(erased)
      // It belongs to no one now.
      like(await log('a@x'), { createdProspect: true })
      like(await log('b@x'), { prospectId: firsts[3], createdProspect: false })
      like(await logAll([activityOf(tenantId, { email: 'c@x' })]), [{ kind: 'prospect_erased' }])
      like(await log('d@x'), { prospectId: firsts[3], createdProspect: false })
      equal(remembered.locate(activityOf(tenantId, { email: 'b@x' })).remembered?.prospectId, firsts[3])
      equal(remembered.locate(activityOf(tenantId, { email: 'c@x' })).remembered, undefined)
      like(await processOn(elsewhere).logAll([activityOf(tenantId, { email: 'c@x' })]), [
        { kind: 'prospect_erased' },
      ])
    },

    'an identifier that led to no one is checked until it is known, and its blank is filled': async (
      scene,
    ) => {
      const { processOn, answered, clear, prospectsOf, store } = scene
      const tenantId = await scene.newTenant()
      const { logAll } = processOn(store)
      const both = { email: 'ada@x', externalId: '1' }
      const log = (fields: object) =>
        answered(logAll([activityOf(tenantId, { email: undefined, ...fields })]))
      const { prospectId } = await log({ externalId: '1', email: 'first@x' })
      // The prospect has another email, so this one leads to no one.
      for (let i = 0; i < 2; i++) like(await log(both), { prospectId })
      const [ada] = (await prospectsOf(tenantId)) as [ProspectChange]
      const before = foundProspect(ada)
      const after = { ...before, email: null, updatedAt: at(9) }
      const released = identifiersOf({ ...ada, externalId: null })
      equal(await store.prospects.correct({ before, after, added: [], released }), 'recorded')
      like(await log(both), { prospectId })
      like(await prospectsOf(tenantId), [{ email: 'ada@x', externalId: '1' }])
      const [now] = (await prospectsOf(tenantId)) as [ProspectChange]
      await clear(now)
      for (let i = 0; i < 2; i++) like(await log(both), { createdProspect: i === 0 })
    },

    'a blank that another process filled stays as it was filled': async (scene) => {
      const tenantId = await scene.newTenant()
      const here = scene.processOn(scene.store)
      const there = scene.processOn(scene.elsewhere)
      await here.logAll([activityOf(tenantId)])
      await there.logAll([activityOf(tenantId, { name: 'Ada' })])
      await here.logAll([activityOf(tenantId, { name: 'Grace' })])
      like(await scene.prospectsOf(tenantId), [{ name: 'Ada' }])
    },

    'a remembered blank is filled': async ({ processOn, prospectsOf, store, newTenant }) => {
      const tenantId = await newTenant()
      const { logAll } = processOn(store)
      for (const name of [undefined, undefined, 'Ada']) await logAll([activityOf(tenantId, { name })])
      like(await prospectsOf(tenantId), [{ name: 'Ada' }])
    },

    'an email that matches nobody has a new prospect each time': async ({
      processOn,
      answered,
      store,
      newTenant,
    }) => {
      const tenantId = await newTenant()
      const { logAll } = processOn(store)
      for (const email of ['n/a', 'n/a', undefined, undefined, ' ', ' '])
        like(await answered(logAll([activityOf(tenantId, { email })])), { createdProspect: true })
    },

    'replays and reused keys are decided alike for remembered and evicted prospects': async (scene) => {
      const { processOn, answered, store } = scene
      for (const entriesMax of [1_000, 1]) {
        const tenantId = await scene.newTenant()
        const { logAll } = processOn(store, entriesMax)
        await logAll([activityOf(tenantId)])
        const first = await answered(logAll([activityOf(tenantId, { idempotencyKey: 'key' })]))
        await logAll([activityOf(tenantId, { email: 'grace@example.com' })])
        const again = await logAll([
          activityOf(tenantId, { idempotencyKey: 'key' }),
          activityOf(tenantId),
          activityOf(tenantId, { idempotencyKey: 'new' }),
        ])
        like(again, [
          { receipt: { prospectLogId: first.prospectLogId }, replayed: true },
          { receipt: { prospectId: first.prospectId }, replayed: false },
          { receipt: { prospectId: first.prospectId }, replayed: false },
        ])
        const [reused] = await logAll([activityOf(tenantId, { idempotencyKey: 'key', type: 'other' })])
        like(reused, { kind: 'idempotency_key_reused', facts: { prospectLogId: first.prospectLogId } })
      }
    },

    'equal new emails and equal keys at once are one prospect and one log': async (scene) => {
      const tenantId = await scene.newTenant()
      const processes = [scene.processOn(scene.store), scene.processOn(scene.elsewhere)] as const
      const outcomes = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          scene.answered(
            processes[i % 2 === 0 ? 0 : 1].logAll([
              activityOf(tenantId, i < 20 ? { idempotencyKey: 'key' } : {}),
            ]),
          ),
        ),
      )
      equal(outcomes.filter(({ createdProspect, replayed }) => createdProspect && !replayed).length, 1)
      equal(new Set(outcomes.slice(0, 20).map(({ prospectLogId }) => prospectLogId)).size, 1)
      equal((await scene.prospectsOf(tenantId)).length, 1)
      equal((await scene.logsOf(tenantId)).length, 21)
    },
  },
)

const idsOf = (logs: readonly NewLog[]) => logs.map(({ prospectLogId }) => prospectLogId).sort()

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

const readNow = async (store: Store, prospects: readonly ProspectChange[]) => {
  const found = await Promise.all(prospects.map((prospect) => store.prospects.find(prospect)))
  return found.filter((prospect) => prospect !== null)
}
