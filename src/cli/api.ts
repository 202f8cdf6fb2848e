import { randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { jsonFor } from '../adapters/escaped.ts'
import { isWhole } from '../adapters/http/requests.ts'
import { composeApi } from '../compose/api.ts'
import { webhooksOf } from '../compose/service.ts'
import { readConfig } from '../config/config.ts'
import { tooLarge } from '../core/engine/failures.ts'
import { SCOPES } from '../core/ports/api-keys.ts'
import { brandsOf } from '../core/tenants/create-tenant.ts'
import { splitAt } from '../json/split-json.ts'
import { writeLine } from '../json/write-json.ts'
import { ITEMS_MAX } from '../shapes/slice.ts'
import { type Command, type Open, type Shell, TENANT, wrongUse } from './command.ts'
import { printJson, report } from './output.ts'

export const apiCommand: Command = {
  words: 'api',
  help: 'runs any API operation directly on the database, without a server or a key',
  details: [
    'METHOD and PATH are those of the API reference, with a query where one is needed. BODY is JSON text, or - to read',
    'it from stdin. The answer goes to stdout; a problem goes to stderr, and the exit code is 1.',
    "api GET '/v0/events?cursor=latest' --follow prints new events, one JSON line each, until Ctrl-C.",
  ],
  operands: ['METHOD', 'PATH', '[BODY]'],
  options: {
    tenant: TENANT,
    follow: {
      type: 'boolean',
      help: 'keep printing events as they come',
    },
  },
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
  async *run(input, open, shell) {
    const { texts, operands, values } = input
    const [method = '', path = '', body = ''] = operands
    const isFollowing = values['follow'] === true
    const isFeed = method.toUpperCase() === 'GET' && /^\/v0\/events(\?|$)/.test(path)
    if (isFollowing && !isFeed) wrongUse('--follow needs GET /v0/events')
    if (!path.startsWith('/')) wrongUse('PATH must begin with /, such as /v0/page_groups')
    const call = await openApi({ tenantId: texts['tenant'] ?? '', method, body }, open, shell)
    if (isFollowing) return yield* followEvents(path, call, shell)
    const text = await call(path)
    if (text === '') return
    if (!shell.stdout.isTTY || values['json']) return yield { rawJson: text }
    const { items, nextCursor, ...resource } = JSON.parse(text)
    if (nextCursor && items) report(shell, `There is more: add cursor=${nextCursor} to the query.`)
    if (items?.length === 0) shell.stdout.write('none\n')
    yield* items ?? [resource]
  },
}

/** Calls the API with a path and query. Returns the text of an answer, or nothing once it has printed it. */
type Call = (target: string, end?: AbortSignal) => Promise<string>
type Request = { readonly tenantId: string; readonly method: string; readonly body: string }

const openApi = async ({ tenantId, method, body }: Request, open: Open, shell: Shell): Promise<Call> => {
  const config = readConfig(shell.env)
  const { store, clock, newId } = await open()
  await brandsOf(store, tenantId)
  let cause: unknown
  const { api } = composeApi({
    store,
    clock,
    newId,
    background: 'elsewhere',
    keysRememberedMsMax: 0,
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
    const bytes = body === '-' ? await buffer(shell.stdin) : Buffer.from(body)
    // Reading may have taken long, and a deletion of the tenant may have begun since.
    await brandsOf(store, tenantId)
    if (bytes.length > bytesMax) throw tooLarge(bytesMax)
    return bytes
  }
  return async (target, end) => {
    const answer = await api({
      method: method.toUpperCase(),
      target,
      untilEnd: end && (() => end),
      headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      body: { bytesMax: config.bodyBytesMax, batchBytesMax: config.batchBytesMax, read },
    })
    if (answer.status >= 500 && cause !== undefined) throw cause
    if (!isWhole(answer.body)) return printParts(answer.body.parts, shell)
    const text = String(answer.body).trimEnd()
    if (answer.status < 400) return text
    shell.stderr.write(jsonFor(shell.stderr, `${text}\n`))
    shell.exitCode = 1
    return ''
  }
}

/** Prints parts as they arrive, even on a terminal, until the reader is gone. Returns the rest: nothing. */
const printParts = async (parts: AsyncIterable<string>, { stdout }: Shell): Promise<''> => {
  for await (const part of parts) {
    const error = await printJson(stdout, part)
    if (error) break
  }
  return ''
}

/** The exact text of each event, slice by slice, until Ctrl-C or a refusal. */
async function* followEvents(path: string, call: Call, shell: Shell) {
  const stop = new AbortController()
  shell.once('SIGINT', () => stop.abort())
  const target = new URL(path, 'http://localhost')
  target.searchParams.set('wait', '25')
  while (!stop.signal.aborted) {
    const text = await call(`${target.pathname}${target.search}`, stop.signal)
    if (text === '') return
    const { elements, rest } = splitAt(text, 'items', ITEMS_MAX) ?? { elements: null, rest: text }
    for (const item of elements ?? []) yield { rawJson: writeLine({ rawJson: item }) }
    target.searchParams.set('cursor', JSON.parse(rest).nextCursor)
  }
  shell.exitCode = 130
}
