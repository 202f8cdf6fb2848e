import t from 'tap'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { idsSince } from '../../../src/core/engine/id-times.ts'
import { DAY_MS } from '../../../src/core/engine/times.ts'
import { deleteExpired } from '../../../src/core/erasures/delete-expired.ts'
import type { Erasures } from '../../../src/core/ports/erasures.ts'
import type { Events } from '../../../src/core/ports/events.ts'
import type { Served } from '../../../src/core/ports/world.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const ON = new AbortController().signal

/** Tenants `t000`, `t001` …, and what expires of each: so many lists, or an error. */
const setting = async (lists: readonly (number | Error)[], eventLists = 0) => {
  const { tenants, erasures, events } = memoryStore()
  let nowMs = Date.parse(NOW)
  const pauses: Served[] = []
  const idOf = (i: number) => `t${String(i).padStart(3, '0')}`
  for (const i of lists.keys())
    await tenants.add({ tenantId: idOf(i), brandId: `b${i}`, name: 'Acme', createdAt: NOW })
  const left = new Map(lists.map((list, i) => [idOf(i), list]))
  const asked: string[] = []
  const cuts: (string | null)[] = []
  const expire: Erasures['expire'] = async ({ tenantId, beforeLogId }) => {
    asked.push(tenantId)
    cuts.push(beforeLogId)
    const list = left.get(tenantId) ?? 0
    if (list instanceof Error) throw list
    left.set(tenantId, Math.max(0, list - 1))
    return list > 1
  }
  const eventCuts: string[] = []
  const expireEvents: Events['expire'] = async ({ beforeEventId }) => {
    eventCuts.push(beforeEventId)
    return eventLists-- > 1
  }
  const errors: unknown[] = []
  /** As a process that has just started. */
  const start = () =>
    deleteExpired({
      store: { tenants, erasures: { ...erasures, expire }, events: { ...events, expire: expireEvents } },
      clock: () => nowMs,
      retentionDays: 1,
      eventDaysKept: 30,
      onError: (error) => errors.push(error),
      onPause: (pause) => pauses.push(pause),
    })
  let step = start()
  const round = async () => {
    while (await step(ON));
    return asked.splice(0)
  }
  const restart = (days: number) => {
    nowMs += days * DAY_MS
    step = start()
  }
  return {
    tenants,
    erasures,
    restart,
    pauses,
    step: (stop: AbortSignal) => step(stop),
    round,
    asked,
    cuts,
    eventCuts,
    errors,
  }
}

t.test('a tenant whose turn fails keeps nobody else waiting, and has a turn in the next round', async (t) => {
  const away = new Error('away')
  const { round, errors } = await setting([away, 3, away])
  t.strictSame(await round(), ['t000', 't001', 't002', 't001', 't001'])
  t.strictSame(errors, [away, away])
  t.strictSame(await round(), ['t000', 't001', 't002'])
})

t.test('a round visits each tenant once, and then only those that have more', async (t) => {
  const { round } = await setting(Array.from({ length: 250 }, (_, i) => (i === 7 ? 4 : 1)))
  const visits = await round()
  t.equal(visits.length, 253)
  t.equal(new Set(visits).size, 250)
  t.equal(visits.filter((tenantId) => tenantId === 't007').length, 4)
})

t.test('a retention that is changed during a round holds from then on', async (t) => {
  const { tenants, step, cuts } = await setting([1, 3])
  await step(ON)
  await tenants.update('t001', { retentionDays: 0 })
  await step(ON)
  t.equal(cuts.length, 3)
  t.equal(cuts[2], null)
})

t.test('it stops between two tenants', async (t) => {
  const { step, asked } = await setting([1, 1])
  const stopping = new AbortController()
  stopping.abort()
  t.equal(await step(stopping.signal), false)
  t.strictSame(asked, [])
})

t.test('if the tenants cannot be listed, the next call goes on at the same place', async (t) => {
  const { tenants, step, asked } = await setting([1, 2])
  await step(ON)
  const { list } = tenants
  Object.assign(tenants, { list: () => Promise.reject(new Error('away')) })
  await t.rejects(step(ON), { message: 'away' })
  Object.assign(tenants, { list })
  t.equal(await step(ON), false)
  t.strictSame(asked, ['t000', 't001', 't001'])
})

t.test('events expire after their own time, as many lists as it takes', async (t) => {
  const { round, eventCuts } = await setting([1], 3)
  await round()
  t.strictSame(eventCuts, Array(3).fill(idsSince('event', '2025-12-02T00:00:00.000Z')))
})

t.test('with a clock a year ahead nothing is deleted for a day, however often it restarts', async (t) => {
  const { erasures, restart, round, pauses } = await setting([1])
  t.strictSame(await round(), ['t000'])
  for (const days of [365, 0, 0.5, 0.49]) {
    restart(days)
    t.strictSame(await round(), [])
  }
  t.strictSame(pauses, [{ servedAt: NOW, pausedAt: '2027-01-01T00:00:00.000Z' }], 'told once')
  restart(0.01)
  t.strictSame(await round(), ['t000'])
  t.strictSame(await erasures.lastServed(), { servedAt: '2027-01-02T00:00:00.000Z', pausedAt: null })
})

t.test('a clock that jumps ahead while it runs deletes nothing either, until it is put right', async (t) => {
  const { restart, round, step, asked, pauses } = await setting([1, 3])
  await step(ON)
  restart(365)
  asked.splice(0)
  t.strictSame(await round(), [])
  restart(-365)
  t.strictSame(await round(), ['t000', 't001', 't001'])
  t.equal(pauses.length, 1)
})
