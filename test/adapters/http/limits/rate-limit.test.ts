import t from 'tap'
import { createRateLimit } from '../../../../src/adapters/http/limits/rate-limit.ts'
import type { DomainFailure } from '../../../../src/core/engine/failures.ts'
import { stoppedClock } from '../../../support/setting.ts'

const setUp = (perMinute: number) => {
  const stopwatch = stoppedClock(0)
  const count = createRateLimit(perMinute, stopwatch)
  /** When the key may come again, if it must; and the headers of its answer. */
  const ask = (apiKeyId: string, moreItems?: number) => {
    const headers: Record<string, string> = {}
    try {
      count?.({ tenantId: 'tenant', scopes: [], apiKeyId }, headers, moreItems)
      return { retryAfterS: null, headers }
    } catch (failure) {
      const { kind, facts } = failure as DomainFailure
      return { kind, retryAfterS: facts.retryAfterS ?? null, headers }
    }
  }
  return { stopwatch, ask }
}

t.test('a key may ask as often as the limit says, and then waits', async (t) => {
  const { ask } = setUp(3)
  const answers = Array.from({ length: 5 }, () => ask('a').retryAfterS)
  t.strictSame(answers, [null, null, null, 20, 20])
})

t.test('every answer has the policy, what is left, and when more comes', async (t) => {
  const { ask } = setUp(3)
  t.strictSame(ask('a').headers, {
    'ratelimit-policy': '"per-minute";q=3;w=60',
    ratelimit: '"per-minute";r=2;t=0',
  })
  ask('a')
  t.equal(ask('a').headers['ratelimit'], '"per-minute";r=0;t=20')
  t.equal(ask('a').headers['ratelimit'], '"per-minute";r=0;t=20')
})

t.test('a key that waits for as long as it was told is let in, once', async (t) => {
  const { ask, stopwatch } = setUp(7)
  for (let i = 0; i < 7; i++) ask('a')
  const { retryAfterS } = ask('a')
  stopwatch.advance((retryAfterS ?? 0) * 1_000)
  t.equal(ask('a').retryAfterS, null)
  t.not(ask('a').retryAfterS, null)
})

t.test('before that time nobody is let in, and asking does not put it off', async (t) => {
  const { ask, stopwatch } = setUp(1)
  ask('a')
  stopwatch.advance(30_000)
  t.equal(ask('a').retryAfterS, 30)
  stopwatch.advance(29_999)
  t.equal(ask('a').retryAfterS, 1)
  stopwatch.advance(1)
  t.equal(ask('a').retryAfterS, null)
})

t.test('the bucket fills evenly, and never past the limit', async (t) => {
  const { ask, stopwatch } = setUp(60)
  for (let i = 0; i < 60; i++) ask('a')
  stopwatch.advance(2_000)
  t.strictSame(
    [ask('a'), ask('a'), ask('a')].map(({ retryAfterS }) => retryAfterS),
    [null, null, 1],
  )
  stopwatch.advance(58_000)
  ask('a')
  stopwatch.advance(59_000)
  t.equal(ask('a').headers['ratelimit'], '"per-minute";r=59;t=0')
})

t.test('one key does not use up what another has', async (t) => {
  const { ask } = setUp(1)
  ask('a')
  t.equal(ask('b').retryAfterS, null)
  t.equal(ask('a').retryAfterS, 60)
})

t.test('forgetting full buckets forgets no other', async (t) => {
  const { ask, stopwatch } = setUp(1)
  ask('a')
  stopwatch.advance(30_000)
  ask('b')
  stopwatch.advance(30_000)
  ask('c')
  t.equal(ask('b').retryAfterS, 30)
  t.equal(ask('a').retryAfterS, null)
})

t.test('10,000 are limited at once, and memory for more than 100,000 in a minute is not kept', async (t) => {
  const { ask } = setUp(1)
  const names = (count: number) => Array.from({ length: count }, (_, i) => `a${i}`)
  const isLetIn = (name: string) => ask(name).retryAfterS === null
  t.ok(names(10_000).every(isLetIn))
  t.notOk(names(10_000).some(isLetIn))
  names(100_000).forEach(isLetIn)
  t.ok(isLetIn('b'))
  t.ok(isLetIn('a0'))
})

t.test('a batch that the limit can never allow is invalid, even with a limit of one', async (t) => {
  for (const perMinute of [1, 3]) {
    const { ask } = setUp(perMinute)
    ask('a')
    t.equal(ask('a', perMinute - 1).kind, undefined)
    t.equal(ask('a', perMinute).kind, 'invalid_request')
  }
})
