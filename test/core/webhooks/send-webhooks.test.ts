import t from 'tap'
import { unavailable } from '../../../src/core/engine/failures.ts'
import type { StoredEvent } from '../../../src/core/ports/events.ts'
import type { Webhook, WebhookAnswer } from '../../../src/core/ports/sending.ts'
import type { ClaimedEndpoint, StoredEndpoint } from '../../../src/core/ports/webhooks.ts'
import { sendWebhooks } from '../../../src/core/webhooks/send-webhooks.ts'
import { UNSIGNED } from '../../../src/core/webhooks/webhook-attempts.ts'
import { findEndpoint } from '../../store-contract/outbox.ts'
import { START_MS } from '../../support/setting.ts'
import { ticks } from '../../support/ticks.ts'
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

type Receiver = (webhook: Webhook, stop: AbortSignal) => Promise<WebhookAnswer> | WebhookAnswer
type Overrides = Partial<Parameters<typeof sendWebhooks>[0]>

const idAt = (i: number) => `webhookendpoint_${i}`
const newEndpoint = (tenantId: string, i: number, createdAt: string): StoredEndpoint => ({
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
  createdAt,
  updatedAt: createdAt,
  idempotencyKey: null,
  requestHash: null,
})

/** A tenant with endpoints at `https://0`, `https://1` and so on, their receivers, and a sender. */
const setUp = async (endpoints = 1, overrides: Overrides = {}) => {
  const world = await scene()
  const { tenantId, store, clock } = world
  for (let i = 0; i < endpoints; i++) await store.webhooks.add(newEndpoint(tenantId, i, iso(clock())))
  const sent: Webhook[] = []
  /** The receivers by URL. A URL without one answers 204. */
  const receivers = new Map<string, Receiver>()
  const errors: unknown[] = []
  const changes: { readonly url: string; readonly change: string; readonly why: string | null }[] = []
  const newSender = () =>
    sendWebhooks({
      ...world,
      send: async (webhook, stop) => {
        sent.push(webhook)
        const receive = receivers.get(webhook.url)
        return receive === undefined ? OK : receive(webhook, stop)
      },
      openSecret: (sealed) => sealed,
      dataOf: async ({ eventId }) => ({ of: eventId }),
      random: () => 0.5,
      yieldToRequests: async () => {},
      onEndpoint: ({ url }, change, why) => changes.push({ url, change, why }),
      onError: (error) => errors.push(error),
      ...overrides,
    })
  const stopping = new AbortController()
  const step = newSender()
  return {
    ...world,
    ...endpointSteps(world),
    sent,
    receivers,
    errors,
    changes,
    stopping,
    step,
    newSender,
    /** Creates and numbers events, which gives the endpoints deliveries. */
    happen: async (count = 1) => {
      for (let i = 0; i < count; i++) await world.newGroup()
      await store.events.number({ tenantId, now: iso(clock()), max: 500 })
    },
    /** Sends until nothing is due or in progress; the receivers must answer. */
    run: async (sender = step) => {
      while (await sender(stopping.signal));
    },
  }
}

/** Steps that read and change the stored endpoints and their deliveries. */
const endpointSteps = ({ tenantId, store, clock }: Awaited<ReturnType<typeof scene>>) => {
  const keyOf = (i: number) => ({ tenantId, webhookEndpointId: idAt(i) })
  const endpoint = async (i = 0) => (await findEndpoint(store, keyOf(i))) as StoredEndpoint
  const deliveries = async (i: number, status: 'pending' | 'delivered' | 'failed' | null) =>
    (await store.webhooks.deliveries({ ...keyOf(i), beforeId: null, limit: 1_000, status })).rows
  return {
    keyOf,
    endpoint,
    change: async (i: number, fields: Partial<StoredEndpoint>) => {
      const found = await endpoint(i)
      return store.webhooks.change({ ...found, ...fields }, found.updatedAt)
    },
    byStatus: async (i = 0) => Map.groupBy(await deliveries(i, null), ({ status }) => status),
    countOf: async (status: 'pending' | 'delivered' | 'failed', i = 0) =>
      (await deliveries(i, status)).length,
    /** Makes the first due endpoint one that has failed so often that it is only probed. */
    failOften: async () => {
      const now = iso(clock())
      const claim = { now, until: now, horizon: now, afterTenantId: '', max: 1 }
      const [claimed] = await store.webhooks.claim(claim)
      const state = { failures: 20, failingSince: now, lastError: null, claimableAt: now, readAt: now }
      await store.webhooks.settle(claimed as ClaimedEndpoint, [], state)
    },
  }
}

/** A receiver that answers on demand. */
const heldReceiver = () => {
  const waiting: ((answer: WebhookAnswer) => void)[] = []
  let most = 0
  const receive: Receiver = (_, stop) =>
    new Promise<WebhookAnswer>((resolve) => {
      waiting.push(resolve)
      most = Math.max(most, waiting.length)
      stop.addEventListener('abort', () => resolve(failing(null)))
    })
  const answerNext = (answer = OK) => waiting.shift()?.(answer)
  return { receive, waiting, most: () => most, answerNext }
}

t.test('a due delivery is sent with its body and the secret of its endpoint', async (t) => {
  const { happen, run, sent, byStatus } = await setUp()
  await happen()
  await run()
  t.equal(sent.length, 1)
  const [{ eventId = '' } = {}] = sent
  t.match(sent, [
    { url: 'https://0', secrets: ['whsec_new'], body: new RegExp(`"data":{"of":"${eventId}"}`) },
  ])
  t.match((await byStatus()).get('delivered'), [
    { eventId, attempts: 1, lastStatus: 204, lastError: null, deliveredAt: '2026-01-01T00:00:00.000Z' },
  ])
})

t.test(
  'an address that this process must not call is no failure, and another process can deliver',
  async (t) => {
    const { receivers, changes, clock, countOf, endpoint, happen, newSender, run, sent, byStatus } =
      await setUp()
    await happen(9)
    receivers.set('https://0', () => ({ ...failing(null), isRefused: true }))
    for (let i = 0; i < 20; i++) {
      await run()
      clock.advance(DAY / 5)
    }
    t.match(await endpoint(), { status: 'enabled', failures: 0, failingSince: '2026-01-01T00:00:00.000Z' })
    t.strictSame(changes, [])
    t.equal(sent.length, 20 * 4, 'a few at a time')
    const refused = { attempts: 0, lastStatus: null, lastError: 'It answered null.' }
    t.match((await byStatus()).get('pending'), Array(9).fill(refused))
    receivers.clear()
    await run(newSender())
    t.equal(await countOf('delivered'), 9)
    t.match(await endpoint(), { failingSince: null })
  },
)

t.test('an endpoint that no process may call for 5 days is disabled', async (t) => {
  const { receivers, clock, endpoint, happen, run } = await setUp()
  await happen()
  receivers.set('https://0', () => ({ ...failing(null), isRefused: true }))
  await run()
  clock.advance(5 * DAY)
  await run()
  t.match(await endpoint(), { status: 'disabled', failures: 0 })
})

t.test('a hundred deliveries are sent, each once', async (t) => {
  const { happen, run, sent, countOf } = await setUp()
  await happen(100)
  await run()
  t.equal(sent.length, 100)
  t.equal(new Set(sent.map(({ eventId }) => eventId)).size, 100)
  t.equal(await countOf('delivered'), 100)
})

t.test('at most four webhooks are in flight to one endpoint', async (t) => {
  const { happen, receivers, step, stopping, countOf } = await setUp()
  const { receive, waiting, most, answerNext } = heldReceiver()
  receivers.set('https://0', receive)
  await happen(40)
  let isDone = false
  const running = (async () => {
    while (await step(stopping.signal));
    isDone = true
  })()
  await ticks()
  t.equal(waiting.length, 4)
  while (!isDone) {
    answerNext()
    await ticks()
  }
  await running
  t.equal(most(), 4)
  t.equal(await countOf('delivered'), 40)
})

t.test('a receiver that does not answer delays no other receiver', async (t) => {
  const { happen, receivers, step, stopping, clock, countOf } = await setUp(20)
  const { receive, waiting } = heldReceiver()
  receivers.set('https://7', receive)
  await happen(40)
  const startedMs = clock()
  const pendingOfOthers = async () => {
    let count = 0
    for (let i = 0; i < 20; i++) {
      if (i !== 7) count += await countOf('pending', i)
    }
    return count
  }
  for (let steps = 0; steps < 200 && (await pendingOfOthers()) > 0; steps++)
    await step(stopping.signal, ticks())
  t.equal(await pendingOfOthers(), 0)
  t.equal(waiting.length, 4)
  t.equal(await countOf('pending', 7), 40)
  t.equal(clock(), startedMs, 'no time has passed')
})

t.test('hundreds of receivers that do not answer delay no other receiver', async (t) => {
  const { happen, receivers, step, stopping, countOf } = await setUp(400)
  const { receive } = heldReceiver()
  for (let i = 0; i < 399; i++) receivers.set(`https://${(i + 100) % 400}`, receive)
  await happen()
  for (let i = 0; i < 20; i++) await step(stopping.signal, ticks())
  t.equal(await countOf('delivered', 99), 1)
  t.equal(await countOf('pending', 98), 1)
  stopping.abort()
})

t.test('a failed delivery is retried when it is due, under the same id', async (t) => {
  const { happen, run, receivers, clock, sent, countOf, endpoint } = await setUp()
  receivers.set('https://0', () => failing(500))
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
  receivers.clear()
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
    const { happen, run, receivers, clock, sent, countOf, changes } = await setUp()
    receivers.set('https://0', () => failing(500))
    await happen(50)
    await run()
    const first = sent.length
    t.ok(first >= 5 && first <= 8, `${first}`)
    t.strictSame(changes, [{ url: 'https://0', change: 'resting', why: 'It answered 500.' }])
    clock.advance(MIN - 1)
    await run()
    t.equal(sent.length, first, 'it rests')
    for (let probe = 1; probe <= 3; probe++) {
      clock.advance(probe === 1 ? 1 : MIN)
      await run()
      t.equal(sent.length, first + probe)
    }
    receivers.clear()
    clock.advance(10 * MIN)
    await run()
    t.equal(await countOf('delivered'), 50)
    t.strictSame(changes.slice(1), [{ url: 'https://0', change: 'working', why: null }])
  },
)

t.test('a receiver that asks for a pause gets no webhook until it is over', async (t) => {
  const { happen, run, receivers, clock, sent, countOf } = await setUp()
  receivers.set('https://0', () => failing(429, 10_000))
  await happen(20)
  await run()
  t.ok(sent.length <= 4)
  receivers.clear()
  clock.advance(9_999)
  await run()
  t.ok(sent.length <= 4)
  clock.advance(1)
  await run()
  t.equal(await countOf('delivered'), 20)
})

t.test('a 410 disables the endpoint, fails its deliveries and creates an event', async (t) => {
  const { happen, run, receivers, sent, store, tenantId, endpoint, countOf, changes, clock } = await setUp(2)
  receivers.set('https://0', () => failing(410))
  await happen(40)
  await run()
  t.ok(sent.filter(({ url }) => url === 'https://0').length <= 4)
  t.match(await endpoint(), { status: 'disabled', disabledReason: /410/ })
  t.equal(await countOf('failed'), 40)
  t.equal(await countOf('delivered', 1), 40)
  t.match(changes, [{ url: 'https://0', change: 'disabled', why: /410/ }])
  await store.events.number({ tenantId, now: iso(clock()), max: 500 })
  const { rows } = await store.events.list({ tenantId, afterSequence: 40, limit: 10 })
  t.match(rows, [{ type: 'webhook_endpoint.disabled', ids: { webhookEndpointId: 'webhookendpoint_0' } }])
})

t.test('a listener gets the ids and the URL of an endpoint, and no secret', async (t) => {
  const shown: object[] = []
  const onEndpoint = (endpoint: object) => shown.push(endpoint)
  const { happen, run, receivers, keyOf } = await setUp(1, { onEndpoint })
  receivers.set('https://0', () => failing(500))
  await happen(9)
  await run()
  receivers.set('https://0', () => failing(410))
  await happen()
  await run()
  t.strictSame(shown, [{ ...keyOf(0), url: 'https://0' }])
})

t.test('an endpoint without a success for five days is disabled', async (t) => {
  const { happen, failOften, run, receivers, clock, endpoint } = await setUp()
  receivers.set('https://0', () => failing(null))
  await happen()
  await failOften()
  clock.advance(5 * DAY - 1)
  await run()
  t.match(await endpoint(), { status: 'enabled', failures: 21 })
  clock.advance(MIN)
  await run()
  t.match(await endpoint(), { status: 'disabled', disabledReason: /5 days/ })
})

t.test('the deliveries of a deleted endpoint are deleted', async (t) => {
  const { happen, run, change, store, sent, keyOf } = await setUp()
  await happen(600)
  await change(0, { status: 'deleted', slot: null })
  await run()
  t.equal(sent.length, 0)
  const { rows } = await store.webhooks.deliveries({ ...keyOf(0), beforeId: null, limit: 10, status: null })
  t.strictSame(rows, [])
})

t.test(
  'a deleted endpoint is removed a minute later, because writes in progress may still add deliveries',
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

t.test(
  'a delivery whose sender lost its lease is sent by another, and a late result does not count',
  async (t) => {
    const { happen, receivers, step, stopping, newSender, run, clock, countOf, byStatus } = await setUp()
    const { receive, answerNext } = heldReceiver()
    receivers.set('https://0', receive)
    await happen()
    const slow = step(stopping.signal)
    await ticks()
    receivers.clear()
    clock.advance(LEASE_MS - 1)
    await run(newSender())
    t.equal(await countOf('pending'), 1, 'no other sender has it during the lease')
    clock.advance(1)
    await run(newSender())
    t.equal(await countOf('delivered'), 1)
    answerNext(failing(500))
    await slow
    t.match((await byStatus()).get('delivered'), [{ attempts: 1 }])
  },
)

t.test('a stop aborts the attempts in flight without counting them, and saves finished ones', async (t) => {
  const { happen, receivers, step, stopping, countOf, byStatus, endpoint, run, newSender, sent } =
    await setUp()
  const { receive, waiting, answerNext } = heldReceiver()
  receivers.set('https://0', receive)
  await happen(10)
  const running = (async () => {
    while (await step(stopping.signal));
  })()
  await ticks()
  t.equal(waiting.length, 4)
  answerNext()
  await ticks()
  stopping.abort()
  await running
  t.equal(await countOf('delivered'), 1)
  for (const { attempts } of (await byStatus()).get('pending') ?? []) t.equal(attempts, 0)
  t.match(await endpoint(), { failures: 0 })
  t.equal(sent.length, 5)
  // The endpoint was released, so another process need not wait for the lease.
  const next = newSender()
  receivers.clear()
  while (await next(new AbortController().signal));
  t.equal(await countOf('delivered'), 10)
  await run()
})

t.test(
  'a store that fails for one endpoint delays no other, and the endpoint is claimed again',
  async (t) => {
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
    t.equal(await countOf('delivered', 1), 3, 'the endpoint was released as soon as the store answered')
    t.strictSame(errors, [away], 'a failed release is not reported')
  },
)

t.test('a delivery whose result could not be saved is sent again', async (t) => {
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

t.test('a body that its template makes too large fails only its delivery', async (t) => {
  const texts = ['x'.repeat(20_000)]
  const dataOf = async () => ({ text: texts.pop() ?? 'short' })
  const { happen, run, change, sent, endpoint, byStatus } = await setUp(1, { dataOf })
  const body = JSON.stringify(Array.from({ length: 100 }, () => '{{/data/text}}'))
  await change(0, { method: 'PUT', body })
  await happen(3)
  await run()
  t.match(sent, Array(2).fill({ method: 'PUT', body: JSON.stringify(Array(100).fill('short')) }))
  const error = 'The body would be larger than 256 KiB: the template inserts too much.'
  t.match((await byStatus()).get('failed'), [
    { lastError: error, lastAttempts: new RegExp(error), attempts: 1 },
  ])
  t.match(await endpoint(), { failures: 0, failingSince: null }, 'the receiver is not to blame')
})

t.test('a pending delivery is sent with the current template', async (t) => {
  const { happen, run, change, receivers, sent, clock } = await setUp()
  receivers.set('https://0', () => failing(400))
  await happen()
  await run()
  await change(0, { body: '{"id":"{{/eventId}}"}' })
  receivers.clear()
  clock.advance(10_000)
  await run()
  t.match(sent, [{ body: /^{"type"/ }, { body: `{"id":"${sent[0]?.eventId}"}` }])
})

t.test('an event that cannot be read delays no other event', async (t) => {
  const bug = new Error('a bug')
  let poisonId = ''
  const dataOf = async ({ eventId }: StoredEvent) => {
    poisonId ||= eventId
    if (eventId === poisonId) throw bug
    return {}
  }
  const { happen, run, errors, countOf, byStatus } = await setUp(1, { dataOf })
  await happen(40)
  await run()
  t.equal(await countOf('delivered'), 39)
  t.strictSame(errors, [bug])
  t.match((await byStatus()).get('pending'), [
    { lastError: 'The service could not read the event.', attempts: 0 },
  ])
})

t.test('while events cannot be read, neither deliveries nor their endpoint count an attempt', async (t) => {
  let isAway = true
  const dataOf = async () => {
    if (isAway) throw unavailable('The database cannot answer now.')
    return {}
  }
  const { happen, run, clock, endpoint, sent, countOf, byStatus } = await setUp(1, { dataOf })
  await happen(20)
  await run()
  t.match(await endpoint(), { failures: 0, failingSince: null })
  t.equal((await byStatus()).get('pending')?.filter(({ attempts }) => attempts === 0).length, 20)
  t.equal(sent.length, 0)
  isAway = false
  clock.advance(MIN)
  await run()
  t.equal(await countOf('delivered'), 20)
})

t.test('an endpoint whose due deliveries have no events is not claimed in a loop', async (t) => {
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

t.test('an endpoint whose secret cannot be decrypted gets nothing, and others continue', async (t) => {
  const openSecret = (sealed: string) => (sealed === 'v1:lost' ? null : sealed)
  const { happen, run, change, clock, endpoint, sent, errors, byStatus } = await setUp(2, { openSecret })
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
  t.match((await byStatus()).get('pending'), [{ attempts: 0, nextAttemptAt, lastStatus: null, lastError }])
  t.match(await endpoint(), { status: 'enabled', failures: 0, failingSince: null })
  await change(0, { secret: 'whsec_rotated' })
  clock.advance(MIN)
  await run()
  t.match(sent.slice(1), [{ url: 'https://0', secrets: ['whsec_rotated'] }])
})

t.test('an endpoint whose headers cannot be decrypted gets nothing', async (t) => {
  const openSecret = (sealed: string) => (sealed === 'v1:lost' ? null : sealed)
  const { happen, run, change, clock, sent, byStatus } = await setUp(1, { openSecret })
  await change(0, { headers: 'x-key v1:lost' })
  await happen()
  await run()
  t.match((await byStatus()).get('pending'), [{ attempts: 0, lastAttempts: '[]', lastError: UNSIGNED }])
  await change(0, { headers: 'x-key {"x-key":"1"}' })
  clock.advance(MIN)
  await run()
  t.match(sent, [{ url: 'https://0', headers: { 'x-key': '1' } }])
})

t.test('the result of each attempt is kept with its delivery', async (t) => {
  const { happen, run, clock, receivers, byStatus } = await setUp()
  await happen()
  const refused = { ...failing(503), answer: 'Closed.' }
  receivers.set('https://0', () => refused)
  await run()
  receivers.clear()
  clock.advance(MIN)
  await run()
  const [delivery] = (await byStatus()).get('delivered') ?? []
  t.strictSame(JSON.parse(String(delivery?.lastAttempts)), [
    { at: iso(START_MS - 7), ms: 7, status: 503, error: refused.error, answer: 'Closed.' },
    { at: iso(START_MS + MIN - 7), ms: 7, status: 204, error: null, answer: null },
  ])
})

t.test('without a usable secret, one list a minute is read and explained', async (t) => {
  const openSecret = () => null
  const { happen, failOften, run, clock, sent, errors, store, byStatus } = await setUp(1, { openSecret })
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
    const pending = (await byStatus()).get('pending') ?? []
    t.equal(pending.filter(({ lastError }) => lastError !== null).length, explained)
    t.strictSame([reads, errors.length, sent.length], [minute + 1, minute + 1, 0])
    clock.advance(MIN)
  }
})

t.test('after rotations all secrets sign until the overlap ends', async (t) => {
  const { happen, run, change, clock, sent } = await setUp()
  await change(0, { previousSecret: 'whsec_old whsec_older', previousSecretUntil: iso(clock() + MIN) })
  await happen()
  await run()
  clock.advance(MIN)
  await happen()
  await run()
  t.match(sent, [{ secrets: ['whsec_new', 'whsec_old', 'whsec_older'] }, { secrets: ['whsec_new'] }])
})
