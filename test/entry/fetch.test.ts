import t from 'tap'
import { createFetchHandler, type FetchOptions } from '../../src/entry/fetch.ts'
import { createApi } from '../../src/entry/http.ts'
import { createService, memoryStore, SCOPES } from '../../src/entry/index.ts'

const HOST = 'http://example.com'

/** A handler over a store with a tenant, and its key. */
const embedded = async (options: Partial<FetchOptions> = {}) => {
  const store = memoryStore()
  const service = createService({ store, background: 'elsewhere' })
  const { tenantId } = await service.createTenant({ name: 'a tenant' })
  const { apiKey } = await service.issueApiKey({ tenantId, scopes: SCOPES })
  const handle = createFetchHandler({ store, background: 'elsewhere', ...options })
  const fetch = (target: string, { headers, ...init }: RequestInit = {}) =>
    handle(new Request(HOST + target, { ...init, headers: { 'x-api-key': apiKey, ...headers } }))
  const log = (body: string | ReadableStream, target = '/v0/prospect_logs') =>
    fetch(target, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
      duplex: 'half',
    } as object)
  return { store, service, tenantId, handle, fetch, log }
}

const streamOf = (...parts: (string | Error)[]) => {
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull: (controller) => {
      const part = parts.shift()
      if (part === undefined) controller.close()
      else if (part instanceof Error) controller.error(part)
      else controller.enqueue(encoder.encode(part))
    },
  })
}

t.test('a request of the Fetch standard is answered as over HTTP', async (t) => {
  const { store, fetch, log } = await embedded()
  const logged = await log('{"source":"crm","payload":{ "a": 1.0 }}')
  t.equal(logged.status, 201)
  t.match(await logged.json(), { source: 'crm', createdProspect: true })
  t.equal(store.kept.logs()[0]?.payload.rawJson, '{ "a": 1.0 }')
  const inParts = await log(streamOf('{"source":"crm",', '"payload":{}}'))
  t.equal(inParts.status, 201)

  const list = await fetch('/v0/prospect_logs?limit=1')
  t.match(await list.json(), { items: [{ source: 'crm' }], hasMore: true })
  const unchanged = await fetch('/v0/prospect_logs?limit=1', {
    headers: { 'if-none-match': list.headers.get('etag') ?? '' },
  })
  t.match({ status: unchanged.status, text: await unchanged.text() }, { status: 304, text: '' })
  const head = await fetch('/v0/page_groups', { method: 'HEAD' })
  t.match({ status: head.status, text: await head.text() }, { status: 200, text: '' })

  const keyless = await fetch('/v0/page_groups', { headers: { 'x-api-key': '' } })
  t.match(
    { status: keyless.status, json: await keyless.json() },
    { status: 401, json: { code: 'missing_api_key' } },
  )
})

t.test('an answer without a body, and one made of parts', async (t) => {
  const { service, tenantId, fetch } = await embedded()
  const { value: pageGroup } = await service.createPageGroup({ tenantId, name: 'offers', title: 'Offers' })
  const deleted = await fetch(`/v0/page_groups/${pageGroup.pageGroupId}`, { method: 'DELETE' })
  t.match({ status: deleted.status, body: deleted.body }, { status: 204, body: null })
  const { value: receipt } = await service.logProspectActivity({ tenantId, source: 'crm', payload: {} })
  const exported = await fetch(`/v0/prospects/${receipt.prospectId}/export`)
  const lines = (await exported.text()).trimEnd().split('\n')
  t.ok(lines.length > 1)
  for (const line of lines) t.doesNotThrow(() => JSON.parse(line))
  const left = await fetch(`/v0/prospects/${receipt.prospectId}/export`)
  await left.body?.cancel()
})

t.test('bodies that are too long, end early or were read before', async (t) => {
  const { log } = await embedded({ bodyBytesMax: 100 })
  const long = await log(streamOf('{"source":"crm","payload":{"a":"', 'x'.repeat(100), '"}}'))
  t.match(
    { status: long.status, json: await long.json() },
    { status: 413, json: { code: 'payload_too_large' } },
  )
  let sent = 0
  const endless = new ReadableStream({
    pull: (controller) => {
      if (++sent > 50) controller.close()
      else controller.enqueue(new TextEncoder().encode('x'.repeat(100)))
    },
  })
  t.equal((await log(endless)).status, 413)
  const unread = streamOf('{"source":"crm",', '"payload":{}}')
  t.equal((await log(unread, '/v0/nothing')).status, 404)
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(sent, 51, 'the rest is dropped, so that the sender reads the answer')
  const cut = await log(streamOf('{"source":', new Error('reset')))
  t.match({ status: cut.status, json: await cut.json() }, { status: 400, json: { code: 'invalid_request' } })
  const errors: unknown[] = []
  const other = await embedded({ onError: (error) => errors.push(error) })
  const { apiKey } = await other.service.issueApiKey({ tenantId: other.tenantId, scopes: SCOPES })
  const request = new Request(`${HOST}/v0/prospect_logs`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
  })
  await request.text()
  t.equal((await other.handle(request)).status, 500)
  t.match(errors, [{ message: /already read/ }])
})

t.test('it is mounted at a base path, and limits wrong keys by the address it is told', async (t) => {
  const { handle, fetch, log } = await embedded({
    basePath: 'api/prospects/',
    failedAuthPerMinute: 1,
    addressOf: (request) => request.headers.get('x-real-ip') ?? undefined,
  })
  t.equal((await fetch('/api/prospects/v0/page_groups')).status, 200)
  t.equal((await fetch('/v0/page_groups')).status, 404)
  const logged = await log('{"source":"crm","payload":{}}', '/api/prospects/v0/prospect_logs')
  t.equal(logged.status, 201)
  const guess = (ip: string) =>
    handle(
      new Request(`${HOST}/api/prospects/v0/page_groups`, {
        headers: { 'x-api-key': 'wrong', 'x-real-ip': ip },
      }),
    )
  t.equal((await guess('192.0.2.1')).status, 401)
  t.equal((await guess('192.0.2.1')).status, 429)
  t.equal((await guess('192.0.2.2')).status, 401)
  handle.close()
})

t.test('an API that is given a Request names the function that takes it', async (t) => {
  const api = createApi({ store: memoryStore(), background: 'elsewhere' })
  await t.rejects(async () => api(new Request(HOST) as never), { message: /createFetchHandler/ })
})
