import t from 'tap'
import { afterCursor, charactersOf, SLICE_BYTES_MAX, sliceOf } from '../../../src/core/engine/slices.ts'
import { writeJson } from '../../../src/json/write-json.ts'
import { idOf } from '../../support/setting.ts'
import { refusalOf } from '../scene.ts'

const LIST = 'page_groups?active'
type Row = { readonly id: string; readonly text?: string }
const rowsOf = (count: number): Row[] =>
  Array.from({ length: count }, (_, i) => ({ id: idOf('page', i + 1) }))
const heavy = (...kilobytes: readonly number[]): Row[] =>
  kilobytes.map((size, i) => ({ id: idOf('page', i + 1), text: 'x'.repeat(size * 1_024) }))
const slice = async (rows: readonly Row[], limit: number, cursor?: string) => {
  const list = sliceOf({
    nameOf: () => LIST,
    find: async () => rows,
    positionOf: ({ id }: Row) => id,
    itemOf: ({ id, text }) => ({ row: id, text }),
  })
  return (await list({ tenantId: 'tenant', limit, cursor })).value
}
const shownOf = ({ items }: { items: readonly { row: string }[] }) => items.map(({ row }) => row)
const cursorAt = (id: string, list = LIST) => Buffer.from(`1:${list}:${id}`).toString('base64url')

t.test('a slice with one row more than its limit has more to follow', async (t) => {
  const rows = rowsOf(3)
  const answer = await slice(rows, 2)
  t.strictSame([shownOf(answer), answer.hasMore], [[rows[0]?.id, rows[1]?.id], true])
  t.equal(afterCursor(answer.nextCursor, LIST), rows[1]?.id)
})

t.test('a slice with no further row has no cursor', async (t) => {
  for (const count of [0, 1, 2]) {
    const answer = await slice(rowsOf(count), 2)
    t.equal(answer.items.length, count)
    t.strictSame({ ...answer, items: [] }, { items: [], hasMore: false })
  }
})

t.test('a slice has at most 1 MiB of JSON, or one item, and the rest follows', async (t) => {
  for (const [kilobytes, limit, shown] of [
    [[300, 300, 300, 300], 3, 3],
    [[300, 300, 300, 300], 4, 3],
    [[300, 800, 100, 100], 3, 1],
    [[2_000, 100, 100], 3, 1],
    [[2_000, 100], 1, 1],
    [[1_023, 1], 2, 1],
  ] as const) {
    const rows = heavy(...kilobytes)
    const answer = await slice(rows, limit)
    t.strictSame(
      shownOf(answer),
      rows.slice(0, shown).map(({ id }) => id),
      `${kilobytes}`,
    )
    t.ok(shown === 1 || Buffer.byteLength(writeJson(answer.items)) <= SLICE_BYTES_MAX)
    t.ok(answer.hasMore)
    t.equal(afterCursor(answer.nextCursor, LIST), rows[shown - 1]?.id)
  }
  const only = await slice(heavy(2_000), 1)
  t.strictSame([only.items.length, only.hasMore], [1, false])
})

t.test('escaped characters count with their escaped length', async (t) => {
  const text = '\u0001'.repeat(100_000)
  const rows = rowsOf(3).map((row) => ({ ...row, text }))
  t.equal((await slice(rows, 3)).items.length, 1)
  const plain = rowsOf(3).map((row) => ({ ...row, text: 'x'.repeat(text.length) }))
  t.equal((await slice(plain, 3)).items.length, 3)
})

t.test('the characters of a row are never more than the bytes of its JSON', async (t) => {
  const row = { a: 'é', b: { rawJson: '["x"]' }, c: null, d: 7, e: undefined, f: true }
  t.equal(charactersOf(row), 6)
})

t.test('a list continues after its cursor, and a wrong cursor reads nothing', async (t) => {
  const list = sliceOf({
    nameOf: () => LIST,
    find: async ({ beforeId }) => [{ id: beforeId ?? 'none' }],
    positionOf: ({ id }: Row) => id,
    itemOf: (row: Row) => row,
  })
  const query = { tenantId: 'tenant', limit: 1 }
  t.match(await list(query), { value: { items: [{ id: 'none' }] } })
  const behind = { ...query, cursor: cursorAt(idOf('page', 1)) }
  t.match(await list(behind), { value: { items: [{ id: idOf('page', 1) }] } })
  t.match(await refusalOf(slice(rowsOf(1), 1, 'wrong')), { kind: 'invalid_cursor' })
})

t.test('a list without a cursor starts at its beginning', async (t) => {
  t.equal(afterCursor(undefined, LIST), null)
})

t.test('a cursor needs no escaping in a URL', async (t) => {
  t.match((await slice(rowsOf(2), 1)).nextCursor, /^[A-Za-z0-9_-]+$/)
})

t.test('a cursor is valid for its own list only', async (t) => {
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

const refused = (cursor: string, list = LIST) => refusalOf((async () => afterCursor(cursor, list))())
