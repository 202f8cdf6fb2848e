import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { createSecrets } from '../../src/adapters/webhooks/secrets.ts'
import { createWebhooks } from '../../src/compose/webhooks.ts'
import type { SendWebhook, Webhook } from '../../src/core/ports/sending.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createService } from '../../src/service/create-service.ts'

const WRITES = 20
const NEVER_MS = 2 ** 30

/** A service whose events are numbered and sent in the background, and how often due deliveries were looked for. */
const setUp = async (t: { teardown: (end: () => Promise<void>) => void }) => {
  const store = memoryStore({ everyEvent: true })
  let claims = 0
  const claim: Store['webhooks']['claim'] = (want) => {
    claims++
    return store.webhooks.claim(want)
  }
  const service = createService({ store })
  const { tenantId } = await service.createTenant({ name: 'Acme' })
  const seen = { ...store, webhooks: { ...store.webhooks, claim } }
  const { promise: sent, resolve } = Promise.withResolvers<Webhook>()
  const send: SendWebhook = async (webhook) => {
    resolve(webhook)
    return { status: 204, error: null, retryAfterMs: null, ms: 7 }
  }
  const tools = { secrets: createSecrets(null), checkUrl: () => null, send }
  const sender = createWebhooks({ store: seen, pollMs: NEVER_MS }, tools)
  t.teardown(sender.stop)
  /** Makes changes one by one, until all of their events have numbers. */
  const write = async () => {
    for (let n = 0; n < WRITES; n++) {
      await service.logProspectActivity({ tenantId, source: 'crm', payload: { rawJson: '{}' } })
      await setImmediate()
    }
    while ((await store.events.waiting('', 1)).length > 0) await setImmediate()
    await setImmediate()
  }
  return { service, tenantId, sender, write, sent, claims: () => claims }
}

t.test('writes make the sender look for due deliveries only if there is an endpoint for them', async (t) => {
  const { service, tenantId, sender, write, sent, claims } = await setUp(t)
  sender.start()
  await setImmediate()
  const atStart = claims()
  await write()
  t.equal(claims(), atStart)
  const { items } = (await service.listEvents({ tenantId, limit: 100 })).value
  t.equal(items.length, 2 * WRITES, 'all are numbered')
  const url = 'https://example.com/hook'
  await service.createWebhookEndpoint({ tenantId, url, types: ['prospect.created'] })
  await write()
  t.equal((await sent).url, url)
  t.ok(claims() > atStart)
})

t.test('no more than 16 activities are read at a time for receivers: each may be large', async (t) => {
  const store = memoryStore({ everyEvent: true })
  const service = createService({ store })
  const url = 'https://example.com/hook'
  for (let i = 0; i < 10; i++) {
    const { tenantId } = await service.createTenant({ name: 'Acme' })
    await service.createWebhookEndpoint({ tenantId, url, types: ['prospect_log.created'] })
    for (let n = 0; n < 4; n++)
      await service.logProspectActivity({ tenantId, source: 'crm', payload: { rawJson: '{}' } })
  }
  let reading = 0
  const atOnce: number[] = []
  const find: Store['prospectLogs']['find'] = async (want) => {
    atOnce.push(++reading)
    const found = await store.prospectLogs.find(want)
    reading--
    return found
  }
  const seen = { ...store, prospectLogs: { ...store.prospectLogs, find } }
  const { promise: all, resolve } = Promise.withResolvers<void>()
  let sent = 0
  const send: SendWebhook = async () => {
    if (++sent === 40) resolve()
    return { status: 204, error: null, retryAfterMs: null, ms: 7 }
  }
  const tools = { secrets: createSecrets(null), checkUrl: () => null, send }
  const sender = createWebhooks({ store: seen, pollMs: NEVER_MS }, tools)
  t.teardown(sender.stop)
  sender.start()
  await all
  t.ok(Math.max(...atOnce) > 1)
  t.ok(Math.max(...atOnce) <= 16)
})
