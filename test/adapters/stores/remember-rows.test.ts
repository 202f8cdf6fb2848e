import t from 'tap'
import { createStopwatch } from '../../../src/adapters/stopwatch.ts'
import { rememberRows } from '../../../src/adapters/stores/remember-rows.ts'
import type { StoredApiKey } from '../../../src/core/ports/api-keys.ts'
import { stoppedClock } from '../../support/setting.ts'

/** A store in which every key exists but those named `missing`, and which can fail. */
const setUp = ({ keysMax = 10 } = {}) => {
  const asked: string[] = []
  const state = { fails: false, hasAllSignals: true }
  const stopwatch = stoppedClock(0)
  const findByHashes = async (keyHashes: readonly string[]) => {
    const start = String(asked.push(keyHashes.join()))
    if (state.fails) throw new Error('the database is away')
    await new Promise(setImmediate)
    const existing = keyHashes.filter((keyHash) => !keyHash.startsWith('missing'))
    return existing.map((keyHash) => ({ keyHash, start }) as StoredApiKey).reverse()
  }
  const limits = { rowsMax: keysMax, msMax: 1_000, hasAllSignals: () => state.hasAllSignals }
  const remembered = rememberRows(findByHashes, ({ keyHash }) => keyHash, stopwatch, limits)
  return { asked, state, stopwatch, ...remembered, find: async (id: string) => remembered.find(id) }
}

t.test('a key is looked up once, also by those who ask at the same moment', async (t) => {
  const { asked, find } = setUp()
  const answers = await Promise.all([find('a'), find('a')])
  answers.push(await find('a'))
  t.strictSame(
    answers.map((key) => key?.start),
    ['1', '1', '1'],
  )
  t.strictSame(asked, ['a'])
})

t.test('each key is remembered as itself', async (t) => {
  const { find } = setUp()
  await find('a')
  t.equal((await find('b'))?.keyHash, 'b')
  t.equal((await find('a'))?.keyHash, 'a')
})

t.test('a signal makes it forget', async (t) => {
  const { find, forget } = setUp()
  await find('a')
  forget()
  t.equal((await find('a'))?.start, '2')
})

t.test('a look-up that began before the signal is not remembered after it', async (t) => {
  const { find, forget } = setUp()
  const before = find('a')
  forget()
  await before
  t.equal((await find('a'))?.start, '2')
})

t.test('a remembered key is looked up again while signals may be missing', async (t) => {
  const { find, state } = setUp()
  await find('a')
  state.hasAllSignals = false
  t.equal((await find('a'))?.start, '2')
  state.hasAllSignals = true
  t.equal((await find('a'))?.start, '2', 'and trusted once none are')
})

t.test('should the signal be lost, it forgets after a time', async (t) => {
  const { find, stopwatch } = setUp()
  await find('a')
  stopwatch.advance(999)
  t.equal((await find('a'))?.start, '1')
  stopwatch.advance(1)
  t.equal((await find('a'))?.start, '2')
})

t.test('a key that does not exist is not remembered', async (t) => {
  const { asked, find } = setUp()
  await find('missing')
  t.equal(await find('missing'), null)
  t.equal(asked.length, 2)
})

t.test('a look-up that failed is tried again', async (t) => {
  const { find, state } = setUp()
  state.fails = true
  await t.rejects(find('a'), /the database is away/)
  state.fails = false
  t.equal((await find('a'))?.keyHash, 'a')
})

t.test('it keeps a bounded number of keys', async (t) => {
  const { asked, find } = setUp({ keysMax: 2 })
  for (const keyHash of ['a', 'b', 'c', 'a']) await find(keyHash)
  t.strictSame(asked, ['a', 'b', 'c', 'a'])
})

t.test('that a key was right is known also when it must be looked up again', async (t) => {
  const { find, forget, state, isKnown } = setUp()
  t.equal(isKnown('a'), false)
  await find('a')
  await find('missing')
  t.strictSame([isKnown('a'), isKnown('missing')], [true, false])
  forget()
  t.equal(isKnown('a'), true)
  state.fails = true
  await t.rejects(find('a'), /the database is away/)
  t.equal(isKnown('a'), true)
})

t.test('a key that is being looked up is not known yet, so each guess of it counts', async (t) => {
  const { find, isKnown } = setUp()
  const guess = find('missing')
  t.equal(isKnown('missing'), false)
  await guess
})

t.test('many unknown keys are few look-ups, one at a time, and a new key among them is found', async (t) => {
  const { asked, find } = setUp()
  const guesses = Array.from({ length: 500 }, (_, i) => `missing ${i}`)
  const answers = Promise.all([...guesses, 'new', ...guesses].map(find))
  t.equal((await answers).filter((key) => key?.keyHash === 'new').length, 1)
  t.equal(asked.length, 2)
})

t.test('a key that is known waits for no guess, and guesses do not displace it', async (t) => {
  const { asked, find, forget } = setUp({ keysMax: 2 })
  await find('a')
  const guesses = Array.from({ length: 1_000 }, (_, i) => find(`missing ${i}`))
  await find('a')
  t.equal(asked.filter((id) => id === 'a').length, 1)
  forget()
  t.equal((await find('a'))?.keyHash, 'a')
  t.strictSame(asked.indexOf('a', 1), 2, 'looked up beside the first of the guesses')
  await Promise.all(guesses)
})

t.test('the stopwatch goes on while the machine sleeps, and never back', async (t) => {
  let monotonicMs = 100
  let wallMs = 1_000_000
  const stopwatch = createStopwatch(
    () => monotonicMs,
    () => wallMs,
  )
  const pass = (ms: number, wall = ms) => {
    monotonicMs += ms
    wallMs += wall
    return stopwatch()
  }
  t.equal(pass(0), 100)
  t.equal(pass(5_000), 5_100)
  t.equal(pass(1_000, 110_000), 115_100, 'the machine slept')
  t.equal(pass(0, -3_600_000), 115_100, 'the wall clock was set back')
  t.equal(pass(10), 115_110)
  t.equal(pass(0, 60_000), 175_110, 'the machine slept again')
  for (let i = 0; i < 100; i++) pass(10, i % 2 ? 500 : -480)
  t.equal(pass(0), 176_110, 'a wall clock that wavers does not make it run fast')
})
