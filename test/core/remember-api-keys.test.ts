import t from 'tap'
import type { StoredApiKey } from '../../src/core/ports/api-keys.ts'
import { rememberApiKeys } from '../../src/core/remember-api-keys.ts'
import { stoppedClock } from '../support/setting.ts'

/** A store in which every key exists but those named `missing`, and which can fail. */
const setting = ({ keysMax = 10 } = {}) => {
  const asked: string[] = []
  const state = { fails: false }
  const stopwatch = stoppedClock(0)
  const find = async (keyHash: string) => {
    asked.push(keyHash)
    if (state.fails) throw new Error('the database is away')
    return keyHash === 'missing' ? null : ({ keyHash, start: String(asked.length) } as StoredApiKey)
  }
  return { asked, state, stopwatch, ...rememberApiKeys(find, stopwatch, { keysMax, msMax: 1_000 }) }
}

t.test('a key is looked up once, also by those who ask at the same moment', async (t) => {
  const { asked, findByHash } = setting()
  const answers = await Promise.all([findByHash('a'), findByHash('a')])
  answers.push(await findByHash('a'))
  t.strictSame(
    answers.map((key) => key?.start),
    ['1', '1', '1'],
  )
  t.strictSame(asked, ['a'])
})

t.test('each key is remembered as itself', async (t) => {
  const { findByHash } = setting()
  await findByHash('a')
  t.equal((await findByHash('b'))?.keyHash, 'b')
  t.equal((await findByHash('a'))?.keyHash, 'a')
})

t.test('a signal makes it forget', async (t) => {
  const { findByHash, forget } = setting()
  await findByHash('a')
  forget()
  t.equal((await findByHash('a'))?.start, '2')
})

t.test('a look-up that began before the signal is not remembered after it', async (t) => {
  const { findByHash, forget } = setting()
  const before = findByHash('a')
  forget()
  await before
  t.equal((await findByHash('a'))?.start, '2')
})

t.test('should the signal be lost, it forgets after a time', async (t) => {
  const { findByHash, stopwatch } = setting()
  await findByHash('a')
  stopwatch.advance(999)
  t.equal((await findByHash('a'))?.start, '1')
  stopwatch.advance(1)
  t.equal((await findByHash('a'))?.start, '2')
})

t.test('a key that does not exist is not remembered', async (t) => {
  const { asked, findByHash } = setting()
  await findByHash('missing')
  t.equal(await findByHash('missing'), null)
  t.equal(asked.length, 2)
})

t.test('a look-up that failed is tried again', async (t) => {
  const { findByHash, state } = setting()
  state.fails = true
  await t.rejects(findByHash('a'), /the database is away/)
  state.fails = false
  t.equal((await findByHash('a'))?.keyHash, 'a')
})

t.test('it keeps a bounded number of keys', async (t) => {
  const { asked, findByHash } = setting({ keysMax: 2 })
  for (const keyHash of ['a', 'b', 'c', 'a']) await findByHash(keyHash)
  t.strictSame(asked, ['a', 'b', 'c', 'a'])
})

t.test('that a key was right is known also when it must be looked up again', async (t) => {
  const { findByHash, forget, state, isKnown } = setting()
  t.equal(isKnown('a'), false)
  await findByHash('a')
  await findByHash('missing')
  t.strictSame([isKnown('a'), isKnown('missing')], [true, false])
  forget()
  t.equal(isKnown('a'), true)
  state.fails = true
  await t.rejects(findByHash('a'), /the database is away/)
  t.equal(isKnown('a'), true)
})
