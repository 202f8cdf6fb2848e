import t from 'tap'
import { createTogether } from '../../../src/adapters/stores/together.ts'
import { DomainFailure, unavailable } from '../../../src/core/engine/failures.ts'
import type { Recorded } from '../../../src/core/ports/world.ts'
import { ticks } from '../../support/ticks.ts'

type Change = { readonly tenantId: string; readonly text: string; readonly claims?: readonly string[] }

/** Writes whose lists wait to be let go. */
const setUp = (record: (change: Change) => Recorded = () => 'recorded') => {
  const lists: (readonly Change[])[] = []
  const held: (() => void)[] = []
  const { write } = createTogether({ listsInFlightMax: 1 })
  const recordAll = async (changes: readonly Change[]) => {
    lists.push(changes)
    await new Promise<void>((resolve) => held.push(resolve))
    return changes.map(record)
  }
  const call = write('things.record', recordAll, {
    tenantOf: ({ tenantId }) => tenantId,
    weightOf: ({ text }) => text.length,
    claimsOf: ({ claims = [] }) => claims,
  })
  return {
    call: (text: string, ...claims: string[]) => call({ tenantId: 'tenant', text, claims }),
    texts: () => lists.map((list) => list.map(({ text }) => text.slice(0, 9))),
    letGo: () => held.shift()?.(),
  }
}
const LARGE = 'x'.repeat(65_536)

t.test('writes that arrive together are one list', async (t) => {
  const { call, texts, letGo } = setUp()
  const answers = Promise.all([call('a'), call('b')])
  await ticks(3)
  t.strictSame(texts(), [['a', 'b']])
  letGo()
  t.strictSame(await answers, ['recorded', 'recorded'])
})

t.test('a small write does not wait for a large one', async (t) => {
  const { call, texts, letGo } = setUp()
  const large = call(LARGE)
  await ticks(3)
  const small = call('a')
  await ticks(3)
  t.strictSame(texts(), [['xxxxxxxxx'], ['a']])
  letGo()
  letGo()
  t.strictSame(await Promise.all([small, large]), ['recorded', 'recorded'])
})

t.test('once a write is recorded, those that wait for the same are overtaken', async (t) => {
  const { call, texts, letGo } = setUp()
  const answers = Promise.all([call('a', 'email'), call('b', 'email'), call('c')])
  await ticks(3)
  letGo()
  t.strictSame(await answers, ['recorded', 'overtaken', 'recorded'])
  t.strictSame(texts(), [['a', 'c']])
})

t.test('a write that is overtaken leaves what it claimed to the next', async (t) => {
  const { call, texts, letGo } = setUp(({ text }) => (text === 'a' ? 'overtaken' : 'recorded'))
  const answers = Promise.all([call('a', 'email'), call('b', 'email')])
  await ticks(3)
  letGo()
  await ticks(3)
  letGo()
  t.strictSame(await answers, ['overtaken', 'recorded'])
  t.strictSame(texts(), [['a'], ['b']])
})

t.test('lists that wait are written together, up to a bound', async (t) => {
  const lists: number[] = []
  const { writeLists } = createTogether({ listsInFlightMax: 1 })
  const recordAll = async (changes: readonly Change[]): Promise<Recorded[]> => {
    lists.push(changes.length)
    await new Promise(setImmediate)
    return changes.map(({ text }) => (text === 'late' ? 'overtaken' : 'recorded'))
  }
  const options = { tenantOf: () => 'tenant', weightOf: ({ text }: Change) => text.length }
  const recordAlone = async (): Promise<Recorded> => 'recorded'
  const call = writeLists('things.recordEach', recordAll, { ...options, recordAlone })
  const changes = (count: number, text = 'a') => Array<Change>(count).fill({ tenantId: 'tenant', text })
  const answers = await Promise.all([
    call(changes(2)),
    call(changes(1, 'late')),
    call(changes(300)),
    call(changes(300)),
  ])
  t.strictSame(answers.slice(0, 2), [['recorded', 'recorded'], ['overtaken']])
  t.strictSame(lists, [303, 300])
})

t.test('lists of two tenants are written apart, in the order in which they came', async (t) => {
  const lists: string[] = []
  const { writeLists } = createTogether({ listsInFlightMax: 1 })
  const recordAll = async (changes: readonly Change[]): Promise<Recorded[]> => {
    lists.push(changes.map(({ text }) => text).join(' '))
    await new Promise(setImmediate)
    return changes.map(() => 'recorded')
  }
  const call = writeLists('things.recordEach', recordAll, {
    tenantOf: ({ tenantId }) => tenantId,
    weightOf: () => 0,
    recordAlone: async () => 'recorded',
  })
  const calls = ['a1', 'b1', 'a2', 'b2', 'c1'].map((text) => call([{ tenantId: text.slice(0, 1), text }]))
  t.strictSame(await Promise.all(calls), Array(5).fill(['recorded']))
  t.strictSame(lists, ['a1 a2', 'b1 b2', 'c1'])
})

t.test('a list waits for one that claims the same, and not for others', async (t) => {
  const lists: string[] = []
  const held: (() => void)[] = []
  const { writeLists } = createTogether({ listsInFlightMax: 4 })
  const recordAll = async (changes: readonly Change[]): Promise<Recorded[]> => {
    lists.push(changes.map(({ text }) => text).join(' '))
    await new Promise<void>((resolve) => held.push(resolve))
    return changes.map(({ text }) => (text === 'late' ? 'overtaken' : 'recorded'))
  }
  const call = writeLists('things.recordEach', recordAll, {
    tenantOf: ({ tenantId }) => tenantId,
    weightOf: () => 0,
    claimsOf: ({ claims = [] }) => claims,
    recordAlone: async () => 'recorded',
  })
  const changeOf = (text: string, ...claims: string[]) => ({ tenantId: 'tenant', text, claims })
  const first = call([changeOf('first', 'email'), changeOf('second', 'id')])
  const last = call([changeOf('late', 'id'), changeOf('third')])
  const other = call([changeOf('other', 'another email')])
  await ticks(3)
  t.strictSame(lists, ['first second other'])
  held.shift()?.()
  await ticks(3)
  held.shift()?.()
  t.strictSame(await Promise.all([first, last, other]), [
    ['recorded', 'recorded'],
    ['overtaken', 'recorded'],
    ['recorded'],
  ])
  t.strictSame(lists, ['first second other', 'late third'])
})

t.test(
  'a list that fails is written change by change; if the store is away, it fails as a whole',
  async (t) => {
    const { writeLists } = createTogether({ listsInFlightMax: 1 })
    const options = { tenantOf: () => 'tenant', weightOf: () => 0 }
    const refused = new DomainFailure('invalid_request', 'no')
    const recordAlone = async ({ text }: Change): Promise<Recorded> => {
      if (text === 'bad') throw refused
      return 'recorded'
    }
    const changes = ['a', 'bad', 'b'].map((text) => ({ tenantId: 'tenant', text }))
    const failing = (error: Error) =>
      writeLists('things.recordEach', () => Promise.reject(error), { ...options, recordAlone })(changes)
    t.strictSame(await failing(new Error('a bad row')), ['recorded', refused, 'recorded'])
    const away = unavailable('away')
    t.strictSame(await failing(away), [away, away, away])
  },
)
