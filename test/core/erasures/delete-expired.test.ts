import t from 'tap'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { idsSince } from '../../../src/core/engine/id-times.ts'
import { DAY_MS } from '../../../src/core/engine/times.ts'
import { deleteExpired } from '../../../src/core/erasures/delete-expired.ts'
import type { Erasures } from '../../../src/core/ports/erasures.ts'
import type { Events } from '../../../src/core/ports/events.ts'
import type { Served } from '../../../src/core/ports/world.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const NEVER_STOPPED = new AbortController().signal

const tenantIdOf = (i: number) => `t${String(i).padStart(3, '0')}`

/** Tenants `t000`, `t001` and so on. Each has a number of batches that expire, or an error. */
const countingExpiry = async (batches: readonly (number | Error)[], eventBatches = 0) => {
  const { tenants, erasures, events } = memoryStore()
  for (const i of batches.keys()) {
    await tenants.add({ tenantId: tenantIdOf(i), brandId: `b${i}`, name: 'Acme', createdAt: NOW })
  }
  const batchesLeft = new Map(batches.map((count, i) => [tenantIdOf(i), count]))
  const visited: string[] = []
  const logCuts: (string | null)[] = []
  const expire: Erasures['expire'] = async ({ tenantId, beforeLogId }) => {
    visited.push(tenantId)
    logCuts.push(beforeLogId)
    const left = batchesLeft.get(tenantId) ?? 0
    if (left instanceof Error) throw left
    batchesLeft.set(tenantId, Math.max(0, left - 1))
    return left > 1
  }
  let eventBatchesLeft = eventBatches
  const eventCuts: string[] = []
  const expireEvents: Events['expire'] = async ({ beforeEventId }) => {
    eventCuts.push(beforeEventId)
    return eventBatchesLeft-- > 1
  }
  const store = { tenants, erasures: { ...erasures, expire }, events: { ...events, expire: expireEvents } }
  return { store, visited, logCuts, eventCuts }
}

/** The deletion over such tenants, in a process that can restart on another day. */
const expiryScene = async (batches: readonly (number | Error)[], eventBatches = 0) => {
  const { store, visited, logCuts, eventCuts } = await countingExpiry(batches, eventBatches)
  let nowMs = Date.parse(NOW)
  const errors: unknown[] = []
  const pauses: Served[] = []
  const start = () =>
    deleteExpired({
      store,
      clock: () => nowMs,
      retentionDays: 1,
      eventDaysKept: 30,
      onError: (error) => errors.push(error),
      onPause: (pause) => pauses.push(pause),
    })
  let step = start()
  return {
    tenants: store.tenants,
    erasures: store.erasures,
    visited,
    logCuts,
    eventCuts,
    errors,
    pauses,
    step: (stop = NEVER_STOPPED) => step(stop),
    /** Runs steps until there is nothing to delete, and returns the tenants that were visited. */
    round: async () => {
      let hasMore = true
      while (hasMore) hasMore = await step(NEVER_STOPPED)
      return visited.splice(0)
    },
    restart: (daysLater: number) => {
      nowMs += daysLater * DAY_MS
      step = start()
    },
  }
}

t.test('a tenant that fails does not hold up the others, and is retried in the next round', async (t) => {
  const away = new Error('away')
  const { round, errors } = await expiryScene([away, 3, away])
  t.strictSame(await round(), ['t000', 't001', 't002', 't001', 't001'])
  t.strictSame(errors, [away, away])
  t.strictSame(await round(), ['t000', 't001', 't002'])
})

t.test('a round visits each tenant once, and again only those with more to delete', async (t) => {
  const { round } = await expiryScene(Array.from({ length: 250 }, (_, i) => (i === 7 ? 4 : 1)))
  const visits = await round()
  t.equal(visits.length, 253)
  t.equal(new Set(visits).size, 250)
  t.equal(visits.filter((tenantId) => tenantId === 't007').length, 4)
})

t.test('a retention that changes during a round applies at once', async (t) => {
  const { tenants, step, logCuts } = await expiryScene([1, 3])
  await step()
  await tenants.update('t001', { retentionDays: 0 })
  await step()
  t.equal(logCuts.length, 3)
  t.equal(logCuts[2], null)
})

t.test('the deletion stops between two tenants', async (t) => {
  const { step, visited } = await expiryScene([1, 1])
  const stopping = new AbortController()
  stopping.abort()
  t.equal(await step(stopping.signal), false)
  t.strictSame(visited, [])
})

t.test('if the tenants cannot be listed, the next step continues at the same place', async (t) => {
  const { tenants, step, visited } = await expiryScene([1, 2])
  await step()
  const { list } = tenants
  Object.assign(tenants, { list: () => Promise.reject(new Error('away')) })
  await t.rejects(step(), { message: 'away' })
  Object.assign(tenants, { list })
  t.equal(await step(), false)
  t.strictSame(visited, ['t000', 't001', 't001'])
})

t.test('events expire after a different time, in as many batches as needed', async (t) => {
  const { round, eventCuts } = await expiryScene([1], 3)
  await round()
  t.strictSame(eventCuts, Array(3).fill(idsSince('event', '2025-12-02T00:00:00.000Z')))
})

t.test(
  'with a clock a year ahead nothing is deleted for a day, however often the process restarts',
  async (t) => {
    const { erasures, restart, round, pauses } = await expiryScene([1])
    t.strictSame(await round(), ['t000'])
    for (const days of [365, 0, 0.5, 0.49]) {
      restart(days)
      t.strictSame(await round(), [])
    }
    t.strictSame(pauses, [{ servedAt: NOW, pausedAt: '2027-01-01T00:00:00.000Z' }], 'reported once')
    restart(0.01)
    t.strictSame(await round(), ['t000'])
    t.strictSame(await erasures.lastServed(), { servedAt: '2027-01-02T00:00:00.000Z', pausedAt: null })
  },
)

t.test('a clock that jumps ahead deletes nothing until it is corrected', async (t) => {
  const { restart, round, step, visited, pauses } = await expiryScene([1, 3])
  await step()
  restart(365)
  visited.splice(0)
  t.strictSame(await round(), [])
  restart(-365)
  t.strictSame(await round(), ['t000', 't001', 't001'])
  t.equal(pauses.length, 1)
})
