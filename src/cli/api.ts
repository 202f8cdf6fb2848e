import { randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { composeApi } from '../compose/api.ts'
import { webhooksOf } from '../compose/service.ts'
import { readConfig } from '../config/config.ts'
import { tooLarge } from '../core/engine/failures.ts'
import { SCOPES } from '../core/ports/api-keys.ts'
import { brandsOf } from '../core/tenants/create-tenant.ts'
import { type Command, TENANT, wrongUse } from './command.ts'
import { report } from './output.ts'

export const apiCommand: Command = {
  words: 'api',
  help: 'runs any operation of the API on the database, without a server or a key',
  details: [
    'METHOD and PATH are those of the API reference, with a query where one is needed. BODY is JSON text, or - to read',
    'it from stdin. The answer goes to stdout; a problem goes to stderr, and the exit code is 1.',
  ],
  operands: ['METHOD', 'PATH', '[BODY]'],
  options: { tenant: TENANT },
  examples: {
    'the page groups of a tenant': 'prospect-pages api GET /v0/page_groups --tenant "$TENANT"',
    'a page group': `prospect-pages api POST /v0/page_groups '{"name":"offers","title":"Offers"}' --tenant "$TENANT"`,
    'archive a page group, with the body from stdin':
      'echo \'{"status":"archived"}\' | prospect-pages api PATCH "/v0/page_groups/$GROUP" - --tenant "$TENANT"',
    'events of two types':
      'prospect-pages api GET "/v0/events?types=prospect.created,prospect.erased&limit=100" --tenant "$TENANT"',
    'a hook for a vendor': `prospect-pages api POST /v0/hooks '{"source":"stripe","verify":{"preset":"stripe","secret":"whsec_…"}}' --tenant "$TENANT"`,
    'deliveries of an endpoint that failed':
      'prospect-pages api GET "/v0/webhook_endpoints/$ENDPOINT/deliveries?status=failed" --tenant "$TENANT"',
  },
  run: async (
    { texts: { tenant: tenantId = '' }, operands: [method = '', target = '', body], values },
    open,
  ) => {
    if (!target.startsWith('/')) wrongUse('PATH must begin with /, such as /v0/page_groups')
    const config = readConfig(process.env)
    const { store, clock, newId } = await open()
    await brandsOf(store, tenantId)
    let cause: unknown
    const { api } = composeApi({
      ...{ store, clock, newId, background: 'elsewhere', listsInFlightMax: 1, keysRememberedMsMax: 0 },
      settings: { ...config, rateLimitPerMinute: null },
      webhooks: webhooksOf(config, clock),
      publicUrl: config.publicUrl,
      caller: { tenantId, apiKeyId: null, scopes: SCOPES },
      ready: () => store.ready(),
      newRequestId: randomUUID,
      onAnswered: () => {},
      onError: (error) => {
        cause = error
      },
    })
    const read = async (bytesMax: number) => {
      const bytes = body === '-' ? await buffer(process.stdin) : Buffer.from(body ?? '')
      // Reading may have taken long, and the tenant may be being deleted by now.
      await brandsOf(store, tenantId)
      if (bytes.length > bytesMax) throw tooLarge(bytesMax)
      return bytes
    }
    const answer = await api({
      ...{ method: method.toUpperCase(), target },
      headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      body: { bytesMax: config.bodyBytesMax, batchBytesMax: config.batchBytesMax, read },
    })
    if (answer.status >= 500 && cause !== undefined) throw cause
    const text = String(answer.body).trimEnd()
    if (answer.status >= 400) {
      process.stderr.write(`${text}\n`)
      process.exitCode = 1
      return null
    }
    if (text === '') return null
    if (!process.stdout.isTTY || values['json']) return { rawJson: text }
    const { items, nextCursor, ...one } = JSON.parse(text)
    if (nextCursor && items) report(`There is more: add cursor=${nextCursor} to the query.`)
    if (items?.length === 0) process.stdout.write('none\n')
    return items ?? one
  },
}
