import t from 'tap'
import { idOf } from '../../support/setting.ts'
import { at, openAdaScene } from './prospect-scene.ts'

type Item = { readonly type: string; readonly prospectId: string }

/** The scene of Ada, whose first activity is a `webhook`, with ways to read lists. */
const openLists = async () => {
  const scene = await openAdaScene()
  const itemsOf = async (path: string) => (await scene.get(path)).json['items'] as Item[]
  /** Reads a list by slices of one item, until it has no more. The path ends with `?` or `&`. */
  const walk = async (path: string): Promise<readonly Item[]> => {
    const items: Item[] = []
    let cursor = ''
    do {
      const { json } = await scene.get(`${path}limit=1${cursor}`)
      items.push(...(json['items'] as Item[]))
      cursor = json['nextCursor'] === undefined ? '' : `&cursor=${json['nextCursor']}`
    } while (cursor !== '')
    return items
  }
  return { ...scene, itemsOf, walk }
}
const typesOf = (items: readonly Item[]) => items.map(({ type }) => type)

/** The scene with three more activities of Ada, and one of somebody else. */
const openManyLogs = async () => {
  const scene = await openLists()
  const { log, ada } = scene
  const { prospectId } = ada
  await log({ prospectId, type: 'a', occurredAt: at(9) })
  await log({ prospectId, type: 'b', occurredAt: at(5) })
  await log({ prospectId, type: 'a', occurredAt: at(9) })
  await log()
  return scene
}

t.test('200: cursors lead through all activities of the tenant, the last that arrived first', async (t) => {
  const { walk } = await openManyLogs()
  t.strictSame(typesOf(await walk('/v0/prospect_logs?')), ['webhook', 'a', 'b', 'a', 'webhook'])
})

t.test('200: cursors lead through the activities of one type', async (t) => {
  const { walk } = await openManyLogs()
  t.strictSame(typesOf(await walk('/v0/prospect_logs?type=a&')), ['a', 'a'])
})

t.test('200: cursors lead through a timeline, the last that occurred first', async (t) => {
  const { walk, adasTimeline } = await openManyLogs()
  t.strictSame(typesOf(await walk(`${adasTimeline}?`)), ['a', 'a', 'b', 'webhook'])
})

t.test('200: cursors lead through the activities of one source and type in a timeline', async (t) => {
  const { walk, adasTimeline } = await openManyLogs()
  t.strictSame(typesOf(await walk(`${adasTimeline}?source=crm&type=b&`)), ['b'])
})

t.test('200: cursors lead through all prospects', async (t) => {
  const { walk } = await openManyLogs()
  t.equal((await walk('/v0/prospects?')).length, 2)
})

t.test('400: a cursor is refused by every list but its own', async (t) => {
  const { get, adasTimeline } = await openManyLogs()
  const othersTimeline = `/v0/prospects/${idOf('prospect', 999)}/prospect_logs`
  for (const { from, to } of [
    { from: '/v0/prospect_logs?', to: '/v0/prospect_logs?type=a&' },
    { from: '/v0/prospect_logs?type=a&', to: '/v0/prospect_logs?' },
    { from: '/v0/prospect_logs?', to: `${adasTimeline}?` },
    { from: `${adasTimeline}?`, to: `${adasTimeline}?since=2020-01-01T00:00:00Z&` },
    { from: `${adasTimeline}?`, to: `${othersTimeline}?` },
    { from: '/v0/prospects?', to: '/v0/prospects?email=ada@x&' },
    { from: '/v0/prospects?', to: '/v0/prospect_logs?' },
  ]) {
    const { nextCursor } = (await get(`${from}limit=1`)).json
    const answer = await get(`${to}cursor=${nextCursor}`)
    t.match(answer, { status: 400, json: { code: 'invalid_cursor' } }, `${from} ${to}`)
  }
})

for (const { title, query, types } of [
  { title: 'since is inclusive', query: `since=${at(2_000)}`, types: ['3000', '2000'] },
  { title: 'until is exclusive', query: `until=${at(2_000)}`, types: ['1000', 'webhook'] },
  {
    title: 'both may be given, with any offset',
    query: 'since=2026-01-01T01:00:01%2B01:00&until=2026-01-01T00:00:02.001Z',
    types: ['2000', '1000'],
  },
  {
    title: 'nothing is between a time and itself',
    query: `since=${at(2_000)}&until=${at(2_000)}`,
    types: [],
  },
  {
    title: 'nothing is between a time and an earlier one',
    query: `since=${at(3_000)}&until=${at(1_000)}`,
    types: [],
  },
])
  t.test(`200: since and until bound a timeline by occurredAt: ${title}`, async (t) => {
    const { log, ada, itemsOf, adasTimeline } = await openLists()
    for (const ms of [1_000, 2_000, 3_000])
      await log({ prospectId: ada.prospectId, type: `${ms}`, occurredAt: at(ms) })
    t.strictSame(typesOf(await itemsOf(`${adasTimeline}?${query}`)), types)
  })

t.test('200: a source and an idempotency key find an activity that arrived', async (t) => {
  const { get, adasLogId } = await openLists()
  const { json } = await get('/v0/prospect_logs?source=crm&idempotencyKey=one')
  t.match(json, { items: [{ prospectLogId: adasLogId }], hasMore: false })
})

t.test('200: neither another source nor another idempotency key finds it', async (t) => {
  const { get } = await openLists()
  for (const query of ['source=shop&idempotencyKey=one', 'source=crm&idempotencyKey=two'])
    t.strictSame((await get(`/v0/prospect_logs?${query}`)).json, { items: [], hasMore: false }, query)
})
