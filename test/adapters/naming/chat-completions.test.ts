import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { chatCompletionsNamer } from '../../../src/adapters/naming/chat-completions.ts'
import { createPageGroup } from '../../../src/core/pages/create-page-group.ts'
import { createPageWithVersion } from '../../../src/core/pages/create-page-with-version.ts'
import { namePatiently } from '../../../src/core/pages/name-patiently.ts'
import { publishVersions } from '../../../src/core/pages/publish-versions.ts'
import { createTenant } from '../../../src/core/tenants/create-tenant.ts'
import { countedIds, stoppedClock } from '../../support/setting.ts'

const PAGE = { groupTitle: 'Offers', pageContext: 'For florists', supplementaryContext: 'The spring sale' }
const NEVER_ABORTED = new AbortController().signal
type Asked = { url: string | undefined; headers: IncomingHttpHeaders; body: string }

/** A naming server of the test's own, and a namer that asks it. */
const setUp = async (
  t: Test,
  answer: RequestListener,
  { apiKey = 'secret' as string | null, extraBody = {} } = {},
) => {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const { url, headers } = request
    asked.push({ url, headers, body: (await request.setEncoding('utf8').toArray()).join('') })
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const namerAt = (path: string) =>
    chatCompletionsNamer({ url: base + path, model: 'small', apiKey: apiKey ?? undefined, extraBody })
  return { asked, base, namerAt, namer: namerAt('/v1') }
}
const saying =
  (content: unknown): RequestListener =>
  (_, response) =>
    response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] }))

t.test('a good answer is the name', async (t) => {
  const { namer } = await setUp(t, saying('Spring Flowers'))
  t.equal(await namer(PAGE, NEVER_ABORTED), 'Spring Flowers')
})

t.test('the server is asked as the protocol has it, with the key', async (t) => {
  const { asked, namer } = await setUp(t, saying('x'))
  await namer(PAGE, NEVER_ABORTED)
  t.match(asked, [
    {
      url: '/v1/chat/completions',
      headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
    },
  ])
  const { model, max_tokens, messages } = JSON.parse(asked[0]?.body ?? '')
  t.strictSame([model, max_tokens], ['small', 2_000])
  t.match(messages, [
    { role: 'system', content: /one short name/ },
    { role: 'user', content: /^Group: Offers\n\nFor florists\n\nThe spring sale$/ },
  ])
})

t.test('without a key none is sent', async (t) => {
  const { asked, namer } = await setUp(t, saying('x'), { apiKey: null })
  await namer(PAGE, NEVER_ABORTED)
  t.equal(asked[0]?.headers.authorization, undefined)
})

t.test('what a page does not say is left out, and what is very long is cut', async (t) => {
  const { asked, namer } = await setUp(t, saying('x'))
  await namer(
    { groupTitle: 'Offers', pageContext: null, supplementaryContext: 'x'.repeat(100_000) },
    NEVER_ABORTED,
  )
  t.equal(JSON.parse(asked[0]?.body ?? '').messages[1].content, `Group: Offers\n\n${'x'.repeat(4_000)}`)
})

t.test('the address may be the base of the API, with slashes, or the full one', async (t) => {
  const { asked, namerAt } = await setUp(t, saying('x'))
  for (const path of ['/v1', '/v1//', '/v1/chat/completions']) await namerAt(path)(PAGE, NEVER_ABORTED)
  t.strictSame(
    asked.map(({ url }) => url),
    Array(3).fill('/v1/chat/completions'),
  )
})

const bad: Record<string, [RequestListener, RegExp]> = {
  'a server error': [(_, response) => response.writeHead(500).end('{}'), /answered 500/],
  'a refusal that looks like an answer': [
    (_, response) => {
      response.statusCode = 401
      saying('x')(_, response)
    },
    /answered 401/,
  ],
  'a page of HTML': [(_, response) => response.end('<!doctype html><title>Sign in</title>'), /JSON/],
  'a megabyte': [(_, response) => response.end('x'.repeat(1_048_576)), /more than 65536 bytes/],
  'a megabyte of name': [saying('x'.repeat(1_048_576)), /more than 65536 bytes/],
  nothing: [(_, response) => response.end(), /JSON/],
  'a connection that breaks': [(_, response) => response.destroy(), /fetch failed/],
  'a redirect': [(_, response) => response.writeHead(302, { location: '/elsewhere' }).end(), /fetch failed/],
}
for (const [what, [answer, why]] of Object.entries(bad))
  t.test(`${what} is no name`, async (t) => {
    const { asked, namer } = await setUp(t, answer)
    await t.rejects(namer(PAGE, NEVER_ABORTED), why)
    t.equal(asked.length, 1)
  })

for (const nonsense of [
  null,
  [],
  'x',
  {},
  { choices: [] },
  { choices: [{}] },
  { choices: [{ message: { content: 1 } }] },
])
  t.test(`${JSON.stringify(nonsense)} is no name`, async (t) => {
    const { namer } = await setUp(t, (_, response) => response.end(JSON.stringify(nonsense)))
    await t.rejects(namer(PAGE, NEVER_ABORTED), /returned no message/)
  })

t.test('a truncated answer is no name', async (t) => {
  const choice = { finish_reason: 'length', message: { content: 'Spring flow' } }
  const { namer } = await setUp(t, (_, response) => response.end(JSON.stringify({ choices: [choice] })))
  await t.rejects(namer(PAGE, NEVER_ABORTED), { message: /truncated/, retryAfterMs: Infinity })
})

t.test('only a refusal that may pass is retried, and not before the server wants it', async (t) => {
  const retryOf = async (status: number, header?: string) => {
    const { namer } = await setUp(t, (_, response) =>
      response.writeHead(status, header === undefined ? {} : { 'retry-after': header }).end(),
    )
    return namer(PAGE, NEVER_ABORTED).catch(({ retryAfterMs }) => retryAfterMs)
  }
  for (const status of [408, 429, 500, 503]) t.equal(await retryOf(status), 0, `${status}`)
  for (const status of [400, 401, 404, 422]) t.equal(await retryOf(status), Infinity, `${status}`)
  t.equal(await retryOf(429, '3'), 3_000)
})

t.test('extra members are merged into the request, replace others, and null removes one', async (t) => {
  const extraBody = { max_tokens: null, max_completion_tokens: 500, model: 'large', nested: { top: null } }
  const { asked, namer } = await setUp(t, saying('x'), { extraBody })
  await namer(PAGE, NEVER_ABORTED)
  const { messages, ...others } = JSON.parse(asked[0]?.body ?? '')
  t.strictSame(others, { max_completion_tokens: 500, model: 'large', nested: { top: null } })
  t.equal(messages.length, 2)
})

t.test('to stop ends the call', async (t) => {
  const stop = new AbortController()
  const { namer } = await setUp(t, () => stop.abort())
  await t.rejects(namer(PAGE, stop.signal), { name: 'AbortError' })
})

t.test('from server to page, a name becomes one clean line', async (t) => {
  const { namer } = await setUp(t, saying('"Spring\r\n  Flowers\u0007"\n'))
  const deps = { store: memoryStore(), clock: stoppedClock(), newId: countedIds() }
  const { tenantId } = await createTenant(deps)({ name: 'Acme' })
  const { value: group } = await createPageGroup(deps)({ tenantId, name: 'offers', title: 'Offers' })
  await createPageWithVersion(deps)(group)
  const patient = namePatiently({ namer, patienceMs: 60_000, sleep: () => new Promise(() => {}) })
  await publishVersions({ ...deps, namer: patient, claimMax: 1, leaseMs: 1_000 })(NEVER_ABORTED)
  const pages = await deps.store.pages.list({ ...group, beforeId: null, limit: 1 })
  t.match(pages, [{ computedName: 'Spring Flowers' }])
})
