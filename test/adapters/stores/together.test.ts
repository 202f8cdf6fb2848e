import t from 'tap'
import { createTogether } from '../../../src/adapters/stores/together.ts'
import type { Recorded } from '../../../src/core/ports/world.ts'

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
const settled = async () => {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
}
const LARGE = 'x'.repeat(65_536)

t.test('writes that arrive together are one list', async (t) => {
  const { call, texts, letGo } = setUp()
  const answers = Promise.all([call('a'), call('b')])
  await settled()
  t.strictSame(texts(), [['a', 'b']])
  letGo()
  t.strictSame(await answers, ['recorded', 'recorded'])
})

t.test('a small write does not wait for a large one', async (t) => {
  const { call, texts, letGo } = setUp()
  const large = call(LARGE)
  await settled()
  const small = call('a')
  await settled()
  t.strictSame(texts(), [['xxxxxxxxx'], ['a']])
  letGo()
  letGo()
  t.strictSame(await Promise.all([small, large]), ['recorded', 'recorded'])
})

t.test('once a write is recorded, those that wait for the same are overtaken', async (t) => {
  const { call, texts, letGo } = setUp()
  const answers = Promise.all([call('a', 'email'), call('b', 'email'), call('c')])
  await settled()
  letGo()
  t.strictSame(await answers, ['recorded', 'overtaken', 'recorded'])
  t.strictSame(texts(), [['a', 'c']])
})

t.test('a write that is overtaken leaves what it claimed to the next', async (t) => {
  const { call, texts, letGo } = setUp(({ text }) => (text === 'a' ? 'overtaken' : 'recorded'))
  const answers = Promise.all([call('a', 'email'), call('b', 'email')])
  await settled()
  letGo()
  await settled()
  letGo()
  t.strictSame(await answers, ['overtaken', 'recorded'])
  t.strictSame(texts(), [['a'], ['b']])
})
