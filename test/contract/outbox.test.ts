import type { Store } from '../../src/core/ports/store.ts'
import type { ClaimedEndpoint } from '../../src/core/ports/webhooks.ts'
import {
  addTenant,
  at,
  logChangeOf,
  recordAll,
  someClaim,
  someEndpoint,
  someEvent,
  someGroup,
  someLog,
  someProspect,
} from '../store-contract/rows.ts'
import { passTime } from '../support/setting.ts'
import { opened, overStores, sentBy } from '../support/stores.ts'

/** A prospect whose activities are logged from memory. */
const remembered = async ({ activities }: Store, tenantId: string) => {
  const prospect = someProspect(tenantId)
  await recordAll(activities, [prospect])
  return prospect
}

overStores(
  async (t, kind) => {
    t.test('an endpoint added or disabled by another process counts from the next write on', async (t) => {
      const { store, another } = await opened(t, kind)
      const other = await another()
      const tenant = await addTenant(store)
      const { tenantId } = tenant
      const prospect = await remembered(store, tenantId)
      const writtenBy = async (count: number) => {
        t.equal(await store.activities.record(logChangeOf(prospect, someLog(prospect))), 'recorded')
        t.equal(await store.pageGroups.add(someGroup(tenant), [someEvent(tenantId)]), 'recorded')
        t.equal(await store.events.number({ tenantId, now: at(0), max: 10 }), count)
      }
      await writtenBy(0)
      const endpoint = someEndpoint(tenantId)
      await other.webhooks.add(endpoint)
      await writtenBy(2)
      await other.webhooks.change({ ...endpoint, status: 'disabled', updatedAt: at(1) }, endpoint.updatedAt)
      await writtenBy(0)
    })

    t.test(
      'logging is one statement, except for the first of a tenant that begins to use events',
      async (t) => {
        const tested = await opened(t, kind)
        const { tenantId } = await addTenant(tested.store)
        const prospect = await remembered(tested.store, tenantId)
        const log = () => tested.store.activities.record(logChangeOf(prospect, someLog(prospect)))
        const countOf = async () =>
          (await sentBy(tested, log)).filter(({ text }) => !text.includes('pg_notify')).length
        // A cluster looks up before who uses events.
        const count = kind.name === 'tenant-routed' ? 2 : 1
        t.equal(await countOf(), count)
        await tested.store.webhooks.add(someEndpoint(tenantId))
        await log()
        t.equal(await countOf(), count)
      },
    )

    t.test('results of attempts are saved beside a replay of the same deliveries', async (t) => {
      const { store, another } = await opened(t, kind)
      const other = await another()
      const tenant = await addTenant(store)
      const { tenantId } = tenant
      const endpoint = someEndpoint(tenantId)
      await store.webhooks.add(endpoint)
      const events = Array.from({ length: 300 }, () => someEvent(tenantId))
      await store.pageGroups.add(someGroup(tenant), events)
      await store.events.number({ tenantId, now: at(0), max: 300 })
      const [claimed] = await store.webhooks.claim(someClaim({ now: at(0), until: at(9) }))
      const results = events.toReversed().map(({ eventId }) => {
        const failed = { status: 'pending', attempts: 1, nextAttemptAt: at(9), deliveredAt: null } as const
        return { eventId, ...failed, lastStatus: 500, lastError: 'why', attempt: null }
      })
      const state = { failures: 1, failingSince: at(0), lastError: null, claimableAt: null, readAt: at(0) }
      const want = { ...endpoint, afterEventId: '', delivered: true, now: at(0), max: 300 }
      for (let round = 0; round < 20; round++) {
        const replayed = other.webhooks.replay(want)
        t.equal(await store.webhooks.settle(claimed as ClaimedEndpoint, results, state), true)
        t.match(await replayed, { made: 300 })
      }
    })
  },
  ['postgres', 'tenant-routed'],
)

overStores(
  async (t, kind) => {
    t.test(
      'a write is stored however the clock of its process differs from that of the database',
      async (t) => {
        const { store } = await opened(t, kind)
        const { tenantId } = await addTenant(store)
        const prospect = await remembered(store, tenantId)
        for (const ms of [-3_600_000, 3_600_000, 0])
          for (const isAsleep of [true, false]) {
            const set = passTime(t, ms, isAsleep)
            t.equal(await store.activities.record(logChangeOf(prospect, someLog(prospect))), 'recorded')
            set.restore()
          }
      },
    )
  },
  ['postgres', 'instance', 'tenant-routed'],
)
