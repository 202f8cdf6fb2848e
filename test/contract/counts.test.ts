import type { Test } from 'tap'
import { timeOfId } from '../../src/core/engine/id-times.ts'
import type { ActivityChange } from '../../src/core/ports/activities.ts'
import type { NewEvent } from '../../src/core/ports/events.ts'
import { createService } from '../../src/entry/index.ts'
import { randomBy } from '../support/random.ts'
import { overStores } from '../support/stores.ts'
import {
  DAY_MS,
  dayAndHour,
  erase,
  HOUR_MS,
  MINUTE_MS,
  NOON,
  openScene,
  passTimeCounting,
  payload,
  READ_DAYS_MAX,
  type Scene,
} from './counts-scene.ts'

overStores(
  async (t, kind) => {
    t.test('counting begins when the counts are first read, with the oldest activity', async (t) => {
      const { clock, log, newFullCounter, readCounts } = await openScene(t, kind)
      const countAll = newFullCounter()
      await log()
      clock.advance(HOUR_MS)
      await log({ type: 'ordered' })

      await countAll()
      t.strictSame(await readCounts(), { rows: [], countedUntil: '2024-11-20T12:00:00.000Z' })

      await countAll()
      t.strictSame(await readCounts(), {
        rows: ['20T12 crm webhook 1'],
        countedUntil: '2024-11-20T12:59:00.000Z',
      })
    })

    t.test('an activity is counted within a minute, and `countedUntil` promises no more', async (t) => {
      const { clock, log, newFullCounter, readCounts } = await openScene(t, kind)
      const countAll = newFullCounter()
      await log()
      clock.advance(HOUR_MS)
      await log({ type: 'ordered' })
      await readCounts()

      await countAll()
      t.strictSame(await readCounts(), {
        rows: ['20T12 crm webhook 1'],
        countedUntil: '2024-11-20T12:59:00.000Z',
      })

      clock.advance(MINUTE_MS)
      t.match(await readCounts(), { countedUntil: '2024-11-20T13:00:00.000Z' })

      clock.advance(1)
      await newFullCounter()()
      t.strictSame(await readCounts(), {
        rows: ['20T12 crm webhook 1', '20T13 crm ordered 1'],
        countedUntil: '2024-11-20T13:00:00.001Z',
      })
    })

    t.test('counts are read by day, of one type, and since or until a time', async (t) => {
      const { clock, log, newFullCounter, readCounts } = await openScene(t, kind)
      await readCounts()
      await log()
      clock.advance(HOUR_MS)
      await log({ type: 'ordered' })
      clock.advance(2 * MINUTE_MS)
      await newFullCounter()()
      const rowsOf = async (query: object) => (await readCounts(query)).rows
      const atNoon = '20T12 crm webhook 1'
      const atOne = '20T13 crm ordered 1'

      t.strictSame(await rowsOf({}), [atNoon, atOne])
      t.strictSame(await rowsOf({ by: 'day' }), ['20T00 crm ordered 1', '20T00 crm webhook 1'])
      t.strictSame(await rowsOf({ type: 'ordered' }), [atOne])
      t.strictSame(await rowsOf({ since: '2024-11-20T13:59:00Z' }), [atOne])
      t.strictSame(await rowsOf({ until: '2024-11-20T14:30:00+02:00' }), [atNoon])
      t.strictSame(await rowsOf({ since: '2024-11-20T14:00:00Z', until: '2024-11-20T13:00:00Z' }), [])
    })

    t.test('each activity is counted once, while several processes count and others log', async (t) => {
      const { store, another, clock, service, tenantId, log, newFullCounter, readCounts } = await openScene(
        t,
        kind,
      )
      const random = randomBy(7)
      const counters = [
        newFullCounter(),
        newFullCounter(),
        newFullCounter(await another()),
        newFullCounter(store),
      ]
      const countInAll = () => Promise.all(counters.map((countAll) => countAll()))
      await readCounts()

      const expected = new Map<string, number>()
      for (let burst = 0; burst < 12; burst++) {
        const logging: Promise<unknown>[] = []
        const logsMade = random.below(40)
        for (let i = 0; i < logsMade; i++) {
          const source = `s${random.below(3)}`
          const type = `t${random.below(3)}`
          const email = `person-${random.below(5)}@example.com`
          const pair = `${dayAndHour(new Date(clock()).toISOString())} ${source} ${type}`
          expected.set(pair, (expected.get(pair) ?? 0) + 1)
          logging.push(log({ source, type, email }))
        }
        await Promise.all([...logging, countInAll()])
        clock.advance(random.below(15) * 1_000)
      }
      for (let i = 0; i < 5; i++) {
        clock.advance(15_000)
        await countInAll()
      }
      const expectedRows = [...expected].map(([pair, count]) => `${pair} ${count}`).sort()
      t.strictSame((await readCounts()).rows, expectedRows)

      const { items } = (await service.listProspects({ tenantId })).value
      for (const { prospectId } of items) await service.eraseProspect({ tenantId, prospectId })
      await countInAll()
      t.strictSame((await readCounts()).rows, expectedRows, 'erasures change no count')
    })

    t.test('an activity stays counted when its prospect is erased', async (t) => {
      const scene = await openScene(t, kind)
      const { clock, log, newFullCounter, readCounts } = scene
      const countAll = newFullCounter()
      await readCounts()
      await log()
      clock.advance(MINUTE_MS)
      await countAll()

      await erase(scene, 'ada@example.com')
      await countAll()

      t.strictSame((await readCounts()).rows, ['20T12 crm webhook 1'])
    })

    t.test('an activity that is erased before it is counted is not counted', async (t) => {
      const scene = await openScene(t, kind)
      const { clock, log, newFullCounter, readCounts } = scene
      await readCounts()
      await log({ email: 'ada@example.com' })
      await log({ email: 'ada@example.com' })
      await log({ email: 'bob@example.com' })

      await erase(scene, 'ada@example.com')
      const sinceNoonMs = clock() - NOON
      clock.advance(HOUR_MS - sinceNoonMs)
      await newFullCounter()()

      t.strictSame(await readCounts(), {
        rows: ['20T12 crm webhook 1'],
        countedUntil: '2024-11-20T12:59:00.000Z',
      })
    })

    t.test('a clock that is set back loses and doubles nothing', async (t) => {
      const { clock, log, newFullCounter, readCounts } = await openScene(t, kind)
      const countAll = newFullCounter()
      await readCounts()
      await log()
      await log()
      await log()
      await passTimeCounting(clock, countAll, 10 * MINUTE_MS)
      t.strictSame((await readCounts()).rows, ['20T12 crm webhook 3'])

      clock.advance(-10 * MINUTE_MS)
      await log()
      t.match(
        await readCounts(),
        { countedUntil: '2024-11-20T00:00:00.000Z' },
        'the whole day is counted again, and callers know before it begins',
      )
      await countAll()
      await log()
      await passTimeCounting(clock, countAll, 2 * MINUTE_MS)
      t.strictSame((await readCounts()).rows, ['20T12 crm webhook 5'])
    })

    t.test('a clock that is set forward, and back again, loses and doubles nothing', async (t) => {
      const { clock, log, newFullCounter, readCounts } = await openScene(t, kind)
      const countAll = newFullCounter()
      await readCounts()
      clock.advance(10 * MINUTE_MS)
      await log()

      clock.advance(3 * HOUR_MS)
      await log()
      await countAll()
      t.strictSame((await readCounts()).rows, ['20T12 crm webhook 1'])

      clock.advance(-3 * HOUR_MS)
      await log()
      await passTimeCounting(clock, countAll, 2 * MINUTE_MS)
      t.strictSame(
        (await readCounts()).rows,
        ['20T12 crm webhook 1'],
        'the second and third are not counted before their hour',
      )

      await passTimeCounting(clock, countAll, 3 * HOUR_MS)
      t.strictSame((await readCounts()).rows, ['20T12 crm webhook 1', '20T15 crm webhook 2'])
      t.strictSame((await readCounts({ by: 'day' })).rows, ['20T00 crm webhook 3'])
    })

    for (const isKnown of [false, true]) {
      const prospect = isKnown ? 'a prospect that its process remembers' : 'a new prospect'
      t.test(`an activity of ${prospect}, stored after its hour was counted, is counted later`, async (t) => {
        const scene = await openScene(t, kind)
        const { another, clock, tenantId, log, newFullCounter, readCounts } = scene
        const countAll = newFullCounter(isKnown ? await another() : undefined)
        const slow = openSlowService(t, scene)
        const ada = { tenantId, source: 'crm', payload, email: 'ada@example.com' }
        await readCounts()
        if (isKnown) {
          slow.letGo()
          await slow.service.logProspectActivity({ ...ada, type: 'earlier' })
          slow.hold()
        }

        const logged = slow.service.logProspectActivity(ada)
        await slow.isDecided()
        await log({ email: 'bob@example.com' })
        clock.advance(HOUR_MS)
        await countAll()
        slow.letGo()
        const { prospectLogId } = (await logged).value
        t.equal(
          timeOfId(prospectLogId),
          NOON + HOUR_MS,
          'its id says when it was stored, not when it was sent',
        )

        clock.advance(MINUTE_MS)
        await countAll()
        const { rows } = await readCounts({ type: 'webhook' })
        t.strictSame(rows, ['20T12 crm webhook 1', '20T13 crm webhook 1'])
      })
    }

    t.test('a process whose clock is ahead of the database closes no tenant', async (t) => {
      const { store, clock, service, tenantId, log, newCounter, newFullCounter, readCounts } =
        await openScene(t, kind)
      const anHourAgo = Date.now() - HOUR_MS
      clock.advance(anHourAgo - NOON)
      await readCounts()
      await log()

      clock.advance(2 * DAY_MS)
      const count = newCounter()
      await count()
      await count()
      await count()
      t.match(await store.counts.find(tenantId), { position: '', closedTo: '' })

      clock.advance(-2 * DAY_MS)
      await log()
      clock.advance(2 * MINUTE_MS)
      await newFullCounter()()
      const { items } = (await service.listProspectLogCounts({ tenantId })).value
      const countedLogs = items.reduce((sum, { count }) => sum + count, 0)
      t.equal(countedLogs, 2)
    })

    t.test('an activity that names no one is stored by a process whose clock is behind', async (t) => {
      const { clock, log, newFullCounter, readCounts } = await openScene(t, kind)
      await readCounts()
      await log({ email: undefined })
      clock.advance(10 * MINUTE_MS)
      await newFullCounter()()

      clock.advance(-10 * MINUTE_MS)
      await log({ email: undefined })

      clock.advance(12 * MINUTE_MS)
      await newFullCounter()()
      t.strictSame((await readCounts()).rows, ['20T12 crm webhook 2'])
    })

    t.test('a tenant that never reads its counts is not counted', async (t) => {
      const { store, clock, service, log, newFullCounter, readCounts } = await openScene(t, kind)
      const silent = await service.createTenant({ name: 'Silent' })
      await readCounts()
      await log()
      await log({ tenantId: silent.tenantId })

      clock.advance(DAY_MS)
      await newFullCounter()()

      t.equal(await store.counts.find(silent.tenantId), null)
    })

    t.test('a tenant is not counted after 31 days without reading, until it reads again', async (t) => {
      const { store, clock, tenantId, log, newFullCounter, readCounts } = await openScene(t, kind)
      const wholePeriod = { since: '2024-11-01T00:00:00Z', until: '2025-01-01T00:00:00Z', by: 'day' }
      await readCounts()
      await log()
      for (let day = 0; day < READ_DAYS_MAX + 2; day++) {
        clock.advance(DAY_MS)
        await newFullCounter()()
      }
      await log()
      clock.advance(HOUR_MS)
      await newFullCounter()()
      t.strictSame((await readCounts(wholePeriod)).rows, ['20T00 crm webhook 1'])

      await newFullCounter()()
      t.strictSame((await readCounts(wholePeriod)).rows, ['20T00 crm webhook 1', '23T00 crm webhook 1'])
      t.match(await store.counts.find(tenantId), { readAt: new Date(clock()).toISOString() })
    })

    t.test('the first 1,000 pairs of an hour have their own counts, the others share one', async (t) => {
      const { clock, service, tenantId, log, newFullCounter, readCounts } = await openScene(t, kind)
      const logThousandTypes = async (first: number) => {
        const numbers = Array.from({ length: 1_000 }, (_, i) => first + i)
        await service.logProspectActivities(
          numbers.map((number) => ({ tenantId, source: 'crm', type: `t${number}`, payload })),
        )
        clock.advance(2 * MINUTE_MS)
        await newFullCounter()()
      }
      await readCounts()

      await logThousandTypes(0)
      await logThousandTypes(5)
      const { items } = (await service.listProspectLogCounts({ tenantId })).value
      t.equal(items.length, 1_001)
      t.match(items[0], { source: null, type: null, count: 5 })
      t.equal(items.filter(({ count }) => count === 2).length, 995)

      clock.advance(HOUR_MS)
      await log({ type: 'tomorrow' })
      clock.advance(2 * MINUTE_MS)
      await newFullCounter()()
      t.equal((await readCounts()).rows.at(-1), '20T13 crm tomorrow 1', 'each hour has its own thousand')
      t.equal((await readCounts({ by: 'day' })).rows[0], '20T00 null null 6', 'the day has one thousand')
    })
  },
  ['memory', 'sqlite', 'postgres', 'instance', 'tenant-routed', 'citus'],
)

/** A service on the store of the scene that decides at once, but stores an activity only when it is let go. */
const openSlowService = (t: Test, { store, clock, newId }: Scene) => {
  let decided = Promise.withResolvers<void>()
  let released = Promise.withResolvers<void>()
  const record = async (change: ActivityChange, events?: readonly NewEvent[]) => {
    decided.resolve()
    await released.promise
    return store.activities.record(change, events)
  }
  const service = createService({
    store: { ...store, activities: { ...store.activities, record } },
    clock,
    newId,
    background: 'elsewhere',
  })
  t.teardown(service.close)
  return {
    service,
    isDecided: () => decided.promise,
    letGo: () => released.resolve(),
    hold: () => {
      decided = Promise.withResolvers<void>()
      released = Promise.withResolvers<void>()
    },
  }
}
