import t from 'tap'
import { createShares } from '../../src/adapters/http/shares.ts'

const countOf = (take: () => boolean): number => {
  let count = 0
  while (take()) count++
  return count
}

t.test('one alone gets half, and each who comes later half of what is left', async (t) => {
  const { take } = createShares(64)
  t.equal(
    countOf(() => take('a', 1)),
    32,
  )
  t.equal(
    countOf(() => take('b', 1)),
    16,
  )
  t.equal(
    countOf(() => take('c', 1)),
    8,
  )
  t.equal(take('a', 1), false)
})

t.test('what is given back can be had again, and nothing is left over of it', async (t) => {
  const { take, giveBack } = createShares(10)
  for (let round = 0; round < 100; round++) {
    t.ok(take('a', 3))
    t.ok(take('b', 3))
    t.notOk(take('b', 3))
    giveBack('a', 3)
    giveBack('b', 3)
  }
  t.notOk(take('a', 11))
  t.ok(take('a', 10))
})

t.test('what was refused is not held', async (t) => {
  const { take } = createShares(10)
  t.notOk(take('a', 100))
  t.ok(take('a', 10))
})
