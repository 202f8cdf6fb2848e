import assert from 'node:assert/strict'
import fc from 'fast-check'
import { opened, overStores } from '../support/stores.ts'
import { always, openFuzz } from './scene.ts'
import { nearly } from './targets.ts'
import { anyText } from './texts.ts'

const GROUPS = '/v0/page_groups'
const ID = '[a-z]+_[a-z0-9]{26}'

overStores(async (t, kind) => {
  const world = await openFuzz(await opened(t, kind))
  const groups: string[] = []
  for (let i = 0; i < 5; i++) groups.push((await world.newGroup()).pageGroupId)
  const [first = '', second = ''] = groups
  const pagesOf = (pageGroupId: string) => `${GROUPS}/${pageGroupId}/pages`
  for (const group of [first, second]) for (let i = 0; i < 4; i++) await world.ask('POST', pagesOf(group))

  const cursorOf = async (target: string) => String((await world.ask('GET', target)).json['nextCursor'])
  /** Lists by their target, with the mark that a cursor of theirs bears, and one of their cursors. */
  const lists = await Promise.all(
    [
      { target: `${GROUPS}?limit=2`, mark: 'page_groups?' },
      { target: `${GROUPS}?limit=2&status=active`, mark: 'page_groups?active' },
      { target: `${pagesOf(first)}?limit=2`, mark: `pages/${first}` },
      { target: `${pagesOf(second)}?limit=2`, mark: `pages/${second}` },
    ].map(async (list) => ({ ...list, cursor: await cursorOf(list.target) })),
  )
  const real = lists.map(({ cursor }) => cursor)
  type Item = { readonly pageId?: string; readonly pageGroupId: string }
  const idsIn = ({ items }: { readonly items?: readonly Item[] }) =>
    items?.map(({ pageId, pageGroupId }) => pageId ?? pageGroupId) ?? []
  const encoded = (text: string) => Buffer.from(text.toWellFormed()).toString('base64url')
  const plain = fc.constantFrom(...real.map((cursor) => Buffer.from(cursor, 'base64url').toString()))
  const id = fc.oneof(fc.constantFrom(...groups, '', 'page_'), fc.stringMatching(new RegExp(`^${ID}$`)))
  const forged = fc
    .tuple(fc.constantFrom('1', '2', '01', ''), fc.constantFrom(...lists.map(({ mark }) => mark)), id)
    .map((parts) => parts.join(':'))
  const cursor = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(...real) },
    { weight: 4, arbitrary: nearly(fc.constantFrom(...real)) },
    { weight: 4, arbitrary: nearly(plain).map(encoded) },
    { weight: 4, arbitrary: forged.map(encoded) },
    { weight: 1, arbitrary: fc.constantFrom(...real.map((cursor) => `${cursor}=`), ...real.map(decodeOnce)) },
    { weight: 1, arbitrary: fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64url')) },
    { weight: 1, arbitrary: fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64')) },
    { weight: 1, arbitrary: anyText },
  )

  const list = fc.constantFrom(...lists)
  const asked = fc.oneof(
    { weight: 8, arbitrary: fc.tuple(cursor, list) },
    { weight: 1, arbitrary: list.map((list) => [list.cursor, list] as const) },
    {
      weight: 1,
      arbitrary: fc.tuple(list, id).map(([list, id]) => [encoded(`1:${list.mark}:${id}`), list] as const),
    },
  )

  t.test('a cursor goes on where its list ended, and nothing else is a cursor', async (t) => {
    const counts = { taken: 0, refused: 0 }
    const property = fc.asyncProperty(asked, async ([cursor, { target, mark }]) => {
      const sent = encodeURIComponent(cursor.toWellFormed())
      const { code, status, faults, json } = await world.ask('GET', `${target}&cursor=${sent}`)
      const after = lastIdOf(cursor, mark)
      if (after === null) {
        assert.deepEqual([code, faults], ['invalid_cursor', ['cursor']])
        counts.refused++
      } else {
        assert.equal(status, 200)
        for (const id of idsIn(json)) assert.ok(id < after, `${id} comes after ${after}`)
        counts.taken++
      }
      await world.stillFine()
    })
    await always(t, property, 300)
    t.comment(JSON.stringify(counts))
    t.ok(counts.taken > 10 && counts.refused > 50, 'all of it came about')
  })

  t.test('a list walked by its cursors shows each of its items once', async (t) => {
    for (const { target } of lists) {
      const seen: string[] = []
      let query = ''
      for (let slices = 0; slices < 5; slices++) {
        const { json } = await world.ask('GET', target + query)
        seen.push(...idsIn(json))
        if (json['hasMore'] === false) break
        query = `&cursor=${String(json['nextCursor'])}`
      }
      t.equal(new Set(seen).size, seen.length)
      t.equal(seen.length, target.startsWith(`${GROUPS}?`) ? groups.length : 4)
    }
  })

  t.test('the feed goes on after the number in its cursor, and takes nothing else', async (t) => {
    const json = (value: object) => ({ body: Buffer.from(JSON.stringify(value)) })
    const url = 'https://example.com'
    assert.equal((await world.ask('POST', '/v0/webhook_endpoints', json({ url }))).status, 201)
    for (let i = 0; i < 5; i++)
      await world.ask('POST', '/v0/prospect_logs', json({ source: 'crm', payload: {} }))
    const [tenantId = ''] = await world.store.events.waiting('', 1)
    const last = await world.store.events.number({ tenantId, now: '2026-01-01T00:00:00.000Z', max: 100 })
    t.equal(last, 10)
    const position = fc.oneof(
      { weight: 2, arbitrary: fc.integer({ min: -2, max: 2 * last }).map(String) },
      { weight: 1, arbitrary: fc.bigInt().map(String) },
      { weight: 1, arbitrary: fc.constantFrom('', '00', '01', '1.0', '1e0', ' 1', '٣', '9'.repeat(400)) },
    )
    const plain = position.map((position) => `1:events:${position}`)
    const some = fc.oneof(plain, nearly(plain)).map(encoded)
    const given = fc.oneof(some, nearly(some), fc.constantFrom('latest', 'LATEST', ''))
    const counts = { taken: 0, refused: 0 }
    const property = fc.asyncProperty(given, async (given) => {
      const cursor = given.toWellFormed()
      const { code, json } = await world.ask('GET', `/v0/events?cursor=${encodeURIComponent(cursor)}`)
      const [, number] = /^1:events:(0|[1-9][0-9]?)$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
      const isReal = encoded(`1:events:${number}`) === cursor && Number(number) <= last
      assert.equal(code, isReal || cursor === 'latest' ? null : 'invalid_cursor')
      counts[code === null ? 'taken' : 'refused']++
      if (!isReal) return
      const { items } = json as { items: { sequence: number }[] }
      const sequences = items.map(({ sequence }) => sequence)
      assert.deepEqual(
        sequences,
        Array.from({ length: last - Number(number) }, (_, i) => Number(number) + 1 + i),
      )
    })
    await always(t, property, 300)
    t.comment(JSON.stringify(counts))
    t.ok(counts.taken > 30 && counts.refused > 50, 'all of it came about')
  })
})

const decodeOnce = (cursor: string) => Buffer.from(cursor, 'base64url').toString()

/** The id that a cursor of this list holds; null where it is none. Its bytes are plain ASCII in the one right spelling. */
const lastIdOf = (cursor: string, mark: string): string | null => {
  if (!/^[A-Za-z0-9_-]*$/.test(cursor)) return null
  const bytes = Buffer.from(cursor, 'base64url')
  if (bytes.toString('base64url') !== cursor) return null
  const begin = `1:${mark}:`
  const text = bytes.toString('latin1')
  return text.startsWith(begin) && new RegExp(`^${ID}$`).test(text.slice(begin.length))
    ? text.slice(begin.length)
    : null
}
