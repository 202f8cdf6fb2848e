import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { SCOPES } from '../../../src/core/ports/api-keys.ts'
import { openScene } from '../../support/api.ts'

const COUNTS = 'GET /v0/prospect_log_counts'
const DAY_MS = 86_400_000

t.test('200: a tenant without activities', async (t) => {
  const { call } = await openScene()
  const { status, json } = await call(COUNTS)
  t.equal(status, 200)
  t.strictSame(json, { items: [], countedUntil: '2025-12-31T23:59:00.000Z' })
})

t.test('400: each error is named', async (t) => {
  const { call } = await openScene()
  const wrong = {
    'by=week': 'by',
    'since=yesterday': 'since',
    'until=2026-01-01': 'until',
    'source=': 'source',
    'cursor=x': 'cursor',
  }
  for (const [query, parameter] of Object.entries(wrong)) {
    const { status, json } = await call(`${COUNTS}?${query}`)
    t.match(
      { status, json },
      { status: 400, json: { code: 'invalid_request', errors: [{ parameter }] } },
      query,
    )
  }
})

t.test('400: more than 10,000 counts are refused by name', async (t) => {
  const { call, store, clock, owner } = await openScene()
  const { tenantId } = owner
  await store.counts.markRead(tenantId, new Date(clock()).toISOString())
  const at = new Date(clock()).toISOString()
  const count = (i: number) => ({
    unit: 'hour' as const,
    at,
    source: `s${i}`,
    type: 't',
    count: 1,
    newProspects: 0,
  })
  const add = Array.from({ length: 10_000 }, (_, i) => count(i))
  await store.counts.record({
    tenantId,
    from: '',
    to: 'a',
    removeFrom: null,
    addProspects: [],
    addDays: [],
    add,
  })
  const most = await call(`${COUNTS}?until=${new Date(clock() + 1).toISOString()}`)
  t.equal((most.json['items'] as object[]).length, 10_000)
  await store.counts.record({
    tenantId,
    from: 'a',
    to: 'b',
    removeFrom: null,
    addProspects: [],
    addDays: [],
    add: [count(10_000)],
  })
  const { status, json } = await call(`${COUNTS}?until=${new Date(clock() + 1).toISOString()}`)
  t.match({ status, json }, { status: 400, json: { detail: /10000/, errors: [{ parameter: 'since' }] } })
  const filtered = await call(`${COUNTS}?source=s7&type=t&until=${new Date(clock() + 1).toISOString()}`)
  t.match(filtered.json['items'], [{ source: 's7', count: 1 }])
  t.strictSame((await call(`${COUNTS}?source=s7&type=u`)).json['items'], [])
})

t.test('200: up to the last moment of the year 9999', async (t) => {
  const { call, store, clock, owner } = await openScene()
  const { tenantId } = owner
  const at = new Date(clock()).toISOString()
  await store.counts.markRead(tenantId, at)
  for (const unit of ['hour', 'day'] as const) {
    const count = { unit, at, source: 'crm', type: 't', count: 1, newProspects: 0 }
    await store.counts.record({
      tenantId,
      from: '',
      to: '',
      removeFrom: null,
      addProspects: [],
      addDays: [],
      add: [count],
    })
    const { json } = await call(`${COUNTS}?by=${unit}&since=${at}&until=9999-12-31T23:59:59.999Z`)
    t.match(json['items'], [{ source: 'crm', count: 1 }], unit)
  }
})

t.test('404: activities are not counted', async (t) => {
  const { call } = await openScene({ counts: false })
  t.match(await call(COUNTS), { status: 404, json: { code: 'not_found', detail: /COUNTS/ } })
})

t.test('a key without scopes can read itself, and no other key', async (t) => {
  const { call, keyWith, owner } = await openScene()
  const self = 'GET /v0/api_keys/self'
  const { status, json } = await call(self)
  t.equal(status, 200)
  t.match(json, { tenantId: owner.tenantId, scopes: SCOPES, expiresAt: null, tenantName: String })
  t.notMatch(JSON.stringify(json), /pp_|hash/i)
  const key = await keyWith('pages:read')
  t.match(await call(self, { key }), { status: 200, json: { scopes: ['pages:read'] } })
  t.match(await call(COUNTS, { key }), { status: 403, json: { requiredScope: 'prospect_logs:read' } })
  t.match(await call(self, { key: 'pp_wrong' }), { status: 401 })
})

t.test('a long period is read in pieces, which equal requests share', async (t) => {
  const limits: number[] = []
  const scene = await openScene({
    storeAs: (store) => ({
      ...store,
      counts: {
        ...store.counts,
        list: async (want) => {
          limits.push(want.limit)
          // Until all have asked: on a busy machine each waits for a turn of the loop.
          for (let turn = 0; limits.length === 1 && turn < 100; turn++) await setImmediate()
          return store.counts.list(want)
        },
      },
    }),
  })
  const { call, store, clock, owner } = scene
  const { tenantId } = owner
  const at = new Date(clock()).toISOString()
  await store.counts.markRead(tenantId, at)
  const add = Array.from({ length: 2_500 }, (_, i) => {
    return { unit: 'hour' as const, at, source: `s${i}`, type: 'x'.repeat(100), count: 1, newProspects: 0 }
  })
  await store.counts.record({
    tenantId,
    from: '',
    to: 'a',
    removeFrom: null,
    addProspects: [],
    addDays: [],
    add,
  })
  const until = new Date(clock() + 1).toISOString()
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => call(`${COUNTS}?until=${until}&source=s7`)),
  )
  for (const { json } of answers) t.match(json['items'], [{ source: 's7', count: 1 }])
  t.strictSame(limits, [1_000, 1_000, 1_000])

  limits.length = 0
  const { json } = await call(`${COUNTS}?until=${until}`)
  t.equal((json['items'] as unknown[]).length, 2_500)
  t.strictSame(limits, Array(11).fill(250), 'without a filter every row is read, so fewer at a time')
})

t.test('400: no answer is larger than 4 MiB', async (t) => {
  const { call, store, clock, owner } = await openScene()
  const { tenantId } = owner
  const at = new Date(clock()).toISOString()
  await store.counts.markRead(tenantId, at)
  const add = Array.from({ length: 8_000 }, (_, i) => {
    const source = `${i}`.padEnd(100, '\u0001')
    return { unit: 'hour' as const, at, source, type: 't', count: 1, newProspects: 0 }
  })
  await store.counts.record({
    tenantId,
    from: '',
    to: 'a',
    removeFrom: null,
    addProspects: [],
    addDays: [],
    add,
  })
  const { status, json } = await call(`${COUNTS}?until=${new Date(clock() + 1).toISOString()}`)
  t.match({ status, json }, { status: 400, json: { detail: /fit into an answer/ } })
})

t.test('200: people by page or source, of a span or of each day', async (t) => {
  const { call, store, clock, owner } = await openScene()
  const { tenantId } = owner
  const nowMs = clock()
  const today = Math.floor(nowMs / DAY_MS)
  await store.counts.markRead(tenantId, new Date(nowMs).toISOString())
  const counted = (day: number, name: string, daysSince: number, count: number) => {
    return { kind: 'page' as const, day, name, daysSince, count, newProspects: daysSince > 1 ? 1 : 0 }
  }
  const addProspects = [
    counted(today - 1, 'page_tulips', 32, 2),
    counted(today - 1, 'page_roses', 32, 4),
    counted(today, 'page_tulips', 1, 2),
    counted(today, 'page_tulips', 0, 5),
    counted(today, 'page_tulips', 32, 1),
    counted(today, '', 0, 9),
  ]
  const change = { tenantId, from: '', to: 'a', removeFrom: null, add: [], addDays: [], addProspects }
  await store.counts.record(change)
  const until = `until=${new Date(nowMs + 1).toISOString()}`
  const dayBefore = new Date((today - 1) * DAY_MS).toISOString()
  const thisDay = new Date(today * DAY_MS).toISOString()
  const row = (
    at: string,
    pageId: string | null,
    count: number,
    prospects: number | null,
    newProspects = 1,
  ) => {
    return { at, pageId, source: null, type: null, count, prospects, newProspects }
  }

  const span = await call(`${COUNTS}?of=page&since=${dayBefore}&${until}`)
  t.equal(span.status, 200)
  t.strictSame(span.json['items'], [
    row(dayBefore, 'page_roses', 4, 4),
    row(dayBefore, 'page_tulips', 10, 3, 2),
    row(dayBefore, null, 9, null, 0),
  ])
  const days = await call(`${COUNTS}?of=page&by=day&since=${dayBefore}&${until}`)
  t.strictSame(days.json['items'], [
    row(dayBefore, 'page_roses', 4, 4),
    row(dayBefore, 'page_tulips', 2, 2),
    row(thisDay, 'page_tulips', 8, 3),
    row(thisDay, null, 9, null, 0),
  ])
  t.strictSame((await call(`${COUNTS}?of=source&${until}`)).json['items'], [])
})

t.test('400: a query that cannot be counted by page or source is refused by name', async (t) => {
  const { call } = await openScene()
  const wrong = {
    'of=person': 'of',
    'by=span': 'by',
    'of=page&by=hour': 'by',
    'of=page&source=crm': 'source',
    'of=source&type=webhook': 'type',
    'of=page&since=2025-11-30T23:59:59Z&until=2026-01-01T00:00:00Z': 'since',
    'of=page&by=day&since=2020-01-01T00:00:00Z': 'since',
  }
  for (const [query, parameter] of Object.entries(wrong)) {
    const { status, json } = await call(`${COUNTS}?${query}`)
    const refusal = { status: 400, json: { code: 'invalid_request', errors: [{ parameter }] } }
    t.match({ status, json }, refusal, query)
  }
  const longest = await call(`${COUNTS}?of=page&since=2025-12-01T00:00:00Z&until=2026-01-01T00:00:00Z`)
  t.equal(longest.status, 200, '31 days')
})
