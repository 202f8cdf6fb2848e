import t from 'tap'
import { limitWrongKeys } from '../../src/adapters/http/wrong-keys.ts'
import { DomainFailure, refuse } from '../../src/core/failures.ts'
import { stoppedClock } from '../support/setting.ts'

const CALLER = { tenantId: 'tenant_a', apiKeyId: 'apikey_a', scopes: [] }
const wrong = new DomainFailure('invalid_api_key', 'wrong')
const limited = (retryAfterS: number) =>
  new DomainFailure('rate_limited', 'Too many wrong keys came from this address.', { retryAfterS })

const setting = ({ perMinute = 2 } = {}) => {
  const stopwatch = stoppedClock(0)
  const asked: (string | undefined)[] = []
  const identify = async (apiKey: string | undefined) => {
    asked.push(apiKey)
    if (apiKey === 'unavailable') refuse('unavailable', 'away')
    return apiKey?.startsWith('right') ? CALLER : refuse('invalid_api_key', 'wrong')
  }
  const isKnown = (apiKey: string) => apiKey === 'right and known'
  return { stopwatch, asked, call: limitWrongKeys({ identify, isKnown, perMinute, stopwatch }) }
}

t.test('an address may try so many wrong keys, and then nothing is looked up for it', async (t) => {
  const { asked, call } = setting()
  await t.rejects(call('a', '10.0.0.1'), wrong)
  await t.rejects(call('b', '10.0.0.1'), wrong)
  await t.rejects(call('c', '10.0.0.1'), limited(30))
  await t.rejects(call('right', '10.0.0.1'), limited(30))
  t.strictSame(asked, ['a', 'b'])
})

t.test('many wrong keys at the same moment are no more than one after another', async (t) => {
  const { asked, call } = setting()
  const answers = await Promise.allSettled(['a', 'b', 'c', 'd'].map((key) => call(key, '10.0.0.1')))
  t.strictSame(
    answers.map((answer) => answer.status === 'rejected' && answer.reason.kind),
    ['invalid_api_key', 'invalid_api_key', 'rate_limited', 'rate_limited'],
  )
  t.strictSame(asked, ['a', 'b'])
})

t.test('a key that is known to be right is let through, and other addresses are not concerned', async (t) => {
  const { call } = setting({ perMinute: 1 })
  await t.rejects(call('a', '10.0.0.1'), wrong)
  t.equal(await call('right and known', '10.0.0.1'), CALLER)
  t.equal(await call('right', '10.0.0.2'), CALLER)
})

t.test('whoever waits as long as told may try again', async (t) => {
  const { call, stopwatch } = setting()
  for (const key of ['a', 'b']) await t.rejects(call(key, '10.0.0.1'), wrong)
  stopwatch.advance(29_999)
  await t.rejects(call('right', '10.0.0.1'), limited(1))
  stopwatch.advance(1)
  t.equal(await call('right', '10.0.0.1'), CALLER)
})

t.test('right keys, no key at all and a database that is away count for nothing', async (t) => {
  const { call } = setting({ perMinute: 1 })
  for (let i = 0; i < 5; i++) t.equal(await call('right', '10.0.0.1'), CALLER)
  for (let i = 0; i < 5; i++)
    await t.rejects(call('unavailable', '10.0.0.1'), new DomainFailure('unavailable', 'away'))
  for (let i = 0; i < 5; i++) await t.rejects(call(undefined, '10.0.0.1'), wrong)
  t.equal(await call('right', '10.0.0.1'), CALLER)
})

t.test('of IPv6 the network counts, however it is written', async (t) => {
  for (const [first, second] of [
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::9'],
    ['2001:db8::1', '2001:db8:0:0:ffff::'],
    ['::1', '::2'],
  ] as const) {
    const { call } = setting({ perMinute: 1 })
    await t.rejects(call('a', first), wrong)
    await t.rejects(call('b', second), limited(60), second)
    await t.rejects(call('c', '2001:db9::1'), wrong)
  }
  const { call } = setting({ perMinute: 1 })
  await t.rejects(call('a', '::ffff:10.0.0.1'), wrong)
  await t.rejects(call('b', '::ffff:10.0.0.2'), wrong)
})
