import { mock } from 'node:test'
import t from 'tap'
import { createLoopShare } from '../../src/adapters/loop-share.ts'

const { shareLoop, noteConnection } = createLoopShare()

/** Pieces of work that each take all of a turn of the loop, in the order in which they are done. */
let now = 0
const working = () => {
  mock.method(performance, 'now', () => now)
  const done: string[] = []
  const work = async (piece: string, wasBegun?: boolean) => {
    await shareLoop(piece[0] ?? '', wasBegun)
    now += 100
    done.push(piece)
  }
  const pass = (ms: number) => {
    now += ms
  }
  return { work, done, pass }
}
const nextTurn = () => new Promise(setImmediate)
t.afterEach(async () => {
  mock.restoreAll()
  // The turn that the test began has ended.
  await nextTurn()
  await nextTurn()
})

t.test('a long turn of the loop starts no more work', async (t) => {
  const { work, done } = working()
  await work('a0')
  const waiting = ['a1', 'a2'].map((piece) => work(piece))
  for (const count of [1, 2, 3]) {
    t.equal(done.length, count)
    await nextTurn()
  }
  await Promise.all(waiting)
})

t.test('tenants take turns, however much work each has', async (t) => {
  const { work, done } = working()
  await work('a0')
  await Promise.all(['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((piece) => work(piece)))
  t.strictSame(done, ['a0', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

t.test('a tenant’s started work goes before its new work', async (t) => {
  const { work, done } = working()
  await work('a0')
  await Promise.all([work('a1'), work('a2'), work('a3', true), work('b1')])
  t.strictSame(done, ['a0', 'a3', 'b1', 'a1', 'a2'])
})

t.test('turns stay short while connections arrive, but not forever', async (t) => {
  const { work, done, pass } = working()
  for (const [ms, least, most] of [
    [1, 7, 10],
    [50, 1, 2],
  ] as const) {
    done.length = 0
    await work('a0')
    const waits = ['a1', 'a2'].map((piece) => work(piece))
    let turns = 0
    while (done.length < 3) {
      noteConnection()
      pass(ms)
      await nextTurn()
      if (done.length === 2) turns++
    }
    await Promise.all(waits)
    t.ok(turns >= least && turns <= most, `${turns} turns of ${ms} ms`)
  }
})

t.test('short pieces of work share one turn', async (t) => {
  mock.method(performance, 'now', () => 0)
  for (let i = 0; i < 3; i++) t.equal(shareLoop('a'), undefined)
})
