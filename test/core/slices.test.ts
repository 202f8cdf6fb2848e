import t from 'tap'
import { afterCursor, sliceOf } from '../../src/core/slices.ts'
import { idOf } from '../support/setting.ts'
import { noOf } from './scene.ts'

const LIST = 'page_groups?active'
const rowsOf = (count: number) => Array.from({ length: count }, (_, i) => idOf('page', i + 1))
const slice = (rows: string[], limit: number) =>
  sliceOf(rows, { list: LIST, limit, idOf: (row) => row, itemOf: (row) => ({ row }) })
const cursorAt = (id: string, list = LIST) => Buffer.from(`1:${list}:${id}`).toString('base64url')

t.test('of one row more than is shown, it is known that more follows', async (t) => {
  const [first, second, third] = rowsOf(3)
  const { nextCursor, ...rest } = slice([first ?? '', second ?? '', third ?? ''], 2)
  t.strictSame(rest, { items: [{ row: first }, { row: second }], hasMore: true })
  t.equal(afterCursor(nextCursor, LIST), second)
})

t.test('of no more rows than are shown, nothing follows and there is no cursor', async (t) => {
  for (const count of [0, 1, 2]) {
    const answer = slice(rowsOf(count), 2)
    t.equal(answer.items.length, count)
    t.strictSame({ ...answer, items: [] }, { items: [], hasMore: false })
  }
})

t.test('of rows that are too heavy fewer are shown, and the rest follows', async (t) => {
  const rows = rowsOf(4)
  for (const [weights, limit, shown] of [
    [[1, 2, 3, 4], 3, 3],
    [[1, 2, 3, 4], 4, 3],
    [[1, 5, 1, 1], 3, 2],
    [[5, 2, 1, 1], 3, 1],
    [[9, 1, 1, 1], 3, 1],
    [[9, 1, 1, 1], 1, 1],
  ] as const) {
    const { items, hasMore, nextCursor } = sliceOf(rows, {
      list: LIST,
      limit,
      idOf: (row) => row,
      itemOf: (row) => row,
      bytesOf: (row) => weights[rows.indexOf(row)] as number,
      bytesMax: 6,
    })
    t.strictSame(items, rows.slice(0, shown), `${weights}`)
    t.ok(hasMore)
    t.equal(afterCursor(nextCursor, LIST), rows[shown - 1])
  }
  const heavy = { list: LIST, limit: 1, idOf: String, itemOf: String, bytesOf: () => 9, bytesMax: 6 }
  t.strictSame(sliceOf(rows.slice(0, 1), heavy), { items: rows.slice(0, 1), hasMore: false })
})

t.test('without a cursor a list begins at its beginning', async (t) => {
  t.equal(afterCursor(undefined, LIST), null)
})

t.test('a cursor can stand in a URL as it is', async (t) => {
  t.match(slice(rowsOf(2), 1).nextCursor, /^[A-Za-z0-9_-]+$/)
})

t.test('a cursor is good for its very list only', async (t) => {
  const id = idOf('page', 1)
  t.equal(afterCursor(cursorAt(id), LIST), id)
  for (const list of ['page_groups?', 'page_groups?archived', 'pages/x', '', `${LIST}x`])
    t.match(await refused(cursorAt(id), list), {
      kind: 'invalid_cursor',
      facts: { errors: [{ parameter: 'cursor' }] },
    })
})

const good = cursorAt(idOf('page', 1))
const bad = {
  'an empty one': '',
  'a word': 'next',
  'an id': idOf('page', 1),
  'one cut short': good.slice(0, -2),
  'one with something behind it': `${good}AA`,
  'one with a blank behind it': `${good} `,
  'one in padded base64': `${good}=`,
  'one with its bytes not in UTF-8': Buffer.from([0xff, 0xfe]).toString('base64url'),
  'one of another version': Buffer.from(`2:${LIST}:${idOf('page', 1)}`).toString('base64url'),
  'one without an id': cursorAt(''),
  'one with an ill-formed id': cursorAt('page_1'),
  'one with an id in upper case': cursorAt(idOf('page', 1).toUpperCase()),
  'one with a NUL': cursorAt(`${idOf('page', 1)}\0`),
}
for (const [what, cursor] of Object.entries(bad))
  t.test(`${what} is no cursor`, async (t) => {
    t.equal((await refused(cursor)).kind, 'invalid_cursor')
  })

const refused = (cursor: string, list = LIST) => noOf((async () => afterCursor(cursor, list))())
