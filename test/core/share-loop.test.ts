import { mock } from 'node:test'
import t from 'tap'
import { shareLoop } from '../../src/core/share-loop.ts'

/** Pieces of work that each take all of a turn of the loop, in the order in which they are done, and in which turn. */
const working = () => {
  let now = 0
  mock.method(performance, 'now', () => now)
  const done: string[] = []
  let turn = 0
  const work = async (piece: string) => {
    await shareLoop(piece[0] ?? '')
    now += 100
    done.push(`${turn}: ${piece}`)
  }
  const nextTurn = async () => {
    await new Promise(setImmediate)
    turn++
  }
  return { work, done, nextTurn }
}
t.afterEach(() => mock.restoreAll())

t.test('a turn of the loop that has taken long begins no more work', async (t) => {
  const { work, done, nextTurn } = working()
  const all = (async () => {
    for (const piece of ['a1', 'a2', 'a3']) await work(piece)
  })()
  for (let i = 0; i < 5; i++) await nextTurn()
  await all
  const turns = new Set(done.map((piece) => piece.slice(0, 1)))
  t.equal(turns.size, 3)
})

t.test('tenants take turns, whoever has more to do', async (t) => {
  const { work, done, nextTurn } = working()
  await work('a0')
  const all = Promise.all(['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(work))
  for (let i = 0; i < 8; i++) await nextTurn()
  await all
  t.strictSame(
    done.map((piece) => piece.slice(3)),
    ['a0', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3'],
  )
})

t.test('short pieces go on within one turn', async (t) => {
  mock.method(performance, 'now', () => 0)
  for (let i = 0; i < 3; i++) t.equal(shareLoop('a'), undefined)
})
