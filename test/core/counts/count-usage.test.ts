import t from 'tap'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { countUsage } from '../../../src/core/counts/count-usage.ts'
import { unavailable } from '../../../src/core/engine/failures.ts'
import { stoppedClock } from '../../support/setting.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const used = (apiKeyId: string) => ({ tenantId: 'one', apiKeyId, requests: 1, activities: 2, bytes: 3 })

/** `away`: each of the next writes fails. */
const setUp = () => {
  const { counts } = memoryStore()
  const clock = stoppedClock()
  const state = { away: 0, saves: 0 }
  const addUsage: typeof counts.addUsage = async (...change) => {
    state.saves++
    if (state.away-- > 0) throw unavailable('away')
    return counts.addUsage(...change)
  }
  const usage = countUsage({ store: { counts: { ...counts, addUsage } }, clock })
  const sums = (since = '') => counts.sumUsage({ tenantId: null, since, rowsMax: 1e6, limit: 1e6 })
  return { ...usage, clock, state, sums }
}

t.test('counts that could not be saved are saved once with the next minute', async (t) => {
  const { add, save, clock, state, sums } = setUp()
  state.away = 2
  for (const apiKeyId of ['a', 'b', 'a']) {
    add(used(apiKeyId))
    await save().catch(() => {})
    clock.advance(60_001)
  }
  await save()
  const since = '2026-01-01T00:02:00.000Z'
  t.strictSame(await sums(), [
    { tenantId: 'one', apiKeyId: 'a', requests: 2, activities: 4, bytes: 6, since },
    { tenantId: 'one', apiKeyId: 'b', requests: 1, activities: 2, bytes: 3, since },
  ])
})

t.test('at most 5,000 keys are counted in a minute', async (t) => {
  const { add, save, sums } = setUp()
  for (let i = 0; i < 6_000; i++) add(used(`key ${i}`))
  add(used('key 0'))
  await save()
  const [first, ...others] = await sums()
  t.match(first, { apiKeyId: 'key 0', requests: 2 })
  t.equal(others.length, 4_999)
  add(used('key 6000'))
  await save()
  t.equal((await sums()).length, 5_001, 'others have room a minute later')
})

t.test('a minute is kept for 48 hours, even if it was that of a clock far ahead', async (t) => {
  const { add, save, clock, sums } = setUp()
  add(used('now'))
  await save()
  clock.advance(1_000 * HOUR_MS)
  add(used('ahead'))
  await save()
  t.match(await sums(), [{ apiKeyId: 'ahead' }], 'which removes what seems old')
  clock.advance(-1_000 * HOUR_MS)
  add(used('later'))
  await save()
  t.match(await sums(), [{ apiKeyId: 'later' }])
  clock.advance(48 * HOUR_MS)
  await save()
  t.equal((await sums()).length, 1)
  clock.advance(HOUR_MS)
  await save()
  t.strictSame(await sums(), [], 'which an idle process looks for once an hour')
})

t.test('without usage, the store is left alone for an hour', async (t) => {
  const { add, save, clock, state } = setUp()
  add(used('now'))
  await save()
  for (let minutes = 1; minutes < 60; minutes++) {
    clock.advance(MINUTE_MS)
    await save()
  }
  t.equal(state.saves, 1)
  clock.advance(MINUTE_MS)
  await save()
  t.equal(state.saves, 2)
})
