import { createService } from '../service/create-service.ts'
import type { Replay, ReplayResult } from '../shapes/webhook.ts'
import { type Command, TENANT, valued, wrongUse } from './command.ts'
import { timeOf } from './prospect-logs.ts'

const LIMIT = 100
const FAULT = /^Invalid input: ((?:status|types) .*)\.$/
const ENDPOINT = { operand: 'ID', details: ['ID is the webhookEndpointId that webhooks list shows.'] }

export const webhookCommands: readonly Command[] = [
  {
    words: 'events list',
    help: 'prints the events of a tenant as JSON lines, oldest first',
    options: { tenant: TENANT, types: valued('TYPES', 'only these types, separated by commas') },
    examples: {
      'every event kept': 'prospect-pages events list --tenant "$TENANT"',
      'of two types':
        'prospect-pages events list --tenant "$TENANT" --types prospect.created,prospect.erased',
    },
    format: { isLines: true },
    async *run({ texts: { tenant: tenantId = '', types } }, open) {
      const service = createService(await open())
      yield* everyItem((cursor) => service.listEvents({ tenantId, types, cursor, limit: LIMIT }))
    },
  },
  {
    words: 'webhooks list',
    help: 'lists the webhook endpoints of a tenant, oldest first',
    options: { tenant: TENANT },
    examples: { 'all endpoints': 'prospect-pages webhooks list --tenant "$TENANT"' },
    format: { list: true, columns: ['webhookEndpointId', 'url', 'types', 'status', 'failures'] },
    run: async ({ texts: { tenant: tenantId = '' } }, open) =>
      (await createService(await open()).listWebhookEndpoints({ tenantId })).items,
  },
  {
    words: 'webhooks deliveries',
    help: 'lists what was and will be delivered to a webhook endpoint, newest event first',
    ...ENDPOINT,
    options: { tenant: TENANT, status: valued('S', 'pending, delivered or failed; all by default') },
    examples: {
      'what failed': 'prospect-pages webhooks deliveries "$ENDPOINT" --tenant "$TENANT" --status failed',
    },
    format: { list: true },
    async *run({ texts: { tenant: tenantId = '', status }, operand: webhookEndpointId }, open) {
      const service = createService(await open())
      const list = { tenantId, webhookEndpointId, status: status as 'failed', limit: LIMIT }
      yield* everyItem((cursor) => service.listDeliveries({ ...list, cursor }))
    },
  },
  {
    words: 'webhooks replay',
    help: 'delivers the events since a time to a webhook endpoint again',
    ...ENDPOINT,
    options: {
      tenant: TENANT,
      since: valued('TIME', 'the first time, such as 2026-11-22T09:00:00Z', { required: true }),
      all: { type: 'boolean', help: 'also those that were delivered' },
    },
    examples: {
      'what was not delivered since a time':
        'prospect-pages webhooks replay "$ENDPOINT" --tenant "$TENANT" --since 2026-11-22T09:00:00Z',
    },
    run: async ({ texts, values, operand: webhookEndpointId }, open) => {
      const since = timeOf(texts, 'since') ?? undefined
      const service = createService(await open())
      const want = { tenantId: texts['tenant'] ?? '', webhookEndpointId, onlyUndelivered: !values['all'] }
      let deliveries = 0
      for (let from: Partial<Replay> | null = { since }; from; ) {
        const replayed: ReplayResult = await service.replayDeliveries({ ...want, ...from })
        deliveries += replayed.deliveries
        from = replayed.nextCursor === null ? null : { cursor: replayed.nextCursor }
      }
      return { deliveries }
    },
  },
]

type Slice<Item> = { items: Item[]; hasMore: boolean; nextCursor?: string | undefined }
async function* everyItem<Item>(read: (cursor: string | undefined) => Promise<Slice<Item>>) {
  for (let cursor: string | undefined, isMore = true; isMore; ) {
    const slice = await read(cursor).catch((why) =>
      why.kind === 'invalid_request' ? wrongUse(why.message.replace(FAULT, '--$1')) : Promise.reject(why),
    )
    yield* slice.items
    ;({ hasMore: isMore, nextCursor: cursor } = slice)
  }
}
