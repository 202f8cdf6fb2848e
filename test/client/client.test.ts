import { mock } from 'node:test'
import t from 'tap'
import { type Activity, type Client, createClient, ProblemError } from '../../src/client/prospect-pages.ts'
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
const sizesOf = (batches: readonly Sent[]) => batches.map((batch) => itemsOf(batch).length)
/** The answer to one item of a batch. A receipt has the type of its activity as its id. */
const itemAnswer = (item: Activity, status: number) => {
  if (status !== 201) return { status, problem: { code: `${status}`, detail: 'No.' } }
  return { status, prospectLog: { ...RECEIPT, prospectLogId: item.type }, replayed: false }
}
/** Answers a batch with a status for each of its items. */
const byItem =
  (statusOf: (item: Activity) => number, headers = {}) =>
  (sent: Sent) => {
    const items = itemsOf(sent).map((item) => itemAnswer(item, statusOf(item)))
    return { status: 207, headers, body: { items, accepted: 0, refused: 0 } }
  }
const created = byItem(() => 201)
const many = (count: number): Activity[] =>
  Array.from({ length: count }, (_, i) => ({ ...ACTIVITY, type: `type-${i}` }))
/** Logs activities through a buffer, and returns the promise of each. */
const logAll = (buffer: ReturnType<Client['buffer']>, activities: readonly Activity[]) =>
  activities.map((activity) => buffer.log(activity))

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_800_000_000_000 }))
t.afterEach(() => mock.timers.reset())

t.test('after a failure that may pass, an activity is sent again with the same key and bytes', async (t) => {
  const failures = [BROKEN, busy(503), busy(429), busy(408), busy(502), { status: 201, body: '<html>' }]
  for (const failure of failures) {
    const { client, sent } = clientOf(failure, { ...CREATED, headers: { 'idempotent-replayed': 'true' } })
    const { value } = await ended(client.logActivity(ACTIVITY))
    t.strictSame(value, { receipt: RECEIPT, replayed: true })
    const [first, second] = sent
    t.equal(first?.url.href, 'https://prospects.example.com/base/v0/prospect_logs')
    t.equal(first?.headers.get('x-api-key'), 'pp_key')
    t.match(JSON.parse(String(first?.body)), { ...ACTIVITY, idempotencyKey: /^[\w-]{36}$/ })
    t.equal(second?.body, first?.body)
  }
})

t.test('an activity is sent again after an answer without a receipt, and after a timeout', async (t) => {
  const { client, sent } = clientOf({ status: 200, body: {} }, 'none', CREATED)
  const { value, ms } = await ended(client.logActivity(ACTIVITY))
  t.match(value, { receipt: RECEIPT })
  t.ok(ms >= 10_000 && ms <= 11_000, `${ms}`)
  t.equal(sent.length, 3)
})

t.test('a refused activity is not sent again, and the error has the reason', async (t) => {
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

t.test('a client gives up after five tries, and the error has the activity with its key', async (t) => {
  const { client, sent } = clientOf(BROKEN)
  const { reason, ms } = await ended(client.logActivity(ACTIVITY))
  t.match(reason, { status: 0, code: 'no_answer', cause: BROKEN, activity: { idempotencyKey: /./ } })
  t.equal(sent.length, 5)
  t.ok(ms <= 3_500, `${ms} ms: at most 200, 400, 800 and 1,600`)
  const later = clientOf(CREATED)
  await later.client.logActivity(reason.activity)
  t.equal(later.sent[0]?.body, sent[0]?.body)
})

t.test(
  'a client waits as long as Retry-After says, in seconds or as a date, but at most a minute',
  async (t) => {
    const inSevenSeconds = new Date(1_800_000_007_000).toUTCString()
    const waits = { '3': 3_000, [inSevenSeconds]: 7_000, '86400': 60_000, soon: 0, '-1': 0 }
    for (const [after, atLeast] of Object.entries(waits)) {
      mock.timers.setTime(1_800_000_000_000)
      const { client } = clientOf(busy(503, after), CREATED)
      const { ms } = await ended(client.logActivity(ACTIVITY))
      t.ok(ms >= atLeast && ms <= atLeast + 300, `${after}: ${ms}`)
    }
  },
)

t.test('a list is halved until each batch has at most 1,000 activities and 8 MiB', async (t) => {
  const { client, sent } = clientOf(created)
  const { value } = await ended(client.logActivities(many(2_500)))
  t.strictSame(sizesOf(sent), [625, 625, 625, 625])
  t.strictSame(
    value.map(({ receipt }) => receipt?.prospectLogId),
    many(2_500).map(({ type }) => type),
  )
  t.equal(new Set(sent.flatMap(itemsOf).map(({ idempotencyKey }) => idempotencyKey)).size, 2_500)
  t.equal(sent[0]?.headers.has('idempotency-key'), false, 'the route refuses that header')

  const large = clientOf(created)
  const payload = { text: 'é'.repeat(500_000) }
  await ended(large.client.logActivities(many(20).map((activity) => ({ ...activity, payload }))))
  t.strictSame(sizesOf(large.sent), [5, 5, 5, 5])
  for (const { body } of large.sent) t.ok(Buffer.byteLength(body) <= 8 * 1_024 * 1_024)
  t.strictSame((await ended(client.logActivities([]))).value, [])
})

t.test(
  'only items answered with 503 are sent again, and results keep the order of the activities',
  async (t) => {
    const statuses: Record<string, number> = { 'type-1': 503, 'type-2': 400, 'type-4': 503 }
    const firstAnswer = byItem(({ type = '' }) => statuses[type] ?? 201, { 'retry-after': '2' })
    const secondAnswer = byItem(({ type }) => (type === 'type-4' ? 422 : 201))
    const { client, sent } = clientOf(firstAnswer, secondAnswer)
    const { value, ms } = await ended(client.logActivities(many(5)))
    t.strictSame(
      sent.map((batch) => itemsOf(batch).map(({ type }) => type)),
      [many(5).map(({ type }) => type), ['type-1', 'type-4']],
    )
    t.same(itemsOf(sent[1] as Sent)[0], itemsOf(sent[0] as Sent)[1], 'under the same key')
    t.strictSame(
      value.map(({ problem }) => problem?.status ?? 201),
      [201, 201, 400, 201, 422],
    )
    t.match(value[2]?.problem, { code: '400', activity: { type: 'type-2', idempotencyKey: /./ } })
    t.ok(ms >= 2_000, 'after the time that the server asks for')
  },
)

t.test(
  'a batch that is refused as a whole is sent again as a whole, and other batches continue',
  async (t) => {
    const { client, sent } = clientOf(busy(429), created)
    t.equal((await ended(client.logActivities(many(3)))).value.filter(({ receipt }) => receipt).length, 3)
    t.equal(sent[0]?.body, sent[1]?.body)

    const refusal = { status: 403, body: { code: 'insufficient_scope' } }
    const mixed = clientOf(refusal, created)
    const { value } = await ended(mixed.client.logActivities(many(1_001)))
    t.match(
      [value[0]?.problem?.code, value[499]?.problem?.code],
      ['insufficient_scope', 'insufficient_scope'],
    )
    t.equal(value[500]?.receipt?.prospectLogId, 'type-500')
  },
)

t.test('a batch that the server refuses as too large is halved', async (t) => {
  for (const status of [400, 413]) {
    const { client, sent } = clientOf((batch) => {
      const items = itemsOf(batch)
      const isRefused = items.length > 2 || items.some(({ type }) => type === 'type-4')
      return isRefused ? { status, body: '<html>' } : created(batch)
    })
    const { value } = await ended(client.logActivities(many(5)))
    t.strictSame(
      value.map(({ receipt, problem }) => receipt?.prospectLogId ?? problem?.status),
      ['type-0', 'type-1', 'type-2', 'type-3', status],
      'only the activity that causes the refusal fails',
    )
    t.same(sizesOf(sent), [5, 2, 3, 1, 2, 1, 1])
  }
})

t.test('every activity of a batch has a result, even if the answer makes no sense', async (t) => {
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

t.test('an activity that JSON cannot hold is refused before anything is sent', async (t) => {
  const { client, sent } = clientOf(created)
  const withBigInt = { ...ACTIVITY, payload: { amount: 1n } }
  t.ok((await ended(client.logActivities([ACTIVITY, withBigInt]))).reason instanceof TypeError)
  const buffer = client.buffer()
  t.ok((await ended(buffer.log(withBigInt))).reason instanceof TypeError)
  t.strictSame(await buffer.close(), [])
  t.equal(sent.length, 0)
})

t.test(
  'an activity that is not a JSON object is refused, and the others in its buffer are stored',
  async (t) => {
    const { client, sent } = clientOf(created)
    const nothing = { ...ACTIVITY, toJSON: () => undefined }
    const toJSON = () => {
      throw null
    }
    const throwing = { ...ACTIVITY, payload: { toJSON } }
    const buffer = client.buffer()
    const outcomes = Promise.allSettled(logAll(buffer, [ACTIVITY, nothing, throwing, ACTIVITY]))
    t.strictSame((await ended(buffer.close())).value, [])
    t.match(await outcomes, [
      { status: 'fulfilled' },
      { reason: TypeError },
      { reason: TypeError },
      { status: 'fulfilled' },
    ])
    t.equal(itemsOf(sent[0] as Sent).length, 2)
    for (const activity of [nothing, throwing]) {
      t.ok((await ended(client.logActivity(activity))).reason instanceof TypeError)
      t.ok((await ended(client.logActivities([activity]))).reason instanceof TypeError)
    }
  },
)

t.test('a buffer sends when it holds enough activities, or after half a second', async (t) => {
  const { client, sent } = clientOf(created)
  const buffer = client.buffer({ max: 3 })
  const logged = Promise.all(logAll(buffer, many(7)))
  await rest()
  t.strictSame(sizesOf(sent), [3, 3, 1], 'the last request takes whatever the buffer holds')
  t.strictSame(
    (await logged).map(({ receipt }) => receipt.prospectLogId),
    many(7).map(({ type }) => type),
  )
  const single = await ended(buffer.log(ACTIVITY))
  t.ok(single.ms >= 500)
  t.equal(sent.length, 4)
})

t.test('a full buffer rejects new activities, and a flush waits for those that it holds', async (t) => {
  const answer = byItem(({ type }) => (type === 'type-1' ? 400 : 201))
  const { client, sent } = clientOf(BROKEN, answer)
  const buffer = client.buffer({ waitingMax: 3 })
  const calls = logAll(buffer, many(4))
  const outcomes = Promise.allSettled(calls)
  t.match((await ended(calls[3] as Promise<unknown>)).reason, { code: 'buffer_full' })
  await ended(buffer.flush())
  t.strictSame(
    (await outcomes).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  t.equal(itemsOf(sent[1] as Sent).length, 3)
  await ended(buffer.flush())
  const later = await ended(buffer.log({ ...ACTIVITY, type: 'later' }))
  t.match(later.value, { receipt: {} }, 'the buffer has room again')
})

t.test(
  'a closed buffer returns every unconfirmed activity with its key, and settles all promises',
  async (t) => {
    const firstAnswer = byItem(({ type }) => (type === 'type-0' ? 400 : 201))
    const { client, sent } = clientOf(firstAnswer, 'none')
    const buffer = client.buffer({ max: 2 })
    const outcomes = Promise.allSettled(logAll(buffer, many(5)))
    await rest()
    const { value, ms } = await ended(buffer.close({ ms: 3_000 }))
    t.equal(ms, 3_000)
    t.strictSame(
      value.map(({ type }) => type),
      ['type-2', 'type-3', 'type-4'],
      'stored and refused activities are not returned',
    )
    t.same(itemsOf(sent[1] as Sent), value.slice(0, 2), 'they can be logged again unchanged')
    t.strictSame(
      (await outcomes).map((outcome) => (outcome.status === 'fulfilled' ? 'stored' : outcome.reason.code)),
      ['400', 'stored', 'no_answer', 'no_answer', 'no_answer'],
    )
    t.match((await ended(buffer.log(ACTIVITY))).reason, { code: 'buffer_closed' })
    t.strictSame(await buffer.close(), [])
  },
)

t.test('a closed buffer returns the activities of a batch that was refused as a whole', async (t) => {
  for (const status of [302, 400, 401, 403, 404, 413]) {
    const { client } = clientOf({ status, body: '<html>' })
    const buffer = client.buffer()
    const outcomes = Promise.allSettled(logAll(buffer, many(3)))
    t.match((await ended(buffer.close())).value, many(3), `${status}`)
    t.match(await outcomes, Array(3).fill({ reason: { status, activity: ACTIVITY } }))
  }
})

t.test('an infinite timeout is ten minutes, and one that is not a number is the default', async (t) => {
  const waitedMs = async (timeoutMs: number) => {
    const { fetch } = answering('none', CREATED)
    const client = createClient({ ...URL_AND_KEY, fetch, timeoutMs })
    return (await ended(client.logActivity(ACTIVITY))).ms
  }
  const isAbout = (waited: number, expected: number) =>
    t.ok(waited >= expected && waited <= expected + 300, `${waited} ms`)
  isAbout(await waitedMs(Number.NaN), 10_000)
  isAbout(await waitedMs(Number.POSITIVE_INFINITY), 600_000)
  isAbout(await waitedMs(2 ** 31), 600_000)
})

t.test('a buffer treats its times and its bound in the same way', async (t) => {
  const { client, sent } = clientOf(created)
  const lasting = client.buffer({ ms: 1e12 })
  const usual = client.buffer({ ms: Number.NaN })
  const logged = lasting.log(ACTIVITY)
  t.ok((await ended(usual.log(ACTIVITY))).ms >= 500)
  mock.timers.tick(600_000)
  t.equal(sent.length, 1)
  await ended(lasting.close({ ms: Number.POSITIVE_INFINITY }))
  t.match(await logged, { replayed: false })
  const withoutRoom = client.buffer({ waitingMax: Number.NaN })
  t.match((await ended(withoutRoom.log(ACTIVITY))).reason, { code: 'buffer_full' })
})

/** Sends a request whose first try fails, and returns how often it was sent and under which keys. */
const triesOf = async (method: string, path: string, options = {}, failure: Fake = BROKEN) => {
  const { client, sent } = clientOf(failure, { body: { ok: true } })
  await ended(client.request(method, path, options))
  return { tries: sent.length, keys: sent.map(({ headers }) => headers.get('idempotency-key')) }
}
const WITH_KEY = { body: {}, headers: { 'Idempotency-Key': 'mine' } }

t.test('a request that may be repeated safely is sent again', async (t) => {
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])
    t.strictSame(await triesOf(method, '/v0/page_groups/1'), { tries: 2, keys: [null, null] }, method)
  const { keys } = await triesOf('POST', '/v0/page_groups', { body: {} })
  t.match(keys, [/^[\w-]{36}$/, keys[0]])
  const withKey = await triesOf('POST', '/v0/page_groups/1/pages', WITH_KEY)
  t.strictSame(withKey, { tries: 2, keys: ['mine', 'mine'] })
  for (const path of ['page_groups/1/pages/2/versions/3/publish', 'prospects', 'prospects/1/merge'])
    t.equal((await triesOf('POST', `/v0/${path}`)).tries, 2, path)
  t.equal((await triesOf('POST', '/v0/prospect_logs', WITH_KEY)).tries, 2)
})

t.test('a request that might take effect twice is sent once', async (t) => {
  for (const path of ['/v0/webhook_endpoints', '/v0/hooks', '/v0/prospect_logs', '/v0/prospect_logs/batch']) {
    t.strictSame(await triesOf('POST', path, { body: {} }), { tries: 1, keys: [null] }, path)
    t.equal((await triesOf('post', path, { body: {} })).tries, 1, 'a method in lower case is the same')
    t.equal((await triesOf('POST', path, { body: {} }, busy(503))).tries, 1)
    t.equal(
      (await triesOf('POST', path, { body: {} }, busy(429))).tries,
      2,
      '429 means that nothing was done',
    )
  }
  for (const path of ['/v0/webhook_endpoints', '/v0/hooks', '/v0/webhook_endpoints/1/rotate_secret'])
    t.equal((await triesOf('POST', path, WITH_KEY)).tries, 1, 'the server ignores the key')
})

t.test('a request sends text unchanged, and returns the parsed value with its text', async (t) => {
  const text = '{"amount":12345678901234567890}'
  const { client, sent } = clientOf({ body: text, headers: { etag: '"1"' } })
  const query = { email: 'a+b@example.com', limit: 5, cursor: undefined }
  const call = client.request<{ amount: number }>('POST', 'v0/page_groups', { query, body: text })
  const { value } = await ended(call)
  t.match(value, { status: 200, text, body: { amount: 12345678901234567000 } })
  t.equal(value.headers.get('etag'), '"1"')
  t.equal(
    sent[0]?.url.href,
    'https://prospects.example.com/base/v0/page_groups?email=a%2Bb%40example.com&limit=5',
  )
  t.equal(sent[0]?.body, text)
})

t.test('a request that is answered without a body returns null for it', async (t) => {
  const fetch: typeof globalThis.fetch = async () => new Response(null, { status: 304 })
  const { value } = await ended(createClient({ ...URL_AND_KEY, fetch }).request('GET', '/v0/page_groups/1'))
  t.match(value, { status: 304, body: null })
})

t.test('`each` returns the items of all slices', async (t) => {
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

t.test('events continue after errors from the last cursor, until they are refused', async (t) => {
  const slice = (sequences: number[], nextCursor: string): Fake => ({
    body: { items: sequences.map((sequence) => ({ sequence })), hasMore: false, nextCursor },
  })
  const brokenTwentyTimes: Fake[] = Array(20).fill(BROKEN)
  const webPages: Fake[] = [307, 403, 404, 425].map((status) => ({ status, body: '<html>' }))
  const { client, sent } = clientOf(
    BROKEN,
    slice([1, 2], 'a'),
    ...brokenTwentyTimes,
    slice([], 'b'),
    busy(503, '1'),
    ...webPages,
    { body: { nextCursor: 'lost' } },
    slice([3], 'c'),
    { status: 410, body: { code: 'cursor_expired' } },
  )
  const seen: object[] = []
  const follow = async () => {
    for await (const { sequence, cursor } of client.events({ cursor: 'latest', types: 'page.created' }))
      seen.push({ sequence, cursor })
  }
  t.match((await ended(follow())).reason, { status: 410, code: 'cursor_expired' })
  t.strictSame(seen, [
    { sequence: 1, cursor: null },
    { sequence: 2, cursor: 'a' },
    { sequence: 3, cursor: 'c' },
  ])
  const latest = '?cursor=latest&types=page.created&limit=100'
  t.strictSame(
    sent.slice(0, 3).map(({ url }) => url.search),
    [latest, latest, '?cursor=a&types=page.created&limit=100&wait=25'],
    'only a request with a real cursor waits',
  )
  t.equal(sent.at(-1)?.url.searchParams.get('cursor'), 'c')
})

t.test('events end when their signal is aborted, even during a wait', async (t) => {
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

t.test('no event follows after the signal is aborted', async (t) => {
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

t.test('an aborted call rejects with an error, whatever the reason of the abort', async (t) => {
  for (const reason of [null, 'enough', 7]) {
    const { client } = clientOf('none')
    const stop = new AbortController()
    const call = client.request('GET', '/v0/page_groups', { signal: stop.signal })
    stop.abort(reason)
    const message = new RegExp(`${reason}`)
    t.match((await ended(call)).reason, { code: 'no_answer', message, cause: reason })
  }
})

t.test('a request whose body JSON cannot hold rejects, and nothing is sent', async (t) => {
  const { client, sent } = clientOf(CREATED)
  const body: Record<string, unknown> = {}
  body['body'] = body
  t.ok((await ended(client.request('POST', '/v0/page_groups', { body }))).reason instanceof TypeError)
  t.equal(sent.length, 0)
})

t.test('a client needs a URL without secrets, and a key that fits in a header', async (t) => {
  const urls = ['prospects', 'https://a:b@example.com', 'https://example.com/?a', 'https://example.com/#a']
  for (const url of urls) t.throws(() => createClient({ url, key: 'pp_key' }), TypeError, url)
  for (const key of ['', 'pp_\nkey', 'pp key', 'pp_kéy', undefined as never])
    t.throws(() => createClient({ ...URL_AND_KEY, key }), {
      name: 'TypeError',
      message: 'The key must be visible ASCII characters.',
    })
})
