import t from 'tap'
import { limitFailedAuth } from '../../../../src/adapters/http/limits/failed-auth-limit.ts'
import { DomainFailure, refuse } from '../../../../src/core/engine/failures.ts'
import { stoppedClock } from '../../../support/setting.ts'

const CALLER = { tenantId: 'tenant_a', apiKeyId: 'apikey_a', scopes: [] }
const invalid = new DomainFailure('invalid_api_key', 'invalid')
const limited = (retryAfterS: number) =>
  new DomainFailure('rate_limited', 'This address has sent too many invalid API keys.', { retryAfterS })

const setUp = ({ perMinute = 2 } = {}) => {
  const stopwatch = stoppedClock(0)
  const inFlight: string[] = []
  let inFlightMost = 0
  const identify = async (apiKey = '') => {
    inFlight.push(apiKey)
    inFlightMost = Math.max(inFlightMost, inFlight.length)
    await new Promise((resolve) => setImmediate(resolve))
    inFlight.pop()
    if (apiKey === 'unavailable') refuse('unavailable', 'away')
    return apiKey.startsWith('valid') ? CALLER : refuse('invalid_api_key', 'invalid')
  }
  const limit = limitFailedAuth(perMinute, stopwatch)
  const call = (apiKey: string, address: string) => limit(address, () => identify(apiKey))
  return { stopwatch, call, inFlight, inFlightMost: () => inFlightMost }
}

t.test('an address may send so many invalid keys, and then is told when to come again', async (t) => {
  const { call } = setUp()
  await t.rejects(call('a', '10.0.0.1'), invalid)
  await t.rejects(call('b', '10.0.0.1'), invalid)
  await t.rejects(call('c', '10.0.0.1'), limited(30))
})

t.test('many invalid keys at the same moment are no more than one after another', async (t) => {
  const { call } = setUp()
  const answers = await Promise.allSettled(['a', 'b', 'c', 'd'].map((key) => call(key, '10.0.0.1')))
  t.strictSame(
    answers.map((answer) => answer.status === 'rejected' && answer.reason.kind),
    ['invalid_api_key', 'invalid_api_key', 'rate_limited', 'rate_limited'],
  )
})

t.test('valid keys are never refused, however many are first used at one moment', async (t) => {
  const { call, inFlightMost } = setUp({ perMinute: 1 })
  const keys = Array.from({ length: 200 }, (_, i) => `valid ${i}`)
  for (const caller of await Promise.all(keys.map((key) => call(key, '10.0.0.1')))) t.equal(caller, CALLER)
  t.equal(inFlightMost(), 4, 'the look-ups of one address wait for each other')
})

t.test('nor after the address has used up its failures', async (t) => {
  const { call } = setUp({ perMinute: 1 })
  await t.rejects(call('a', '10.0.0.1'), invalid)
  await t.rejects(call('b', '10.0.0.1'), limited(60))
  t.equal(await call('valid', '10.0.0.1'), CALLER)
})

t.test('other addresses do not wait for the look-ups of one', async (t) => {
  const { call, inFlight } = setUp()
  const guesses = Promise.allSettled(Array.from({ length: 100 }, (_, i) => call(`guess ${i}`, '10.0.0.1')))
  const other = call('valid', '10.0.0.2')
  await Promise.resolve()
  t.ok(inFlight.includes('valid'))
  await other
  await guesses
})

t.test('who comes again as late as it was told may fail again', async (t) => {
  const { call, stopwatch } = setUp()
  for (const key of ['a', 'b']) await t.rejects(call(key, '10.0.0.1'), invalid)
  stopwatch.advance(29_999)
  await t.rejects(call('c', '10.0.0.1'), limited(1))
  stopwatch.advance(1)
  await t.rejects(call('c', '10.0.0.1'), invalid)
})

t.test('a database that is away is no failure of the address', async (t) => {
  const { call } = setUp({ perMinute: 1 })
  for (let i = 0; i < 5; i++)
    await t.rejects(call('unavailable', '10.0.0.1'), new DomainFailure('unavailable', 'away'))
  await t.rejects(call('a', '10.0.0.1'), invalid)
})

t.test('an IPv6 address counts as its network, however it is written', async (t) => {
  for (const [first, second] of [
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::9'],
    ['2001:db8::1', '2001:db8:0:0:ffff::'],
    ['2001::1:2:3:4:5:6', '2001:0:1:2::9'],
    ['::1', '::2'],
  ] as const) {
    const { call } = setUp({ perMinute: 1 })
    await t.rejects(call('a', first), invalid)
    await t.rejects(call('b', second), limited(60), second)
    await t.rejects(call('c', '2001:db9::1'), invalid)
  }
  const { call } = setUp({ perMinute: 1 })
  await t.rejects(call('a', '::ffff:10.0.0.1'), invalid)
  await t.rejects(call('b', '::ffff:10.0.0.2'), invalid)
})
