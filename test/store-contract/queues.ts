import type { Queue } from 'prospect-pages/store'
import { ok, same } from './assertions.ts'
import { untilCompleted } from './completed.ts'
import { section } from './contract.ts'
import { outboxOf } from './outbox.ts'
import { at, changeOf, foundProspect, newId, someErasure, someEvent, someLog, someProspect } from './rows.ts'
import { stoppedClock } from './setting.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NEVER = new AbortController().signal

/** A tenant, its page group, and a publisher. A store that does not know what waits passes: it is always looked into. */
export const queues = section(
  'queues',
  async ({ store, core }) => {
    const outbox = await outboxOf(store)
    const { tenantId } = outbox
    const clock = stoppedClock()
    const deps = { store, clock, newId: core.createNewId() }
    const { pageGroupId } = (await core.createPageGroup(deps)({ tenantId, name: 'offers', title: 'Offers' }))
      .value
    const publish = core.publishVersions({ ...deps, namer: null, claimMax: 100, leaseMs: MINUTE })

    const recordProspect = async () => {
      const prospect = someProspect(tenantId)
      await store.activities.record(changeOf(prospect, someLog(prospect)))
      return prospect
    }
    return {
      outbox,
      tenantId,
      deps,
      recordProspect,
      createPage: (publishAt?: string) =>
        core.createPageWithVersion(deps)({ tenantId, pageGroupId, ...(publishAt && { publishAt }) }),
      publishAll: async () => {
        while (await publish(NEVER));
      },
      /** Whether work waits in this queue, or is due within a minute. */
      includes: async (queue: Queue, isExpected: boolean) => {
        const waiting = await store.waiting?.({ now: at(0), until: at(MINUTE) })
        if (waiting !== undefined) same(waiting.includes(queue), isExpected)
      },
      /** No work waits, in any queue. */
      areEmpty: async () => {
        const waiting = await store.waiting?.({ now: at(0), until: at(MINUTE) })
        same(waiting ?? [], [])
      },
    }
  },
  {
    'nothing waits where nothing happened': async ({ areEmpty, recordProspect }) => {
      await areEmpty()
      await recordProspect()
      await areEmpty()
    },

    'a version waits until it is published': async ({ createPage, publishAll, includes, areEmpty }) => {
      await createPage()
      await includes('versions', true)
      await publishAll()
      await areEmpty()
    },

    'a schedule waits once its time is near': async ({ createPage, publishAll, includes, areEmpty }) => {
      await createPage(at(HOUR))
      await publishAll()
      await areEmpty()
      await createPage(at(MINUTE))
      await publishAll()
      await includes('schedules', true)
    },

    'an event waits until it is numbered, and a delivery until it is made': async (scene) => {
      const { store, outbox, tenantId, includes, areEmpty } = scene
      await outbox.addEndpoint()
      await outbox.write(someEvent(tenantId))
      await includes('events', true)
      await includes('deliveries', false)
      await outbox.number()
      await includes('events', false)
      await includes('deliveries', true)
      const [endpoint] = await outbox.claim(0)
      ok(endpoint)
      await store.webhooks.sweep({ ...endpoint, status: 'disabled' }, 'disabled', 100, true)
      await includes('deliveries', true)
      await outbox.changeEndpoint(endpoint, { status: 'disabled' })
      await store.webhooks.sweep({ ...endpoint, status: 'disabled' }, 'disabled', 100, true)
      await areEmpty()
    },

    'an erasure waits until it is completed': async ({
      store,
      tenantId,
      recordProspect,
      includes,
      areEmpty,
    }) => {
      const prospect = await recordProspect()
      const erasure = someErasure(tenantId, { prospectId: prospect.prospectId })
      await store.erasures.record({
        tenantId,
        now: at(0),
        prospects: [foundProspect(prospect)],
        identifier: null,
        erasures: [erasure],
        until: at(HOUR),
      })
      await includes('erasures', true)
      const claim = { now: at(0), until: at(1), horizon: at(HOUR), afterTenantId: '', max: 1 }
      const [claimed] = await store.erasures.claim(claim)
      ok(claimed)
      const completed = { ...claimed, status: 'completed', completedAt: at(1), claimableAt: at(1) } as const
      await store.erasures.settle(tenantId, [completed])
      await areEmpty()
    },

    'a merge waits until its logs have moved': async ({ core, store, deps, recordProspect, includes }) => {
      const survivor = await recordProspect()
      const merged = await recordProspect()
      await core.mergeProspect(deps)({ ...merged, into: survivor.prospectId })
      await includes('merges', true)
      const step = core.moveMerged(deps)
      await untilCompleted(store.merges, deps.clock, () => step(NEVER))
      await includes('merges', false)
    },

    'a tenant waits for its removal': async ({ store, tenantId, includes }) => {
      await store.tenants.setState(tenantId, { suspendedAt: at(0), deletedAt: at(0) })
      await includes('removals', true)
    },

    'activities wait to be counted, once the counts of their tenant were read': async (scene) => {
      const { store, tenantId, recordProspect, includes, areEmpty } = scene
      await store.counts.markRead(tenantId, at(0))
      await areEmpty()
      await recordProspect()
      await includes('counts', true)
      const to = newId('prospectlog')
      await store.counts.record({
        tenantId,
        from: '',
        to,
        removeFrom: null,
        addProspects: [],
        addDays: [],
        add: [],
      })
      await includes('counts', false)
    },

    'people wait to be indexed, once their tenant was searched': async (scene) => {
      const { store, tenantId, deps, recordProspect, includes } = scene
      const { prospectId } = await recordProspect()
      await includes('search', false)
      await store.searchIndex.markSearched(tenantId, new Date(deps.clock()).toISOString())
      await includes('search', true)
      for (const mark of ['position', 'checked'] as const)
        await store.searchIndex.extend({ tenantId, mark, from: '', beforeId: `${prospectId}~`, max: 1 })
      await includes('search', false)
    },
  },
)
