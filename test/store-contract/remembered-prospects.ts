import type { NewLog, Store } from 'prospect-pages'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import { newId, someLog, someProspect } from './rows.ts'
import { stoppedClock } from './setting.ts'

export const rememberedProspects = section(
  'remembered prospects',
  async ({ core, store, another, kept }) => {
    const { activities } = store
    const elsewhere = await another()
    const processOn = (on: Store, entriesMax = 1_000) => {
      let now = 0
      const remembered = core.rememberProspects(entriesMax, () => now)
      const world = { store: on, clock: stoppedClock(), newId: core.createNewId() }
      const logLocated = core.logProspectActivities({ ...world, remembered })
      const logAll = (activities: readonly NewActivity[]) =>
        logLocated(
          activities.map((activity) => ({
            ...activity,
            rememberedId: remembered.locate(activity).rememberedId,
          })),
        )
      return { logAll, remembered, pass: (ms: number) => (now += ms) }
    }
    const answered = async (logged: ReturnType<ReturnType<typeof processOn>['logAll']>) => {
      const [outcome] = await logged
      if (outcome === undefined || outcome instanceof core.DomainFailure) throw outcome
      return { ...outcome.receipt, replayed: outcome.replayed }
    }
    const prospectsOf = async (tenantId: string) =>
      (await kept()).prospects.filter((prospect) => prospect.tenantId === tenantId)
    const logsOf = async (tenantId: string) => (await kept()).logs.filter((log) => log.tenantId === tenantId)

    return { activities, elsewhere, processOn, answered, prospectsOf, logsOf }
  },
  {
    'logs are added, and those whose idempotency key is taken are skipped': async (given) => {
      const { activities, logsOf } = given
      const prospect = someProspect(newId('tenant'))
      const keyed = (idempotencyKey: string) => someLog(prospect, { idempotencyKey, requestHash: 'hash' })
      const earlier = [keyed('1'), someLog(prospect)]
      const later = [keyed('2'), someLog(prospect)]
      same([...(await activities.recordLogs(earlier))].sort(), idsOf(earlier))
      same([...(await activities.recordLogs([keyed('1'), ...later]))].sort(), idsOf(later))
      same(idsOf(await logsOf(prospect.tenantId)), idsOf([...earlier, ...later]))
    },

    'equal keys from two processes at once are added once': async ({ activities, elsewhere, logsOf }) => {
      const prospect = someProspect(newId('tenant'))
      const listOf = () =>
        Array.from({ length: 40 }, (_, i) =>
          someLog(prospect, { idempotencyKey: `${i}`, requestHash: 'hash' }),
        )
      const [here, there] = [listOf(), listOf().reverse()]
      const added = await Promise.all([activities.recordLogs(here), elsewhere.activities.recordLogs(there)])
      same(added.flat().sort(), idsOf(await logsOf(prospect.tenantId)))
      // A store may skip all of a list if another writer was faster.
      ok(added.flat().length <= 40)
    },

    'a prospect that another process created is found, then remembered': async (given) => {
      const tenantId = newId('tenant')
      const [here, there] = [given.processOn(given.store), given.processOn(given.elsewhere)]
      const { prospectId } = await given.answered(there.logAll([activityOf(tenantId)]))
      for (let i = 0; i < 2; i++)
        like(await given.answered(here.logAll([activityOf(tenantId)])), {
          prospectId,
          createdProspect: false,
        })
      equal(here.remembered.locate(activityOf(tenantId)).rememberedId, prospectId)
    },

    'what is forgotten of one tenant is still remembered of the others': async ({ processOn, store }) => {
      const [one, two] = [newId('tenant'), newId('tenant')]
      const { logAll, remembered, pass } = processOn(store)
      for (const tenantId of [one, two]) await logAll([activityOf(tenantId)])
      remembered.onSignal(`prospects ${one}`)
      equal(remembered.locate(activityOf(one)).rememberedId, undefined)
      ok(remembered.locate(activityOf(two)).rememberedId)
      pass(1)
      await logAll([activityOf(one)])
      ok(remembered.locate(activityOf(one)).rememberedId)
      remembered.onSignal('prospects')
      equal(remembered.locate(activityOf(two)).rememberedId, undefined)
    },

    'a blank that another process filled stays as it was filled': async (given) => {
      const tenantId = newId('tenant')
      const [here, there] = [given.processOn(given.store), given.processOn(given.elsewhere)]
      await here.logAll([activityOf(tenantId)])
      await there.logAll([activityOf(tenantId, { name: 'Ada' })])
      await here.logAll([activityOf(tenantId, { name: 'Grace' })])
      like(await given.prospectsOf(tenantId), [{ name: 'Ada' }])
    },

    'a remembered blank is filled': async ({ processOn, prospectsOf, store }) => {
      const tenantId = newId('tenant')
      const { logAll } = processOn(store)
      for (const name of [undefined, undefined, 'Ada']) await logAll([activityOf(tenantId, { name })])
      like(await prospectsOf(tenantId), [{ name: 'Ada' }])
    },

    'an email that matches nobody has a new prospect each time': async ({ processOn, answered, store }) => {
      const tenantId = newId('tenant')
      const { logAll } = processOn(store)
      for (const email of ['n/a', 'n/a', undefined, undefined, ' ', ' '])
        like(await answered(logAll([activityOf(tenantId, { email })])), { createdProspect: true })
    },

    'replays and reused keys are decided alike for remembered, evicted and forgotten prospects': async (
      given,
    ) => {
      const { processOn, answered, store } = given
      for (const [entriesMax, ms] of [
        [1_000, 0],
        [1, 0],
        [1_000, 60_000],
      ] as const) {
        const tenantId = newId('tenant')
        const { logAll, pass } = processOn(store, entriesMax)
        await logAll([activityOf(tenantId)])
        const first = await answered(logAll([activityOf(tenantId, { idempotencyKey: 'key' })]))
        await logAll([activityOf(tenantId, { email: 'grace@example.com' })])
        pass(ms)
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

    'equal new emails and equal keys at once are one prospect and one log': async (given) => {
      const tenantId = newId('tenant')
      const processes = [given.processOn(given.store), given.processOn(given.elsewhere)] as const
      const outcomes = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          given.answered(
            processes[i % 2 === 0 ? 0 : 1].logAll([
              activityOf(tenantId, i < 20 ? { idempotencyKey: 'key' } : {}),
            ]),
          ),
        ),
      )
      equal(outcomes.filter(({ createdProspect, replayed }) => createdProspect && !replayed).length, 1)
      equal(new Set(outcomes.slice(0, 20).map(({ prospectLogId }) => prospectLogId)).size, 1)
      equal((await given.prospectsOf(tenantId)).length, 1)
      equal((await given.logsOf(tenantId)).length, 21)
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
