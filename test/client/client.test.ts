import { mock } from 'node:test'
import t from 'tap'
import { type Activity, createClient, ProblemError } from '../../src/client/prospect-pages.ts'
import { answering, ended, type Fake, rest, type Sent } from './answers.ts'

const URL_AND_KEY = { url: 'https://prospects.example.com/base/', key: 'pp_key' }
const ACTIVITY: Activity = { source: 'crm', payload: { form: 'contact' } }
const RECEIPT = { prospectId: 'prospect_1', prospectLogId: 'prospectlog_1' }
const CREATED = { status: 201, body: RECEIPT }
const BROKEN = new TypeError('fetch failed')
const busy = (status: number, after?: string): Fake => ({
  status,
  body: { code: 'unavailable', detail: 'The service is overloaded.', instance: 'request-1' },
  headers: after === undefined ? {} : { 'retry-after': after },
})
const clientOf = (...answers: readonly Fake[]) => {
  const { fetch, sent } = answering(...answers)
  return { client: createClient({ ...URL_AND_KEY, fetch }), sent }
}
const itemsOf = ({ body }: Sent): Activity[] => JSON.parse(body).items
/** A batch is answered by a status for each of its items. */
const byItem =
  (statusOf: (item: Activity) => number, headers = {}) =>
  (sent: Sent) => {
    const items = itemsOf(sent).map((item) => {
      const status = statusOf(item)
      const receipt = { ...RECEIPT, prospectLogId: item.type }
      return status === 201
        ? { status, prospectLog: receipt, replayed: false }
        : { status, problem: { code: `${status}`, detail: 'No.' } }
    })
    return { status: 207, headers, body: { items, accepted: 0, refused: 0 } }
  }
const many = (count: number): Activity[] =>
  Array.from({ length: count }, (_, i) => ({ ...ACTIVITY, type: `type-${i}` }))
const created = byItem(() => 201)

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_800_000_000_000 }))
t.afterEach(() => mock.timers.reset())

t.test('an activity is sent with a key, and the same bytes again after whatever may pass', async (t) => {
  const fates = [BROKEN, busy(503), busy(429), busy(408), busy(502), { status: 201, body: '<html>' }]
  for (const fate of fates) {
    const { client, sent } = clientOf(fate, { ...CREATED, headers: { 'idempotent-replayed': 'true' } })
    const { value } = await ended(client.logActivity(ACTIVITY))
    t.strictSame(value, { receipt: RECEIPT, replayed: true })
    const [first, second] = sent
    t.equal(first?.url.href, 'https://prospects.example.com/base/v0/prospect_logs')
    t.equal(first?.headers.get('x-api-key'), 'pp_key')
    t.match(JSON.parse(String(first?.body)), { ...ACTIVITY, idempotencyKey: /^[\w-]{36}$/ })
    t.equal(second?.body, first?.body)
  }
})

t.test('an answer that lacks its receipt, or none within the time limit, is a broken one', async (t) => {
  const { client, sent } = clientOf({ status: 200, body: {} }, 'none', CREATED)
  const { value, ms } = await ended(client.logActivity(ACTIVITY))
  t.match(value, { receipt: RECEIPT })
  t.ok(ms >= 10_000 && ms <= 11_000, `${ms}`)
  t.equal(sent.length, 3)
})

t.test('a refusal is not repeated, and says why', async (t) => {
  const errors = [{ detail: 'must be 1 to 100 characters long', pointer: '/source' }]
  const body = { code: 'invalid_request', detail: 'The request is invalid.', instance: 'request-1', errors }
  for (const status of [301, 400, 401, 403, 404, 410, 413, 422]) {
    const { client, sent } = clientOf({ status, body })
    const { reason } = await ended(client.logActivity({ ...ACTIVITY, idempotencyKey: 'mine' }))
    t.ok(reason instanceof ProblemError)
    const { code, requestId, message, activity } = reason
    t.strictSame(
      { status: reason.status, code, errors: reason.errors, requestId, message, activity },
      {
        status,
        code: 'invalid_request',
        errors,
        requestId: 'request-1',
        message: 'The request is invalid.',
        activity: { ...ACTIVITY, idempotencyKey: 'mine' },
      },
    )
    t.equal(sent.length, 1)
  }
  const { client } = clientOf({ status: 404, body: 'Not found', headers: { 'x-request-id': 'request-2' } })
  const { reason } = await ended(client.logActivity(ACTIVITY))
  t.match(reason, { status: 404, code: '404', requestId: 'request-2', message: /status 404/ })
})

t.test('a client gives up after its tries, and the error has the activity with its key', async (t) => {
  const { client, sent } = clientOf(BROKEN)
  const { reason, ms } = await ended(client.logActivity(ACTIVITY))
  t.match(reason, { status: 0, code: 'no_answer', cause: BROKEN, activity: { idempotencyKey: /./ } })
  t.equal(sent.length, 5)
  t.ok(ms <= 3_500, `${ms} ms: at most 200, 400, 800 and 1,600`)
  const [again] = [answering(CREATED)]
  await createClient({ ...URL_AND_KEY, fetch: again.fetch }).logActivity(reason.activity)
  t.equal(again.sent[0]?.body, sent[0]?.body)
})

t.test('Retry-After is waited for, in seconds or as a date, at most a minute', async (t) => {
  const inSevenSeconds = new Date(1_800_000_007_000).toUTCString()
  for (const [after, atLeast] of [
    ['3', 3_000],
    [inSevenSeconds, 7_000],
    ['86400', 60_000],
    ['soon', 0],
    ['-1', 0],
  ] as const) {
    mock.timers.setTime(1_800_000_000_000)
    const { client } = clientOf(busy(503, after), CREATED)
    const { ms } = await ended(client.logActivity(ACTIVITY))
    t.ok(ms >= atLeast && ms <= atLeast + 300, `${after}: ${ms}`)
  }
})

t.test('many activities are halved until a batch has at most 1,000, and 8 MiB', async (t) => {
  const { client, sent } = clientOf(created)
  const { value } = await ended(client.logActivities(many(2_500)))
  t.strictSame(
    sent.map((one) => itemsOf(one).length),
    [625, 625, 625, 625],
  )
  t.strictSame(
    value.map(({ receipt }) => receipt?.prospectLogId),
    many(2_500).map(({ type }) => type),
  )
  t.equal(new Set(sent.flatMap(itemsOf).map(({ idempotencyKey }) => idempotencyKey)).size, 2_500)
  t.equal(sent[0]?.headers.has('idempotency-key'), false, 'the route refuses that header')

  const large = clientOf(created)
  const payload = { text: 'é'.repeat(500_000) }
  await ended(large.client.logActivities(many(20).map((one) => ({ ...one, payload }))))
  t.strictSame(
    large.sent.map((one) => itemsOf(one).length),
    [5, 5, 5, 5],
  )
  for (const { body } of large.sent) t.ok(Buffer.byteLength(body) <= 8 * 1_024 * 1_024)
  t.strictSame((await ended(client.logActivities([]))).value, [])
})

t.test('only items answered 503 are sent again, and every result is in its place', async (t) => {
  const statuses = { 'type-1': 503, 'type-2': 400, 'type-4': 503 } as Record<string, number>
  const first = byItem(({ type = '' }) => statuses[type] ?? 201, { 'retry-after': '2' })
  const { client, sent } = clientOf(
    first,
    byItem(({ type }) => (type === 'type-4' ? 422 : 201)),
  )
  const { value, ms } = await ended(client.logActivities(many(5)))
  t.strictSame(
    sent.map((one) => itemsOf(one).map(({ type }) => type)),
    [many(5).map(({ type }) => type), ['type-1', 'type-4']],
  )
  t.same(itemsOf(sent[1] as Sent)[0], itemsOf(sent[0] as Sent)[1], 'under the same key')
  t.strictSame(
    value.map(({ problem }) => problem?.status ?? 201),
    [201, 201, 400, 201, 422],
  )
  t.match(value[2]?.problem, { code: '400', activity: { type: 'type-2', idempotencyKey: /./ } })
  t.ok(ms >= 2_000, 'after the time that the server asks for')
})

t.test('a batch that is refused as a whole is sent again as a whole, and keeps no other back', async (t) => {
  const { client, sent } = clientOf(busy(429), created)
  t.equal((await ended(client.logActivities(many(3)))).value.filter(({ receipt }) => receipt).length, 3)
  t.equal(sent[0]?.body, sent[1]?.body)

  const refusal = { status: 403, body: { code: 'insufficient_scope' } }
  const mixed = clientOf(refusal, created)
  const { value } = await ended(mixed.client.logActivities(many(1_001)))
  t.match([value[0]?.problem?.code, value[499]?.problem?.code], ['insufficient_scope', 'insufficient_scope'])
  t.equal(value[500]?.receipt?.prospectLogId, 'type-500')
})

t.test('a batch that is too large for a proxy or a rate limit is halved', async (t) => {
  for (const status of [400, 413]) {
    const { client, sent } = clientOf((one) => {
      const items = itemsOf(one)
      const isRefused = items.length > 2 || items.some(({ type }) => type === 'type-4')
      return isRefused ? { status, body: '<html>' } : created(one)
    })
    const { value } = await ended(client.logActivities(many(5)))
    t.strictSame(
      value.map(({ receipt, problem }) => receipt?.prospectLogId ?? problem?.status),
      ['type-0', 'type-1', 'type-2', 'type-3', status],
      'and one alone is to blame',
    )
    t.same(
      sent.map((one) => itemsOf(one).length),
      [5, 2, 3, 1, 2, 1, 1],
    )
  }
})

t.test('answers that make no sense are broken ones, and every item still has its result', async (t) => {
  const answers = [
    '<html>',
    {},
    { accepted: 1 },
    { accepted: 2, items: 2 },
    { accepted: 2, items: [null, 1] },
  ]
  for (const body of answers) {
    const { client } = clientOf({ status: 201, body })
    const { value } = await ended(client.logActivities(many(2)))
    const problem = { status: 0, code: 'no_answer' }
    t.match(value, [{ problem }, { problem }])
  }
  const { client, sent } = clientOf(byItem(() => 503))
  t.match((await ended(client.logActivities(many(1)))).value, [{ problem: { status: 503, code: '503' } }])
  t.equal(sent.length, 5)
})

t.test('what cannot be written as JSON is refused before anything is sent', async (t) => {
  const { client, sent } = clientOf(created)
  const activities = [ACTIVITY, { ...ACTIVITY, payload: { amount: 1n } }]
  t.ok((await ended(client.logActivities(activities))).reason instanceof TypeError)
  const buffer = client.buffer()
  t.ok((await ended(buffer.log(activities[1] as Activity))).reason instanceof TypeError)
  t.strictSame(await buffer.close(), [])
  t.equal(sent.length, 0)
})

t.test(
  'an activity that is no object as JSON is refused, and the others of its buffer are stored',
  async (t) => {
    const { client, sent } = clientOf(created)
    const nothing = { ...ACTIVITY, toJSON: () => undefined }
    const broken = {
      ...ACTIVITY,
      payload: {
        toJSON: () => {
          throw null
        },
      },
    }
    const buffer = client.buffer()
    const outcomes = Promise.allSettled([ACTIVITY, nothing, broken, ACTIVITY].map((one) => buffer.log(one)))
    t.strictSame((await ended(buffer.close())).value, [])
    t.match(await outcomes, [
      { status: 'fulfilled' },
      { reason: TypeError },
      { reason: TypeError },
      { status: 'fulfilled' },
    ])
    t.equal(itemsOf(sent[0] as Sent).length, 2)
    for (const one of [nothing, broken]) {
      t.ok((await ended(client.logActivity(one))).reason instanceof TypeError)
      t.ok((await ended(client.logActivities([one]))).reason instanceof TypeError)
    }
  },
)

t.test('a buffer sends when enough wait, or after a time, one request at a time', async (t) => {
  const { client, sent } = clientOf(created)
  const buffer = client.buffer({ max: 3 })
  const logged = Promise.all(many(7).map((activity) => buffer.log(activity)))
  await rest()
  t.strictSame(
    sent.map((one) => itemsOf(one).length),
    [3, 3, 1],
    'what waits by then goes along',
  )
  t.strictSame(
    (await logged).map(({ receipt }) => receipt.prospectLogId),
    many(7).map(({ type }) => type),
  )
  const alone = ended(buffer.log(ACTIVITY))
  t.ok((await alone).ms >= 500)
  t.equal(sent.length, 4)
})

t.test('a full buffer rejects and drops nothing; flush waits for all that wait', async (t) => {
  const { client, sent } = clientOf(
    BROKEN,
    byItem(({ type }) => (type === 'type-1' ? 400 : 201)),
  )
  const buffer = client.buffer({ waitingMax: 3 })
  const calls = many(4).map((activity) => buffer.log(activity))
  const outcomes = Promise.allSettled(calls)
  t.match((await ended(calls[3] as Promise<unknown>)).reason, { code: 'buffer_full' })
  await ended(buffer.flush())
  t.strictSame(
    (await outcomes).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  t.equal(itemsOf(sent[1] as Sent).length, 3)
  await ended(buffer.flush())
  t.match(
    (await ended(buffer.log({ ...ACTIVITY, type: 'later' }))).value,
    { receipt: {} },
    'there is room again',
  )
})

t.test(
  'a closed buffer returns what no answer confirms, with its keys, and every promise is settled',
  async (t) => {
    const { client, sent } = clientOf(
      byItem(({ type }) => (type === 'type-0' ? 400 : 201)),
      'none',
    )
    const buffer = client.buffer({ max: 2 })
    const outcomes = Promise.allSettled(many(5).map((activity) => buffer.log(activity)))
    await rest()
    const { value, ms } = await ended(buffer.close({ ms: 3_000 }))
    t.equal(ms, 3_000)
    t.strictSame(
      value.map(({ type }) => type),
      ['type-2', 'type-3', 'type-4'],
      'neither what is stored nor what is refused',
    )
    t.same(itemsOf(sent[1] as Sent), value.slice(0, 2), 'they can be logged again as they are')
    t.strictSame(
      (await outcomes).map((one) => (one.status === 'fulfilled' ? 'stored' : one.reason.code)),
      ['400', 'stored', 'no_answer', 'no_answer', 'no_answer'],
    )
    t.match((await ended(buffer.log(ACTIVITY))).reason, { code: 'buffer_closed' })
    t.strictSame(await buffer.close(), [])
  },
)

t.test('a closed buffer returns what is refused as a whole, not what is refused by itself', async (t) => {
  for (const status of [302, 400, 401, 403, 404, 413]) {
    const { client } = clientOf({ status, body: '<html>' })
    const buffer = client.buffer()
    const outcomes = Promise.allSettled(many(3).map((activity) => buffer.log(activity)))
    t.match((await ended(buffer.close())).value, many(3), `${status}`)
    t.match(await outcomes, Array(3).fill({ reason: { status, activity: ACTIVITY } }))
  }
})

t.test('a time without end is a long one, and one that is no number is the default', async (t) => {
  const late: Fake[] = ['none', CREATED]
  for (const [timeoutMs, ms] of [
    [Number.NaN, 10_000],
    [Number.POSITIVE_INFINITY, 600_000],
    [2 ** 31, 600_000],
  ] as const) {
    const { fetch } = answering(...late)
    const call = createClient({ ...URL_AND_KEY, fetch, timeoutMs }).logActivity(ACTIVITY)
    const waited = (await ended(call)).ms
    t.ok(waited >= ms && waited <= ms + 300, `${timeoutMs}: ${waited}`)
  }
  const { client, sent } = clientOf(created)
  const lasting = client.buffer({ ms: 1e12 })
  const usual = client.buffer({ ms: Number.NaN })
  const logged = lasting.log(ACTIVITY)
  t.ok((await ended(usual.log(ACTIVITY))).ms >= 500)
  mock.timers.tick(600_000)
  t.equal(sent.length, 1)
  await ended(lasting.close({ ms: Number.POSITIVE_INFINITY }))
  t.match(await logged, { replayed: false })
  t.match((await ended(client.buffer({ waitingMax: Number.NaN }).log(ACTIVITY))).reason, {
    code: 'buffer_full',
  })
})

t.test('a request is repeated unless it might be done twice', async (t) => {
  const repeats = async (method: string, path: string, options = {}, answer: Fake = BROKEN) => {
    const { client, sent } = clientOf(answer, { body: { ok: true } })
    await ended(client.request(method, path, options))
    return { tries: sent.length, keys: sent.map(({ headers }) => headers.get('idempotency-key')) }
  }
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])
    t.strictSame(await repeats(method, '/v0/page_groups/1'), { tries: 2, keys: [null, null] }, method)
  const { keys } = await repeats('POST', '/v0/page_groups', { body: {} })
  t.match(keys, [/^[\w-]{36}$/, keys[0]])
  const given = { body: {}, headers: { 'Idempotency-Key': 'mine' } }
  t.strictSame(await repeats('POST', '/v0/page_groups/1/pages', given), { tries: 2, keys: ['mine', 'mine'] })
  for (const path of ['page_groups/1/pages/2/versions/3/publish', 'prospects', 'prospects/1/merge'])
    t.equal((await repeats('POST', `/v0/${path}`)).tries, 2, path)
  t.equal((await repeats('POST', '/v0/prospect_logs', given)).tries, 2)
  for (const path of ['/v0/webhook_endpoints', '/v0/hooks', '/v0/prospect_logs', '/v0/prospect_logs/batch']) {
    t.strictSame(await repeats('POST', path, { body: {} }), { tries: 1, keys: [null] }, path)
    t.equal((await repeats('post', path, { body: {} })).tries, 1, 'whatever the case')
    t.equal((await repeats('POST', path, { body: {} }, busy(503))).tries, 1)
    t.equal((await repeats('POST', path, { body: {} }, busy(429))).tries, 2, 'nothing was done')
  }
  for (const path of ['/v0/webhook_endpoints', '/v0/hooks', '/v0/webhook_endpoints/1/rotate_secret'])
    t.equal((await repeats('POST', path, given)).tries, 1, 'the server ignores the key')
})

t.test('a request sends a query, JSON or text as it is, and returns the value with its text', async (t) => {
  const text = '{"amount":12345678901234567890}'
  const { client, sent } = clientOf({ body: text, headers: { etag: '"1"' } })
  const query = { email: 'a+b@example.com', limit: 5, cursor: undefined }
  const { value } = await ended(
    client.request<{ amount: number }>('POST', 'v0/page_groups', { query, body: text }),
  )
  t.match(value, { status: 200, text, body: { amount: 12345678901234567000 } })
  t.equal(value.headers.get('etag'), '"1"')
  t.equal(
    sent[0]?.url.href,
    'https://prospects.example.com/base/v0/page_groups?email=a%2Bb%40example.com&limit=5',
  )
  t.equal(sent[0]?.body, text)
  const fetch = (async () => new Response(null, { status: 304 })) as typeof globalThis.fetch
  const answer = await ended(createClient({ ...URL_AND_KEY, fetch }).request('GET', '/v0/page_groups/1'))
  t.match(answer.value, { status: 304, body: null })
})

t.test('each returns the items of all slices', async (t) => {
  const { client, sent } = clientOf(
    { body: { items: [1, 2], hasMore: true, nextCursor: 'a' } },
    BROKEN,
    { body: { items: [], hasMore: true, nextCursor: 'b' } },
    { body: { items: [3], hasMore: false } },
  )
  const items: number[] = []
  const read = async () => {
    for await (const item of client.each<number>('/v0/prospects', { limit: 2 })) items.push(item)
  }
  await ended(read())
  t.strictSame(items, [1, 2, 3])
  t.strictSame(
    sent.map(({ url }) => url.search),
    ['?limit=2', '?limit=2&cursor=a', '?limit=2&cursor=a', '?limit=2&cursor=b'],
  )
})

t.test('events go on after errors, from the cursor of the last answer, until they are refused', async (t) => {
  const slice = (sequences: number[], nextCursor: string): Fake => ({
    body: { items: sequences.map((sequence) => ({ sequence })), hasMore: false, nextCursor },
  })
  const broken = Array.from({ length: 20 }, () => BROKEN)
  const { client, sent } = clientOf(
    BROKEN,
    slice([1, 2], 'a'),
    ...broken,
    slice([], 'b'),
    busy(503, '1'),
    ...[307, 403, 404, 425].map((status) => ({ status, body: '<html>' })),
    { body: { nextCursor: 'lost' } },
    slice([3], 'c'),
    { status: 410, body: { code: 'cursor_expired' } },
  )
  const seen: unknown[] = []
  const follow = async () => {
    for await (const { sequence, cursor } of client.events({ cursor: 'latest', types: 'page.created' }))
      seen.push([sequence, cursor])
  }
  t.match((await ended(follow())).reason, { status: 410, code: 'cursor_expired' })
  t.strictSame(seen, [
    [1, null],
    [2, 'a'],
    [3, 'c'],
  ])
  const latest = '?cursor=latest&types=page.created&limit=100'
  t.strictSame(
    sent.slice(0, 3).map(({ url }) => url.search),
    [latest, latest, '?cursor=a&types=page.created&limit=100&wait=25'],
    'it waits only from a place that stays',
  )
  t.equal(sent.at(-1)?.url.searchParams.get('cursor'), 'c')
})

t.test('events end when their signal is aborted, even in the midst of a wait', async (t) => {
  const { client } = clientOf({ body: { items: [{ sequence: 1 }], hasMore: false, nextCursor: 'a' } }, 'none')
  const stop = new AbortController()
  const seen: number[] = []
  const follow = async () => {
    for await (const { sequence } of client.events({ signal: stop.signal })) seen.push(sequence)
  }
  const followed = follow()
  await rest()
  stop.abort()
  t.equal((await ended(followed)).ms, 0)
  t.strictSame(seen, [1])
})

t.test('no event follows once the signal is aborted', async (t) => {
  const { client } = clientOf({ body: { items: [{ sequence: 1 }, { sequence: 2 }], nextCursor: 'a' } })
  const stop = new AbortController()
  const seen: number[] = []
  const follow = async () => {
    for await (const { sequence } of client.events({ signal: stop.signal })) {
      seen.push(sequence)
      stop.abort(null)
    }
  }
  t.equal((await ended(follow())).reason, undefined)
  t.strictSame(seen, [1])
})

t.test('whatever ends a call, it rejects with an error', async (t) => {
  for (const why of [null, 'enough', 7]) {
    const { client } = clientOf('none')
    const stop = new AbortController()
    const call = client.request('GET', '/v0/page_groups', { signal: stop.signal })
    stop.abort(why)
    t.match((await ended(call)).reason, { code: 'no_answer', message: new RegExp(`${why}`), cause: why })
  }
  const { client, sent } = clientOf(CREATED)
  const body: Record<string, unknown> = {}
  body['body'] = body
  t.ok((await ended(client.request('POST', '/v0/page_groups', { body }))).reason instanceof TypeError)
  t.equal(sent.length, 0)
})

t.test('a client needs a URL without secrets, and a key that a header can have', async (t) => {
  for (const url of [
    'prospects',
    'https://a:b@example.com',
    'https://example.com/?a',
    'https://example.com/#a',
  ])
    t.throws(() => createClient({ url, key: 'pp_key' }), TypeError, url)
  for (const key of ['', 'pp_\nkey', 'pp key', 'pp_kéy', undefined as never])
    t.throws(() => createClient({ ...URL_AND_KEY, key }), {
      name: 'TypeError',
      message: 'The key must be visible ASCII characters.',
    })
})
