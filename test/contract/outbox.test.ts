import { startFresh } from '../../src/core/engine/decide-and-save.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { ClaimedEndpoint } from '../../src/core/ports/webhooks.ts'
import {
  addTenant,
  at,
  newId,
  someClaim,
  someEndpoint,
  someEvent,
  someGroup,
  someLog,
} from '../store-contract/rows.ts'
import { passTime } from '../support/setting.ts'
import { opened, overStores, sentBy } from '../support/stores.ts'

overStores(
  async (t, kind) => {
    t.test('an endpoint added or disabled by another process counts from the next write on', async (t) => {
      const { store, another } = await opened(t, kind)
      const other = await another()
      const tenant = await addTenant(store)
      const { tenantId } = tenant
      const writtenBy = async (count: number) => {
        const log = someLog({ tenantId, prospectId: newId('prospect') })
        const ids = { prospectLogId: log.prospectLogId }
        t.equal((await store.activities.recordLogs([log], [someEvent(tenantId, { ids })])).length, 1)
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

    t.test('logging is one statement, whether the tenant uses events or not', async (t) => {
      const tested = await opened(t, kind)
      const { tenantId } = await addTenant(tested.store)
      const log = async () => {
        const logs = [someLog({ tenantId, prospectId: newId('prospect') })]
        await tested.store.activities.recordLogs(logs, [
          someEvent(tenantId, { ids: { prospectLogId: logs[0]?.prospectLogId ?? '' } }),
        ])
      }
      const countOf = async () =>
        (await sentBy(tested, log)).filter(({ text }) => !text.includes('pg_notify')).length
      // A cluster looks up before who uses events.
      const count = kind.name === 'tenant-routed' ? 2 : 1
      t.equal(await countOf(), count)
      await tested.store.webhooks.add(someEndpoint(tenantId))
      t.equal(await countOf(), count)
    })

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
      'a statement that begins too late stores nothing, and what is remembered is forgotten',
      async (t) => {
        const { store, another } = await opened(t, kind)
        const tenant = await addTenant(store)
        const { tenantId } = tenant
        const log = () => someLog({ tenantId, prospectId: newId('prospect') })
        const counted = async () =>
          (await store.prospectLogs.listOldest({ tenantId, afterId: '', beforeId: '~', limit: 9 })).length
        for (const write of [
          ({ activities }: Store): Promise<unknown> => activities.recordLogs([log()]),
          ({ activities }: Store) => activities.recordLogs([log()], [someEvent(tenantId)]),
          ({ activities }: Store) => activities.record({ prospects: [], logs: [log()] }),
          ({ pageGroups }: Store) => pageGroups.add(someGroup(tenant), [someEvent(tenantId)]),
        ]) {
          const other = await another()
          const signals: string[] = []
          other.watch((signal) => signals.push(signal))
          await other.activities.recordLogs([log()])
          const before = await counted()
          const late = { kind: 'unavailable', message: 'The write came too late; retry.' }
          for (const isSuspendedBetween of [true, false]) {
            // By clocks that go on together, it is decided twenty seconds before it begins.
            const ago = passTime(t, -20_000)
            const written = startFresh(Number.POSITIVE_INFINITY, () => {
              if (isSuspendedBetween) ago.restore()
              return write(other)
            })
            await t.rejects(written ?? Promise.resolve(), late as never)
            ago.restore()
          }
          t.equal(await counted(), before)
          t.ok(signals.includes('prospects') && signals.includes('keys'))
        }
      },
    )

    t.test('the clock of the process may differ from that of the database, and be set', async (t) => {
      const { store } = await opened(t, kind)
      const { tenantId } = await addTenant(store)
      const write = () => store.activities.recordLogs([someLog({ tenantId, prospectId: newId('prospect') })])
      for (const ms of [-3_600_000, 3_600_000, 0]) {
        const set = passTime(t, ms, true)
        t.equal((await write()).length, 1)
        set.restore()
      }
    })
  },
  ['postgres', 'instance', 'tenant-routed'],
)
