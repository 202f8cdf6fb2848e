import t from 'tap'
import { fairQueue } from '../../src/core/fair-queue.ts'

const bounds = (lengthMax: number) => ({ lengthMax, weightMax: Number.POSITIVE_INFINITY, weightOf: () => 1 })

t.test('a line that never empties keeps its order, and nothing is lost or told twice', async (t) => {
  const queue = fairQueue<number>()
  const taken: number[] = []
  for (let pushed = 0; pushed < 5_000; pushed++) {
    queue.push('a', pushed)
    if (pushed % 3 === 2) taken.push(...queue.take(bounds(2)))
  }
  while (queue.length() > 0) taken.push(...queue.take(bounds(100)))
  t.strictSame(
    taken,
    Array.from({ length: 5_000 }, (_, i) => i),
  )
  t.strictSame(queue.take(bounds(10)), [])
})

t.test('each of many lines gets its turn, whatever the others have waiting', async (t) => {
  const queue = fairQueue<string>()
  for (let i = 0; i < 1_000; i++) queue.push('loud', `loud ${i}`)
  for (const name of ['b', 'c', 'd']) queue.push(name, name)
  t.strictSame(queue.take(bounds(3)), ['loud 0', 'b', 'c'])
  queue.push('e', 'e')
  t.strictSame(queue.take(bounds(4)), ['d', 'loud 1', 'e', 'loud 2'])
})
