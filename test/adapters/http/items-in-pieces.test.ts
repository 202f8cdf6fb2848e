import t from 'tap'
import { writeItemsInPieces } from '../../../src/adapters/http/items-in-pieces.ts'
import type { CheckedRequest, Run } from '../../../src/adapters/http/route.ts'
import { writeJson } from '../../../src/json/write-json.ts'
import type { UseCases } from '../../../src/service/operations/operations.ts'

const REQUEST = { tenantId: 'tenant' } as CheckedRequest<unknown, unknown>
const answerOf = (run: Run) => run({} as UseCases, REQUEST, () => t.fail('nothing waits') as never)

t.test('a list is written as it would be at once, whatever its length', async (t) => {
  for (const length of [0, 1, 499, 500, 501, 1_700]) {
    const list = { items: Array.from({ length }, (_, i) => ({ i, text: 'ä,"' })), countedUntil: 'now' }
    const { body } = await answerOf(writeItemsInPieces(async () => ({ body: list })))
    t.equal(writeJson(body), JSON.stringify(list), `${length} items`)
  }
})

t.test('requests that share a list share its text: each item is written once', async (t) => {
  let writes = 0
  const item = {
    toJSON: () => {
      writes++
      return 'item'
    },
  }
  const list = { items: Array(1_200).fill(item) }
  const run = writeItemsInPieces(async () => ({ body: list }))
  const [first, second] = await Promise.all([answerOf(run), answerOf(run)])
  t.equal(first.body, second.body)
  t.equal(writes, 1_200)
})
