import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { countProspectLogs } from '../../src/core/counts/count-prospect-logs.ts'
import { idsSince, timeOfId } from '../../src/core/engine/id-times.ts'
import { eraseProspects } from '../../src/core/erasures/erase-prospects.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { NewId } from '../../src/core/ports/world.ts'
import { createService } from '../../src/entry/index.ts'
import { untilCompleted } from '../store-contract/completed.ts'
import { idAt } from '../store-contract/rows.ts'
import { randomBy } from '../support/random.ts'
import { stoppedClock } from '../support/setting.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const DAY_MS = 24 * HOUR_MS
/** A whole hour, long ago: no tenant is closed at a time that is yet to come by the clock of the database. */
const NOON = Date.UTC(2024, 10, 20, 12)
const ROUNDS_MAX = 1_000
const payload = { rawJson: '{}' }
const running = new AbortController().signal

/** A service with one tenant, and what counts for it. */
const setting = async (t: Test, kind: StoreKind) => {
  const { store, another } = await opened(t, kind)
  const clock = stoppedClock(NOON)
  let made = 0
  // As processes that are started again make them: by the clock, and after an id that is already counted.
  const newId: NewId = (prefix, after) => {
    const isBehind = after !== undefined && timeOfId(after) >= clock()
    return idAt(prefix, isBehind ? timeOfId(after) + 1 : clock(), String(++made).padStart(16, '0'))
  }
  const service = createService({ store, clock, newId, background: 'elsewhere' })
  t.teardown(service.close)
  const { tenantId } = await service.createTenant({ name: 'One' })
  const stepper = (on: Store) =>
    countProspectLogs({ store: on, clock, onError: (error) => t.fail(String(error)) })
  /** Whether there are logs to count, of any tenant whose counts are read. */
  const isWaiting = async () => {
    const idAgo = (ms: number) => idsSince('prospectlog', new Date(clock() - ms).toISOString())
    const readSince = new Date(clock() - 31 * DAY_MS).toISOString()
    const want = { afterTenantId: '', readSince, beforeId: idAgo(30_000), beyondId: idAgo(0), max: 1 }
    return (await store.counts.waiting(want)).length > 0
  }
  /** A process that counts until all is counted. Other programs on the server may hold it up for some milliseconds. */
  const counter = (on = store) => {
    const step = stepper(on)
    return async () => {
      for (let round = 0; round < ROUNDS_MAX && (await isWaiting()); round++) {
        while (await step(running)) {}
        if (round > 2) await setTimeout(1)
      }
    }
  }
  const log = (fields: object = {}, of = tenantId) =>
    service.logProspectActivity({ tenantId: of, source: 'crm', payload, email: 'ada@example.com', ...fields })
  const counts = async (want: object = {}) => {
    const { items, countedUntil } = (await service.listProspectLogCounts({ tenantId, ...want })).value
    return {
      rows: items.map(({ at, source, type, count }) => `${at.slice(8, 13)} ${source} ${type} ${count}`),
      countedUntil,
    }
  }
  return { store, another, clock, newId, service, tenantId, stepper, counter, log, counts }
}

overStores(
  async (t, kind) => {
    t.test('activities are counted within a minute after they arrived, from the first one on', async (t) => {
      const { clock, counter, log, counts } = await setting(t, kind)
      const count = counter()
      await log()
      clock.advance(HOUR_MS)
      await log({ type: 'ordered' })
      await count()
      const first = { rows: [], countedUntil: '2024-11-20T12:00:00.000Z' }
      t.strictSame(await counts(), first, 'counting begins when it is first asked for')
      await count()
      const one = { rows: ['20T12 crm webhook 1'], countedUntil: '2024-11-20T12:59:00.000Z' }
      t.strictSame(await counts(), one, 'nothing is promised of the last minute')
      clock.advance(MINUTE_MS)
      t.match(await counts(), { countedUntil: '2024-11-20T13:00:00.000Z' })
      clock.advance(1)
      await counter()()
      const rows = ['20T12 crm webhook 1', '20T13 crm ordered 1']
      t.strictSame(await counts(), { rows, countedUntil: '2024-11-20T13:00:00.001Z' })
      t.match(await counts({ by: 'day' }), { rows: ['20T00 crm ordered 1', '20T00 crm webhook 1'] })
      t.match(await counts({ type: 'ordered' }), { rows: rows.slice(1) })
      t.match(await counts({ since: '2024-11-20T13:59:00Z' }), { rows: rows.slice(1) })
      t.match(await counts({ until: '2024-11-20T14:30:00+02:00' }), { rows: rows.slice(0, 1) })
      t.match(await counts({ since: '2024-11-20T14:00:00Z', until: '2024-11-20T13:00:00Z' }), { rows: [] })
    })

    t.test('what is counted stays counted: erased, and once only, by however many', async (t) => {
      const { store, another, clock, service, tenantId, counter, log, counts } = await setting(t, kind)
      const random = randomBy(7)
      const counters = [counter(), counter(), counter(await another()), counter(store)]
      await counts()
      const expected = new Map<string, number>()
      for (let round = 0; round < 12; round++) {
        const logs = Array.from({ length: random.below(40) }, () => ({
          source: `s${random.below(3)}`,
          type: `t${random.below(3)}`,
          email: `person-${random.below(5)}@example.com`,
        }))
        for (const { source, type } of logs) {
          const row = `${new Date(clock()).toISOString().slice(8, 13)} ${source} ${type}`
          expected.set(row, (expected.get(row) ?? 0) + 1)
        }
        await Promise.all([...logs.map((fields) => log(fields)), ...counters.map((count) => count())])
        clock.advance(random.below(15) * 1_000)
      }
      for (let i = 0; i < 5; i++) {
        clock.advance(15_000)
        await Promise.all(counters.map((count) => count()))
      }
      const rows = [...expected].map(([row, count]) => `${row} ${count}`).sort()
      t.strictSame((await counts()).rows, rows)
      const { items } = (await service.listProspects({ tenantId })).value
      for (const { prospectId } of items) await service.eraseProspect({ tenantId, prospectId })
      await Promise.all(counters.map((count) => count()))
      t.strictSame((await counts()).rows, rows)
    })

    t.test('what is erased before it is counted is in no count, as the documentation says', async (t) => {
      const { store, clock, service, tenantId, counter, log, counts } = await setting(t, kind)
      await counts()
      for (const email of ['ada@example.com', 'ada@example.com', 'bob@example.com']) await log({ email })
      await service.eraseProspect({ tenantId, email: 'ada@example.com' })
      const erase = eraseProspects({ store, clock })
      await untilCompleted(store.erasures, clock, async () => {
        while (await erase(running));
      })
      clock.advance(NOON + HOUR_MS - clock())
      await counter()()
      const one = { rows: ['20T12 crm webhook 1'], countedUntil: '2024-11-20T12:59:00.000Z' }
      t.strictSame(await counts(), one)
    })

    t.test('a clock that is set back or forward loses and doubles nothing', async (t) => {
      const { clock, counter, log, counts } = await setting(t, kind)
      const count = counter()
      const passed = async (ms: number) => {
        for (let left = ms; left > 0; left -= 20_000) {
          clock.advance(Math.min(left, 20_000))
          await count()
        }
      }
      await counts()
      await count()
      for (let i = 0; i < 3; i++) await log()
      await passed(10 * MINUTE_MS)
      t.strictSame((await counts()).rows, ['20T12 crm webhook 3'])
      clock.advance(-10 * MINUTE_MS)
      await log()
      t.match(
        await counts(),
        { countedUntil: '2024-11-20T00:00:00.000Z' },
        'it says so before it counts again',
      )
      await count()
      await log()
      await passed(2 * MINUTE_MS)
      t.strictSame((await counts()).rows, ['20T12 crm webhook 5'])
      await log()
      clock.advance(3 * HOUR_MS)
      await log()
      await count()
      t.strictSame((await counts()).rows, ['20T12 crm webhook 6'])
      clock.advance(-3 * HOUR_MS)
      await log()
      await passed(2 * MINUTE_MS)
      t.strictSame((await counts()).rows, ['20T12 crm webhook 6'])
      await passed(3 * HOUR_MS)
      t.strictSame((await counts()).rows, ['20T12 crm webhook 6', '20T15 crm webhook 2'])
      t.strictSame((await counts({ by: 'day' })).rows, ['20T00 crm webhook 8'])
    })

    t.test(
      'an activity that is stored after its hour was counted gets a new id, and is counted',
      async (t) => {
        const { store, another, clock, newId, tenantId, counter, log, counts } = await setting(t, kind)
        const gates: (() => void)[] = []
        const gated =
          <Input extends readonly unknown[], Answer>(write: (...input: Input) => Promise<Answer>) =>
          async (...input: Input) => {
            await new Promise<void>((open) => gates.push(open))
            return write(...input)
          }
        const activities = { ...store.activities, record: gated(store.activities.record) }
        const slow = createService({
          store: { ...store, activities },
          clock,
          newId,
          background: 'elsewhere',
        })
        t.teardown(slow.close)
        await counts()
        // Ada is new to the slow process at first, then remembered.
        for (const [count, rows] of [
          [counter(), ['20T12 crm webhook 1', '20T13 crm webhook 1']],
          [counter(await another()), ['20T12 crm webhook 1', '20T13 crm webhook 2', '20T14 crm webhook 1']],
        ] as const) {
          const decidedMs = clock()
          let isLogged = false
          const logged = slow
            .logProspectActivity({ tenantId, source: 'crm', payload, email: 'ada@example.com' })
            .finally(() => {
              isLogged = true
            })
          while (gates.length === 0) await setTimeout(0)
          await log({ email: 'bob@example.com' })
          clock.advance(HOUR_MS)
          await count()
          while (!isLogged) {
            for (const open of gates.splice(0)) open()
            await setTimeout(0)
          }
          t.equal(timeOfId((await logged).value.prospectLogId), decidedMs + HOUR_MS)
          clock.advance(MINUTE_MS)
          await count()
          t.strictSame((await counts()).rows, rows)
          clock.advance(-MINUTE_MS)
        }
      },
    )

    t.test('a process whose clock is ahead of the database closes no tenant by it', async (t) => {
      const { store, clock, service, tenantId, stepper, counter, log, counts } = await setting(t, kind)
      clock.advance(Date.now() - HOUR_MS - clock())
      await counts()
      await log()
      clock.advance(2 * DAY_MS)
      const step = stepper(store)
      for (let round = 0; round < 3; round++) while (await step(running)) {}
      t.match(await store.counts.find(tenantId), { position: '', closedTo: '' })
      clock.advance(-2 * DAY_MS)
      await log()
      clock.advance(2 * MINUTE_MS)
      await counter()()
      const { items } = (await service.listProspectLogCounts({ tenantId })).value
      t.equal(
        items.reduce((sum, { count }) => sum + count, 0),
        2,
      )
    })

    t.test('an activity that names no one is stored by a process whose clock is behind', async (t) => {
      const { clock, counter, log, counts } = await setting(t, kind)
      await counts()
      await log({ email: undefined })
      clock.advance(10 * MINUTE_MS)
      await counter()()
      clock.advance(-10 * MINUTE_MS)
      await log({ email: undefined })
      clock.advance(12 * MINUTE_MS)
      await counter()()
      t.strictSame((await counts()).rows, ['20T12 crm webhook 2'])
    })

    t.test('who does not ask is not counted, and is again once it asks', async (t) => {
      const { store, clock, service, tenantId, counter, log, counts } = await setting(t, kind)
      const silent = await service.createTenant({ name: 'Silent' })
      await counts()
      await log()
      await log({}, silent.tenantId)
      for (let day = 0; day < 33; day++) {
        clock.advance(24 * HOUR_MS)
        await counter()()
      }
      await log()
      t.equal(await store.counts.find(silent.tenantId), null)
      clock.advance(HOUR_MS)
      await counter()()
      const january = { since: '2024-11-01T00:00:00Z', until: '2025-01-01T00:00:00Z', by: 'day' }
      t.strictSame((await counts(january)).rows, ['20T00 crm webhook 1'])
      await counter()()
      t.strictSame((await counts(january)).rows, ['20T00 crm webhook 1', '23T00 crm webhook 1'])
      t.match(await store.counts.find(tenantId), { readAt: new Date(clock()).toISOString() })
    })

    t.test('the first 1,000 pairs of an hour have their own counts, the others share one', async (t) => {
      const { clock, service, tenantId, counter, log, counts } = await setting(t, kind)
      await counts()
      const types = (from: number, length: number) => Array.from({ length }, (_, i) => `t${from + i}`)
      const count = counter()
      const logAll = async (all: readonly string[]) => {
        const activities = all.map((type) => ({ tenantId, source: 'crm', type, payload }))
        for (let i = 0; i < activities.length; i += 1_000)
          await service.logProspectActivities(activities.slice(i, i + 1_000))
        clock.advance(2 * MINUTE_MS)
        await counter()()
      }
      await logAll(types(0, 1_000))
      await logAll(types(5, 1_000))
      await count()
      const { items } = (await service.listProspectLogCounts({ tenantId })).value
      t.equal(items.length, 1_001)
      t.match(items[0], { source: null, type: null, count: 5 })
      t.equal(items.filter(({ count }) => count === 2).length, 995)
      clock.advance(HOUR_MS)
      await log({ type: 'tomorrow' })
      clock.advance(2 * MINUTE_MS)
      await counter()()
      t.equal((await counts()).rows.at(-1), '20T13 crm tomorrow 1')
      t.equal((await counts({ by: 'day' })).rows[0], '20T00 null null 6')
    })
  },
  ['memory', 'sqlite', 'postgres', 'instance', 'tenant-routed', 'citus'],
)
