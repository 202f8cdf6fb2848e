import t from 'tap'
import { unavailable } from '../../../src/core/engine/failures.ts'
import type { StoredEvent } from '../../../src/core/ports/events.ts'
import type { Webhook, WebhookAnswer } from '../../../src/core/ports/sending.ts'
import type { ClaimedEndpoint, StoredEndpoint } from '../../../src/core/ports/webhooks.ts'
import { sendWebhooks } from '../../../src/core/webhooks/send-webhooks.ts'
import { UNSIGNED } from '../../../src/core/webhooks/webhook-attempts.ts'
import { findEndpoint } from '../../store-contract/outbox.ts'
import { START_MS } from '../../support/setting.ts'
import { scene } from '../scene.ts'

const MIN = 60_000
const DAY = 86_400_000
const LEASE_MS = 45_000
const OK: WebhookAnswer = { status: 204, error: null, retryAfterMs: null, ms: 7 }
const failing = (status: number | null, retryAfterMs: number | null = null): WebhookAnswer => ({
  status,
  error: `It answered ${status}.`,
  retryAfterMs,
  ms: 7,
})
const iso = (ms: number) => new Date(ms).toISOString()
/** Lets happen what can happen without anything from outside. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

type Answer = (webhook: Webhook, stop: AbortSignal) => Promise<WebhookAnswer> | WebhookAnswer
type Overrides = Partial<Parameters<typeof sendWebhooks>[0]>

/** A tenant with endpoints at `https://0`, `https://1` …, receivers that answer as they are told to, and a sender. */
const setUp = async (endpoints = 1, overrides: Overrides = {}) => {
  const it = await scene()
  const { tenantId, store, clock } = it
  const idAt = (i: number) => `webhookendpoint_${i}`
  for (let i = 0; i < endpoints; i++)
    await store.webhooks.add({
      tenantId,
      webhookEndpointId: idAt(i),
      url: `https://${i}`,
      types: null,
      description: null,
      sources: null,
      logTypes: null,
      headers: null,
      method: 'POST',
      body: null,
      status: 'enabled',
      disabledReason: null,
      secret: 'whsec_new',
      previousSecret: null,
      previousSecretUntil: null,
      failures: 0,
      failingSince: null,
      lastError: null,
      slot: i + 1,
      createdAt: iso(clock()),
      updatedAt: iso(clock()),
    })
  const sent: Webhook[] = []
  const answers = new Map<string, Answer>()
  const errors: unknown[] = []
  const became: (string | null)[][] = []
  const newSender = () =>
    sendWebhooks({
      ...it,
      send: async (webhook, stop) => {
        sent.push(webhook)
        return (await answers.get(webhook.url)?.(webhook, stop)) ?? OK
      },
      openSecret: (sealed) => sealed,
      dataOf: async ({ eventId }) => ({ of: eventId }),
      random: () => 0.5,
      rest: async () => {},
      onEndpoint: ({ url }, turn, why) => became.push([url, turn, why]),
      onError: (error) => errors.push(error),
      ...overrides,
    })
  const stopping = new AbortController()
  const step = newSender()
  const want = (i: number) => ({ tenantId, webhookEndpointId: idAt(i) })
  return {
    ...it,
    sent,
    answers,
    errors,
    became,
    stopping,
    step,
    newSender,
    want,
    idAt,
    /** So many events, numbered and with their deliveries. */
    happen: async (count = 1) => {
      for (let i = 0; i < count; i++) await it.newGroup()
      await store.events.number({ tenantId, now: iso(clock()), max: 500 })
    },
    /** Sends until nothing is due or in progress; the receivers must answer. */
    run: async (sender = step) => {
      while (await sender(stopping.signal));
    },
    /** Something is due, and its endpoint has failed so often that it is only probed. */
    failOften: async () => {
      const now = iso(clock())
      const [claimed] = await store.webhooks.claim({
        now,
        until: now,
        horizon: now,
        afterTenantId: '',
        max: 1,
      })
      const state = { failures: 20, failingSince: now, lastError: null, claimableAt: now, readAt: now }
      await store.webhooks.settle(claimed as ClaimedEndpoint, [], state)
    },
    endpoint: async (i = 0) => (await findEndpoint(store, want(i))) as StoredEndpoint,
    change: async (i: number, fields: Partial<StoredEndpoint>) => {
      const found = (await findEndpoint(store, want(i))) as StoredEndpoint
      return store.webhooks.change({ ...found, ...fields }, found.updatedAt)
    },
    statuses: async (i = 0) => {
      const all = { ...want(i), beforeId: null, limit: 1_000, status: null }
      const { rows } = await store.webhooks.deliveries(all)
      return Map.groupBy(rows, ({ status }) => status)
    },
    countOf: async (status: 'pending' | 'delivered' | 'failed', i = 0) => {
      const all = { ...want(i), beforeId: null, limit: 1_000, status }
      return (await store.webhooks.deliveries(all)).rows.length
    },
  }
}
/** A receiver that answers on demand. */
const held = () => {
  const waiting: ((answer: WebhookAnswer) => void)[] = []
  let most = 0
  const answer: Answer = (_, stop) =>
    new Promise<WebhookAnswer>((resolve) => {
      waiting.push(resolve)
      most = Math.max(most, waiting.length)
      stop.addEventListener('abort', () => resolve(failing(null)))
    })
  return { answer, waiting, most: () => most, letOneGo: (with_ = OK) => waiting.shift()?.(with_) }
}

t.test('what is due is sent, with its body and the secret of its endpoint', async (t) => {
  const { happen, run, sent, statuses } = await setUp()
  await happen()
  await run()
  t.equal(sent.length, 1)
  const [{ eventId = '' } = {}] = sent
  t.match(sent, [
    { url: 'https://0', secrets: ['whsec_new'], body: new RegExp(`"data":{"of":"${eventId}"}`) },
  ])
  t.match((await statuses()).get('delivered'), [
    { eventId, attempts: 1, lastStatus: 204, lastError: null, deliveredAt: '2026-01-01T00:00:00.000Z' },
  ])
})

t.test(
  'an address that this process must not call is no failure, and another process delivers',
  async (t) => {
    const { answers, became, clock, countOf, endpoint, happen, newSender, run, sent, statuses } =
      await setUp()
    await happen(9)
    answers.set('https://0', () => ({ ...failing(null), isRefused: true }))
    for (let i = 0; i < 20; i++) {
      await run()
      clock.advance(DAY / 5)
    }
    t.match(await endpoint(), { status: 'enabled', failures: 0, failingSince: '2026-01-01T00:00:00.000Z' })
    t.strictSame(became, [])
    t.equal(sent.length, 20 * 4, 'a few at a time')
    const refused = { attempts: 0, lastStatus: null, lastError: 'It answered null.' }
    t.match((await statuses()).get('pending'), Array(9).fill(refused))
    answers.clear()
    await run(newSender())
    t.equal(await countOf('delivered'), 9)
    t.match(await endpoint(), { failingSince: null })
  },
)

t.test('an endpoint that nobody can call for 5 days is disabled', async (t) => {
  const { answers, clock, endpoint, happen, run } = await setUp()
  await happen()
  answers.set('https://0', () => ({ ...failing(null), isRefused: true }))
  await run()
  clock.advance(5 * DAY)
  await run()
  t.match(await endpoint(), { status: 'disabled', failures: 0 })
})

t.test('many are sent by one claim, each once', async (t) => {
  const { happen, run, sent, countOf } = await setUp()
  await happen(100)
  await run()
  t.equal(sent.length, 100)
  t.equal(new Set(sent.map(({ eventId }) => eventId)).size, 100)
  t.equal(await countOf('delivered'), 100)
})

t.test('at most four are in flight to an endpoint', async (t) => {
  const { happen, answers, step, stopping, countOf } = await setUp()
  const { answer, waiting, most, letOneGo } = held()
  answers.set('https://0', answer)
  await happen(40)
  let isDone = false
  const running = (async () => {
    while (await step(stopping.signal));
    isDone = true
  })()
  await settled()
  t.equal(waiting.length, 4)
  while (!isDone) {
    letOneGo()
    await settled()
  }
  await running
  t.equal(most(), 4)
  t.equal(await countOf('delivered'), 40)
})

t.test('a receiver that does not answer delays none of the others', async (t) => {
  const { happen, answers, step, stopping, clock, countOf } = await setUp(20)
  const { answer, waiting } = held()
  answers.set('https://7', answer)
  await happen(40)
  const startedMs = clock()
  let left = 19
  const woken = () => new Promise<void>((resolve) => setImmediate(resolve))
  for (let i = 0; i < 200 && left > 0; i++) {
    await step(stopping.signal, woken())
    left = 0
    for (let one = 0; one < 20; one++) if (one !== 7) left += await countOf('pending', one)
  }
  t.equal(left, 0)
  t.equal(waiting.length, 4)
  t.equal(await countOf('pending', 7), 40)
  t.equal(clock(), startedMs, 'no time has passed')
})

t.test('hundreds of receivers that do not answer delay none of the others', async (t) => {
  const { happen, answers, step, stopping, countOf } = await setUp(400)
  const { answer } = held()
  for (let i = 0; i < 399; i++) answers.set(`https://${(i + 100) % 400}`, answer)
  await happen()
  for (let i = 0; i < 20; i++) await step(stopping.signal, settled() as Promise<void>)
  t.equal(await countOf('delivered', 99), 1)
  t.equal(await countOf('pending', 98), 1)
  stopping.abort()
})

t.test('a failure is retried when it is due, under the same id', async (t) => {
  const { happen, run, answers, clock, sent, countOf, endpoint } = await setUp()
  answers.set('https://0', () => failing(500))
  await happen()
  await run()
  t.match(await endpoint(), {
    failures: 1,
    failingSince: '2026-01-01T00:00:00.000Z',
    lastError: /"reason":".+"/,
  })
  clock.advance(4_999)
  await run()
  t.equal(sent.length, 1)
  answers.clear()
  clock.advance(1)
  await run()
  t.equal(sent.length, 2)
  t.equal(sent[0]?.eventId, sent[1]?.eventId)
  t.equal(await countOf('delivered'), 1)
  t.match(await endpoint(), { failures: 0, failingSince: null, lastError: null })
})

t.test(
  'an endpoint that keeps failing rests, is probed with one delivery a minute, and recovers',
  async (t) => {
    const { happen, run, answers, clock, sent, countOf, became } = await setUp()
    answers.set('https://0', () => failing(500))
    await happen(50)
    await run()
    const first = sent.length
    t.ok(first >= 5 && first <= 8, `${first}`)
    t.strictSame(became, [['https://0', 'resting', 'It answered 500.']])
    clock.advance(MIN - 1)
    await run()
    t.equal(sent.length, first, 'it rests')
    for (let probe = 1; probe <= 3; probe++) {
      clock.advance(probe === 1 ? 1 : MIN)
      await run()
      t.equal(sent.length, first + probe)
    }
    answers.clear()
    clock.advance(10 * MIN)
    await run()
    t.equal(await countOf('delivered'), 50)
    t.strictSame(became.slice(1), [['https://0', 'working', null]])
  },
)

t.test('an endpoint that asks for a pause gets it', async (t) => {
  const { happen, run, answers, clock, sent, countOf } = await setUp()
  answers.set('https://0', () => failing(429, 10_000))
  await happen(20)
  await run()
  t.ok(sent.length <= 4)
  answers.clear()
  clock.advance(9_999)
  await run()
  t.ok(sent.length <= 4)
  clock.advance(1)
  await run()
  t.equal(await countOf('delivered'), 20)
})

t.test('a 410 disables the endpoint: an event says so, and its deliveries fail', async (t) => {
  const { happen, run, answers, sent, store, tenantId, endpoint, countOf, became, clock } = await setUp(2)
  answers.set('https://0', () => failing(410))
  await happen(40)
  await run()
  t.ok(sent.filter(({ url }) => url === 'https://0').length <= 4)
  t.match(await endpoint(), { status: 'disabled', disabledReason: /410/ })
  t.equal(await countOf('failed'), 40)
  t.equal(await countOf('delivered', 1), 40)
  t.match(became, [['https://0', 'disabled', /410/]])
  await store.events.number({ tenantId, now: iso(clock()), max: 500 })
  const { rows } = await store.events.list({ tenantId, afterSequence: 40, limit: 10 })
  t.match(rows, [{ type: 'webhook_endpoint.disabled', ids: { webhookEndpointId: 'webhookendpoint_0' } }])
})

t.test('who is called about an endpoint gets its names and its URL, no secret', async (t) => {
  const shown: object[] = []
  const onEndpoint = (endpoint: object) => shown.push(endpoint)
  const { happen, run, answers, want } = await setUp(1, { onEndpoint })
  answers.set('https://0', () => failing(500))
  await happen(9)
  await run()
  answers.set('https://0', () => failing(410))
  await happen()
  await run()
  t.strictSame(shown, [{ ...want(0), url: 'https://0' }])
})

t.test('five days without a success disable it', async (t) => {
  const { happen, failOften, run, answers, clock, endpoint } = await setUp()
  answers.set('https://0', () => failing(null))
  await happen()
  await failOften()
  clock.advance(5 * DAY - 1)
  await run()
  t.match(await endpoint(), { status: 'enabled', failures: 21 })
  clock.advance(MIN)
  await run()
  t.match(await endpoint(), { status: 'disabled', disabledReason: /5 days/ })
})

t.test('deliveries of an endpoint that was deleted are deleted', async (t) => {
  const { happen, run, change, store, sent, want } = await setUp()
  await happen(600)
  await change(0, { status: 'deleted', slot: null })
  await run()
  t.equal(sent.length, 0)
  const { rows } = await store.webhooks.deliveries({ ...want(0), beforeId: null, limit: 10, status: null })
  t.strictSame(rows, [])
})

t.test(
  'a deleted endpoint is removed a minute later: what began before may give it deliveries',
  async (t) => {
    const { run, change, clock, store } = await setUp()
    await change(0, { status: 'deleted', slot: null, updatedAt: iso(clock()) })
    const isKept = async () => {
      await run()
      clock.advance(LEASE_MS)
      const now = iso(clock())
      const want = { now, until: now, horizon: iso(clock() + DAY), afterTenantId: '', max: 1 }
      return (await store.webhooks.claim(want)).length === 1
    }
    t.strictSame([await isKept(), await isKept(), await isKept()], [true, true, false])
  },
)

t.test('what a sender took and lost is sent by another, and its late result does not count', async (t) => {
  const { happen, answers, step, stopping, newSender, run, clock, countOf, statuses } = await setUp()
  const { answer, letOneGo } = held()
  answers.set('https://0', answer)
  await happen()
  const slow = step(stopping.signal)
  await settled()
  answers.clear()
  clock.advance(LEASE_MS - 1)
  await run(newSender())
  t.equal(await countOf('pending'), 1, 'nobody else has it during the lease')
  clock.advance(1)
  await run(newSender())
  t.equal(await countOf('delivered'), 1)
  letOneGo(failing(500))
  await slow
  t.match((await statuses()).get('delivered'), [{ attempts: 1 }])
})

t.test('a stop ends attempts in flight, which do not count, and saves the others', async (t) => {
  const { happen, answers, step, stopping, countOf, statuses, endpoint, run, newSender, sent } = await setUp()
  const { answer, waiting, letOneGo } = held()
  answers.set('https://0', answer)
  await happen(10)
  const running = (async () => {
    while (await step(stopping.signal));
  })()
  await settled()
  t.equal(waiting.length, 4)
  letOneGo()
  await settled()
  stopping.abort()
  await running
  t.equal(await countOf('delivered'), 1)
  for (const { attempts } of (await statuses()).get('pending') ?? []) t.equal(attempts, 0)
  t.match(await endpoint(), { failures: 0 })
  t.equal(sent.length, 5)
  // The endpoint was given back: another process need not wait for the lease.
  const next = newSender()
  answers.clear()
  while (await next(new AbortController().signal));
  t.equal(await countOf('delivered'), 10)
  await run()
})

t.test('a store that fails for one endpoint stops no other, and the endpoint is claimed again', async (t) => {
  const { happen, run, store, clock, countOf, errors } = await setUp(3)
  await happen(3)
  const { due } = store.webhooks
  const away = new Error('away')
  Object.assign(store.webhooks, {
    due: (want: Parameters<typeof due>[0]) =>
      want.webhookEndpointId === 'webhookendpoint_1' ? Promise.reject(away) : due(want),
  })
  await run()
  t.strictSame(errors, [away])
  t.equal(await countOf('delivered', 0), 3)
  t.equal(await countOf('delivered', 2), 3)
  const { settle } = store.webhooks
  Object.assign(store.webhooks, { due, settle: () => Promise.reject(away) })
  clock.advance(1_000)
  await run()
  Object.assign(store.webhooks, { settle })
  clock.advance(1_000)
  await run()
  t.equal(await countOf('delivered', 1), 3, 'it was given back as soon as the store answered')
  t.strictSame(errors, [away], 'trying to give it back is not shown')
})

t.test('results that could not be saved are sent again', async (t) => {
  const { happen, run, store, clock, sent, countOf } = await setUp()
  await happen()
  const { settle } = store.webhooks
  Object.assign(store.webhooks, { settle: () => Promise.reject(new Error('away')) })
  await run()
  Object.assign(store.webhooks, { settle })
  clock.advance(1_000)
  await run()
  t.equal(sent.length, 2)
  t.equal(sent[0]?.eventId, sent[1]?.eventId)
  t.equal(await countOf('delivered'), 1)
})

t.test('a body that a template makes too large fails its delivery, and no other one', async (t) => {
  const texts = ['x'.repeat(20_000)]
  const dataOf = async () => ({ text: texts.pop() ?? 'short' })
  const { happen, run, change, sent, endpoint, statuses } = await setUp(1, { dataOf })
  const body = JSON.stringify(Array.from({ length: 100 }, () => '{{/data/text}}'))
  await change(0, { method: 'PUT', body })
  await happen(3)
  await run()
  t.match(sent, Array(2).fill({ method: 'PUT', body: JSON.stringify(Array(100).fill('short')) }))
  const error = 'The body would be larger than 256 KiB: the template inserts too much.'
  t.match((await statuses()).get('failed'), [
    { lastError: error, lastAttempts: new RegExp(error), attempts: 1 },
  ])
  t.match(await endpoint(), { failures: 0, failingSince: null }, 'it is not the fault of the receiver')
})

t.test('what is pending is sent by the template of that time', async (t) => {
  const { happen, run, change, answers, sent, clock } = await setUp()
  answers.set('https://0', () => failing(400))
  await happen()
  await run()
  await change(0, { body: '{"id":"{{/eventId}}"}' })
  answers.clear()
  clock.advance(10_000)
  await run()
  t.match(sent, [{ body: /^{"type"/ }, { body: `{"id":"${sent[0]?.eventId}"}` }])
})

t.test('an event that cannot be read holds up no other', async (t) => {
  const bug = new Error('a bug')
  let poisonId = ''
  const dataOf = async ({ eventId }: StoredEvent) => {
    poisonId ||= eventId
    if (eventId === poisonId) throw bug
    return {}
  }
  const { happen, run, errors, countOf, statuses } = await setUp(1, { dataOf })
  await happen(40)
  await run()
  t.equal(await countOf('delivered'), 39)
  t.strictSame(errors, [bug])
  t.match((await statuses()).get('pending'), [
    { lastError: 'The service could not read the event.', attempts: 0 },
  ])
})

t.test(
  'while events cannot be read no attempt counts, neither of a delivery nor of its endpoint',
  async (t) => {
    let isAway = true
    const dataOf = async () => {
      if (isAway) throw unavailable('The database cannot answer now.')
      return {}
    }
    const { happen, run, clock, endpoint, sent, countOf, statuses } = await setUp(1, { dataOf })
    await happen(20)
    await run()
    t.match(await endpoint(), { failures: 0, failingSince: null })
    t.equal((await statuses()).get('pending')?.filter(({ attempts }) => attempts === 0).length, 20)
    t.equal(sent.length, 0)
    isAway = false
    clock.advance(MIN)
    await run()
    t.equal(await countOf('delivered'), 20)
  },
)

t.test('an endpoint whose due deliveries have lost their events is not claimed in a loop', async (t) => {
  const { happen, step, stopping, store, clock } = await setUp()
  await happen()
  let reads = 0
  const due = async () => {
    reads++
    return []
  }
  Object.assign(store.webhooks, { due })
  for (let steps = 0; steps < 5; steps++) await step(stopping.signal)
  t.equal(reads, 1)
  clock.advance(2_000)
  await step(stopping.signal)
  t.equal(reads, 2)
})

t.test('a secret that cannot be opened sends nothing, and other endpoints go on', async (t) => {
  const openSecret = (sealed: string) => (sealed === 'v1:lost' ? null : sealed)
  const { happen, run, change, clock, endpoint, sent, errors, statuses } = await setUp(2, { openSecret })
  await change(0, { secret: 'v1:lost' })
  await happen()
  await run()
  t.strictSame(
    sent.map(({ url }) => url),
    ['https://1'],
  )
  t.match(errors, [
    { message: /^webhookendpoint_0: The secret or a header cannot be decrypted.* SECRETS_KEY/ },
  ])
  const lastError = UNSIGNED
  const nextAttemptAt = iso(clock() + MIN)
  t.match((await statuses()).get('pending'), [{ attempts: 0, nextAttemptAt, lastStatus: null, lastError }])
  t.match(await endpoint(), { status: 'enabled', failures: 0, failingSince: null })
  await change(0, { secret: 'whsec_rotated' })
  clock.advance(MIN)
  await run()
  t.match(sent.slice(1), [{ url: 'https://0', secrets: ['whsec_rotated'] }])
})

t.test('neither does an endpoint whose headers cannot be opened', async (t) => {
  const openSecret = (sealed: string) => (sealed === 'v1:lost' ? null : sealed)
  const { happen, run, change, clock, sent, statuses } = await setUp(1, { openSecret })
  await change(0, { headers: 'x-key v1:lost' })
  await happen()
  await run()
  t.match((await statuses()).get('pending'), [{ attempts: 0, lastAttempts: '[]', lastError: UNSIGNED }])
  await change(0, { headers: 'x-key {"x-key":"1"}' })
  clock.advance(MIN)
  await run()
  t.match(sent, [{ url: 'https://0', headers: { 'x-key': '1' } }])
})

t.test('what became of each attempt is kept with its delivery', async (t) => {
  const { happen, run, clock, answers, statuses } = await setUp()
  await happen()
  const refused = { ...failing(503), answer: 'Closed.' }
  answers.set('https://0', () => refused)
  await run()
  answers.clear()
  clock.advance(MIN)
  await run()
  const [delivery] = (await statuses()).get('delivered') ?? []
  t.strictSame(JSON.parse(String(delivery?.lastAttempts)), [
    { at: iso(START_MS - 7), ms: 7, status: 503, error: refused.error, answer: 'Closed.' },
    { at: iso(START_MS + MIN - 7), ms: 7, status: 204, error: null, answer: null },
  ])
})

t.test('however much is due without a secret, one list a minute says why', async (t) => {
  const openSecret = () => null
  const { happen, failOften, run, clock, sent, errors, store, statuses } = await setUp(1, { openSecret })
  await happen(500)
  await happen(100)
  await failOften()
  let reads = 0
  const { due } = store.webhooks
  const countedDue: typeof due = (want) => {
    reads++
    return due(want)
  }
  Object.assign(store.webhooks, { due: countedDue })
  for (const [minute, explained] of [500, 600].entries()) {
    await run()
    const pending = (await statuses()).get('pending') ?? []
    t.equal(pending.filter(({ lastError }) => lastError !== null).length, explained)
    t.strictSame([reads, errors.length, sent.length], [minute + 1, minute + 1, 0])
    clock.advance(MIN)
  }
})

t.test('after rotations all secrets sign until the overlap is over', async (t) => {
  const { happen, run, change, clock, sent } = await setUp()
  await change(0, { previousSecret: 'whsec_old whsec_older', previousSecretUntil: iso(clock() + MIN) })
  await happen()
  await run()
  clock.advance(MIN)
  await happen()
  await run()
  t.match(sent, [{ secrets: ['whsec_new', 'whsec_old', 'whsec_older'] }, { secrets: ['whsec_new'] }])
})
