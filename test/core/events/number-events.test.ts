import t from 'tap'
import { shareLoop } from '../../../src/adapters/loop-share.ts'
import { numberEvents } from '../../../src/core/events/number-events.ts'
import type { Events } from '../../../src/core/ports/events.ts'
import { stoppedClock } from '../../support/setting.ts'

const ON = new AbortController().signal

/** A store that works as the embedded database does, while no other work runs. */
const workFor = (ms: number) => {
  for (const end = performance.now() + ms; performance.now() < end; );
}

/** Tenants with so many waiting events, or a store that cannot number theirs. */
const setUp = (counts: Readonly<Record<string, number | Error>>) => {
  const left = new Map(Object.entries(counts))
  const visits: string[] = []
  const errors: unknown[] = []
  const events: Pick<Events, 'waiting' | 'number'> = {
    waiting: async (after, max) =>
      [...left.keys()].filter((tenantId) => tenantId > after && left.get(tenantId) !== 0).slice(0, max),
    number: async ({ tenantId, max }) => {
      visits.push(tenantId)
      const count = left.get(tenantId) ?? 0
      if (count instanceof Error) throw count
      left.set(tenantId, Math.max(0, count - max))
      return Math.min(count, max)
    },
  }
  const onError = (error: unknown) => errors.push(error)
  const step = numberEvents({ store: { events: events as Events }, clock: stoppedClock(), onError })
  return { step, left, visits, errors }
}
const idOf = (i: number) => `t${String(i).padStart(3, '0')}`
const many = (length: number, count: number) =>
  Object.fromEntries(Array.from({ length }, (_, i) => [idOf(i), count]))

t.test('tenants take turns: a long queue of one holds up no other', async (t) => {
  const { step, visits } = setUp({ ...many(20, 1), [idOf(0)]: 2_000 })
  while (await step(ON));
  t.equal(visits.filter((tenantId) => tenantId === idOf(0)).length, 4)
  t.equal(new Set(visits.slice(0, 20)).size, 20, 'each once before anybody twice')
  t.equal(visits.length, 23)
})

t.test('numbering rests when no event is pending, or another process numbers them', async (t) => {
  const { step, left } = setUp({})
  t.equal(await step(ON), false)
  left.set('t1', 1)
  t.equal(await step(ON), true)
  t.equal(await step(ON), false)
  const { step: shared } = setUp({ t1: Number.NaN })
  t.equal(await shared(ON), false, 'another process has numbered them')
})

t.test('a tenant that fails keeps nobody else waiting, and is not tried without a pause', async (t) => {
  const away = new Error('away')
  const { step, left, errors } = setUp({ t1: away, t2: 600 })
  while (await step(ON));
  t.equal(left.get('t2'), 0)
  t.ok(errors.length <= 3)
  t.equal(errors[0], away)
})

t.test('many tenants that fail are each tried once before a pause', async (t) => {
  const { step, errors } = setUp(
    Object.fromEntries(Array.from({ length: 20 }, (_, i) => [idOf(i), new Error('read-only')])),
  )
  for (let steps = 0; steps < 3; steps++) t.equal(await step(ON), steps < 2)
  t.equal(errors.length, 20)
})

t.test('no event is numbered after a stop', async (t) => {
  const { step, visits } = setUp({ t1: 1 })
  t.equal(await step(AbortSignal.abort()), false)
  t.strictSame(visits, [])
})

t.test('between two tenants whose events take long to number, a request has its turn', async (t) => {
  const done: string[] = []
  const events = {
    waiting: async () => ['t1', 't2', 't3'],
    number: async ({ tenantId }: { tenantId: string }) => {
      done.push(tenantId)
      workFor(10)
      if (tenantId === 't1') void shareLoop('quiet')?.then(() => done.push('quiet'))
      return 1
    },
  }
  const store = { events: events as unknown as Events }
  const step = numberEvents({ store, clock: stoppedClock(), onError: t.error, shareLoop })
  await step(ON)
  t.strictSame(done, ['t1', 'quiet', 't2', 't3'])
})
