import { setImmediate as nextTick } from 'node:timers/promises'
import t from 'tap'
import type { Log } from '../../src/adapters/log.ts'
import { observeWork } from '../../src/compose/observe-work.ts'
import { observe } from '../../src/compose/telemetry.ts'
import { unavailable } from '../../src/core/engine/failures.ts'

/** The hooks of the publisher and of requests, and what they logged. */
const setUp = () => {
  const lines: unknown[][] = []
  const at =
    (level: string) =>
    (...given: unknown[]) =>
      lines.push([level, ...given])
  const log = { info: at('info'), warn: at('warn'), error: at('error') } as unknown as Log
  const { requests } = observe({ log })
  const { publishing, erasing } = observeWork({ log })
  return { ...publishing, erasing, requests, lines }
}
const away = unavailable('The database cannot answer now.', new Error('connect ECONNREFUSED 127.0.0.1:1'))

t.test('a database that is away is one line of each work, and one when it is back', async (t) => {
  const { onError, onStep, lines } = setUp()
  onStep()
  for (let step = 0; step < 100; step++) onError(away)
  const reason = 'connect ECONNREFUSED 127.0.0.1:1'
  t.strictSame(lines, [['warn', { reason }, 'Publishing waits: the database cannot answer.']])
  onStep()
  onStep()
  t.strictSame(lines.slice(1), [['info', 'Publishing works again.']])
})

t.test('one that goes away again within the minute is no line', async (t) => {
  const { onError, onStep, lines } = setUp()
  for (let time = 0; time < 3; time++) {
    onError(away)
    onStep()
  }
  t.equal(lines.length, 2)
})

t.test('a bug keeps its stack, every time', async (t) => {
  const { onError, onStep, lines } = setUp()
  const bug = new Error('a bug')
  for (const error of [bug, away, bug]) onError(error)
  onStep()
  t.match(lines, [
    ['error', { err: bug }],
    ['warn'],
    ['error', { err: bug }, 'Publishing failed; retrying.'],
    ['info'],
  ])
})

t.test('requests that fail for one reason are one line a minute, which counts them', async (t) => {
  let ms = 0
  t.capture(performance, 'now', () => ms)
  const { requests, lines } = setUp()
  const refusedBy = (port: number) =>
    Object.assign(new Error(`connect ECONNREFUSED 127.0.0.1:${port}`), { code: 'ECONNREFUSED' })
  const oneBug = new TypeError('a bug')
  const otherBug = new TypeError('a bug')
  const fail = () => {
    for (let i = 0; i < 500; i++)
      for (const error of [refusedBy(i), oneBug, otherBug])
        requests.onError(error, `request-${i}`, { tenantId: 'a' })
  }
  fail()
  const requestId = 'request-0'
  t.match(lines, [
    ['error', { err: /ECONNREFUSED/, requestId, tenantId: 'a', count: 1 }, 'request failed'],
    ['error', { err: oneBug, count: 1 }],
    ['error', { err: otherBug, count: 1 }],
  ])
  t.equal(lines.length, 3)
  ms = 60_000
  fail()
  t.match(lines.slice(3), [
    ['error', { count: 500 }],
    ['error', { count: 500 }],
    ['error', { count: 500 }],
  ])
  t.equal(lines.length, 6)
})

t.test('a clock far ahead is a line with both times and what to do', async (t) => {
  const { erasing, lines } = setUp()
  const servedAt = '2026-01-01T00:00:00.000Z'
  const pausedAt = '2027-01-01T00:00:00.000Z'
  erasing.onPause({ servedAt, pausedAt })
  t.match(lines, [['warn', { servedAt, now: pausedAt }, /24 hours.* Check the clock\./]])
})

t.test('a request is logged once its answer is written', async (t) => {
  const { requests, lines } = setUp()
  const answered = { requestId: 'id', method: 'GET', route: '/v0/pages', status: 200, code: null, ms: 1 }
  requests.onAnswered(answered)
  t.strictSame(lines, [])
  await nextTick()
  t.strictSame(lines, [['info', answered, 'answered']])
})
