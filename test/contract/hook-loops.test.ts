import type { Test } from 'tap'
import { webhookJobs } from '../../src/compose/webhooks.ts'
import type { Webhook, WebhookAnswer } from '../../src/core/ports/sending.ts'
import { overStores } from '../support/stores.ts'
import { openHooks } from './hook-scene.ts'

const activity = { source: 'crm', email: 'ada@example.com', payload: {} }
const pass = (hops: number | string) => ({ 'webhook-hops': String(hops) })

overStores(
  async (t, kind) => {
    t.test('webhooks to a hook of the same service end: their third delivery in a row is 508', async (t) => {
      const { store, clock, call, create, send, logs } = await openHooks(t, kind)
      const hook = await create({ verify: { token: true } })
      const endpoint = { url: 'https://own.example/hook', types: ['prospect_log.created'] }
      const { webhookEndpointId } = (await call('POST /v0/webhook_endpoints', { json: endpoint })).json

      await call('POST /v0/prospect_logs', { json: activity })
      const deliveries: { hops: number; status: number }[] = []
      await sendAll(t, { store, clock }, async ({ body, hops }) => {
        const { status } = await send(hook.path, body, pass(hops))
        deliveries.push({ hops, status })
        return status
      })

      t.strictSame(deliveries, [
        { hops: 1, status: 200 },
        { hops: 2, status: 200 },
        { hops: 3, status: 508 },
      ])
      t.equal((await logs()).length, 3)
      const failed = await call(`GET /v0/webhook_endpoints/${webhookEndpointId}/deliveries?status=failed`)
      t.match(failed.json, { items: [{ attempts: 1, lastStatusCode: 508 }] }, 'it is not tried again')
      t.notOk((await call('GET /v0/events')).body.includes('hops'), 'events do not show the number')
    })

    t.test('trying a hook out says that a delivery would be refused as a loop', async (t) => {
      const { call, create } = await openHooks(t, kind)
      const hook = await create({ verify: { token: true } })
      const delivery = { headers: { 'Webhook-Hops': '3' }, body: '{}' }
      const tried = await call(`POST /v0/hooks/${hook.hookId}/try`, { json: delivery })
      t.match(tried.json, { verified: false, reason: /loop/, activities: [{ source: 'vendor' }] })
      t.notOk(tried.body.includes('hops'), 'it does not show the number')
    })

    const pagesOf = '/v0/page_groups/PAGE_GROUP/pages'
    const oneActivity = { operation: 'POST /v0/prospect_logs', json: activity }
    const batch = { operation: 'POST /v0/prospect_logs/batch', json: { items: [activity, activity] } }
    const page = { operation: `POST ${pagesOf}`, json: {} }
    const loops = [
      { title: 'one that logs an activity', requests: [oneActivity], logsMade: 2 },
      { title: 'two that log an activity each', requests: [oneActivity, oneActivity], logsMade: 3 },
      { title: 'two that log batches', requests: [batch, batch], logsMade: 1 },
      {
        title: 'one that logs an activity, one that creates a page',
        requests: [oneActivity, page],
        logsMade: 2,
      },
    ]
    for (const { title, requests, logsMade } of loops)
      t.test(`webhooks that call the same service end: ${title}`, async (t) => {
        const { store, clock, call, logs } = await openHooks(t, kind)
        const group = await call('POST /v0/page_groups', { json: { name: 'spring', title: 'Spring' } })
        const withGroup = (operation: string) =>
          operation.replace('PAGE_GROUP', String(group.json['pageGroupId']))
        const types = ['prospect_log.created', 'page.created', 'page_version.published']
        for (const index of requests.keys())
          await call('POST /v0/webhook_endpoints', { json: { url: `https://own.example/${index}`, types } })

        await call('POST /v0/prospect_logs', { json: activity })
        await sendAll(t, { store, clock }, async ({ url, hops }) => {
          const index = Number(url.at(-1))
          const { operation, json } = requests[index] ?? page
          return (await call(withGroup(operation), { json, headers: pass(hops) })).status
        })

        t.equal((await logs()).length, logsMade)
        t.strictSame((await call(withGroup(`GET ${pagesOf}`))).json['items'], [])
      })

    t.test('a webhook may read, and may log one activity; other changes are 508', async (t) => {
      const { call, logs } = await openHooks(t, kind)
      const statusOf = async (operation: string, json: object | undefined, hops: string) =>
        (await call(operation, { json, headers: pass(hops) })).status

      t.equal(await statusOf('POST /v0/prospect_logs', activity, '1'), 201)
      for (const hops of ['2', '17', '2, 2']) {
        const answer = await call('POST /v0/prospect_logs', { json: activity, headers: pass(hops) })
        t.match(answer, { status: 508, json: { code: 'loop_detected' } })
      }
      for (const malformed of ['', '0', 'x'])
        t.equal(await statusOf('POST /v0/prospect_logs', activity, malformed), 201)
      t.equal((await logs()).length, 4)

      t.equal(await statusOf('POST /v0/prospects', { email: 'eve@example.com' }, '1'), 508)
      t.equal(await statusOf('POST /v0/prospect_logs/batch', { items: [activity] }, '1'), 508)
      t.equal(await statusOf('GET /v0/prospect_logs', undefined, '9'), 200)
      t.equal((await logs()).length, 4)
    })

    t.test('a delivery after three hops or more is 508, and the hook says why', async (t) => {
      const { create, deliver, logs, readOnceSet } = await openHooks(t, kind)
      const hook = await create()
      for (const hops of ['3', '4, 4', '9'.repeat(400)]) {
        const { status, json } = await deliver(hook, '{}', pass(hops))
        t.equal(status, 508, hops)
        t.equal(json.code, 'loop_detected', hops)
      }
      t.match(await readOnceSet(hook, 'lastRefusal'), { reason: /loop/ })
      t.strictSame(await logs(), [])
    })

    t.test('of several numbers of hops the largest counts', async (t) => {
      const { create, deliver } = await openHooks(t, kind)
      const hook = await create()
      for (const hops of ['0, 3', '3, 0'])
        t.match(await deliver(hook, '{}', pass(hops)), { status: 508 }, hops)
    })

    t.test('a delivery to which a webhook led holds one activity at most', async (t) => {
      const { call, create, send, logs, readOnceSet } = await openHooks(t, kind)
      const hook = await create({ each: '', verify: { token: true } })
      const one = JSON.stringify([{ email: 'ada@example.com' }])
      const two = JSON.stringify([{ email: 'ada@example.com' }, { email: 'bob@example.com' }])
      const refused = await send(hook.path, two, pass(1))
      t.equal(refused.status, 508)
      t.equal(refused.json.code, 'loop_detected')
      t.match(await readOnceSet(hook, 'lastRefusal'), { reason: /may hold one activity, not 2/ })
      t.strictSame(await logs(), [], 'none of them is stored')

      const tried = await call(`POST /v0/hooks/${hook.hookId}/try`, {
        json: { headers: pass(1), body: two },
      })
      t.match(tried.json, { verified: false, reason: /may hold one activity, not 2/ })

      t.equal((await send(hook.path, one, pass(2))).status, 200)
      t.equal((await send(hook.path, two, pass(0))).status, 200)
      t.equal((await logs()).length, 3)
    })

    t.test('a delivery after fewer hops, or with a header that is no number, is stored', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const hook = await create()
      for (const hops of ['', 'x', '0', '2'])
        t.match(await deliver(hook, '{}', pass(hops)), { status: 200 }, hops)
      t.equal((await logs()).length, 4)
    })
  },
  ['memory', 'sqlite', 'postgres', 'citus'],
)

type Scene = Pick<Awaited<ReturnType<typeof openHooks>>, 'store' | 'clock'>

/** Sends webhooks until none is left. `send` returns the status of an attempt. */
const sendAll = async (t: Test, { store, clock }: Scene, send: (webhook: Webhook) => Promise<number>) => {
  const sendWebhook = async (webhook: Webhook): Promise<WebhookAnswer> => {
    const status = await send(webhook)
    return { status, error: status < 300 ? null : 'Refused.', retryAfterMs: null, ms: 1 }
  }
  const secrets = { open: (sealed: string) => sealed }
  const tools = { send: sendWebhook, secrets } as unknown as Parameters<typeof webhookJobs>[1]
  const steps = webhookJobs({ store, clock }, tools).map(({ createStep }) => createStep(t.error))
  const neverAborted = new AbortController().signal
  const never = new Promise<never>(() => {})
  let hasMore = true
  while (hasMore) {
    hasMore = false
    for (const step of steps) if (await step(neverAborted, never)) hasMore = true
    clock.advance(1_000)
  }
}
