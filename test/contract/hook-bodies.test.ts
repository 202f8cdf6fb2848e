import { createHash } from 'node:crypto'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import { createApi } from '../../src/entry/http.ts'
import { createService } from '../../src/entry/index.ts'
import { hooksOver } from '../support/hooks.ts'
import { until } from '../support/program.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

const openHooks = async (t: Test, kind: StoreKind) => {
  const { store } = await opened(t, kind)
  const api = createApi({ store, background: 'elsewhere' })
  const service = createService({ store, background: 'elsewhere' })
  t.teardown(api.close)
  t.teardown(service.close)
  const { tenantId } = await service.createTenant({ name: 'One' })
  const { apiKey } = await service.issueApiKey({ tenantId, scopes: SCOPES })
  return { store, tenantId, ...hooksOver(api, apiKey) }
}

const MAP = { type: ['/type', '/kind'], email: ['/email', '/user/email'], name: ['/name', '/user/name'] }
const FORM = 'application/x-www-form-urlencoded'
const ADA = 'ada@example.com'
const latin1 = (text: string) => Buffer.from(text, 'latin1')
const multipart = (body: string | Uint8Array, boundary = 'X'): Sent => [
  Buffer.from(body),
  { 'content-type': `multipart/form-data; boundary=${boundary}` },
]
const part = (name: string, value: string, more = '') =>
  `--X\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
const encodedAs = (encoding: string, bytes: Uint8Array, type = 'application/json'): Sent => [
  bytes,
  { 'content-encoding': encoding, 'content-type': type },
]
const ofType = (type: string, body: string | Uint8Array): Sent => [body, { 'content-type': type }]
const form = (body: string | Uint8Array) => ofType(FORM, body)
const json = (body: string | Uint8Array) => ofType('application/json', body)

type Sent = readonly [body: string | Uint8Array, headers: Readonly<Record<string, string>>]
type Read = { readonly email?: string | null; readonly name?: string | null; readonly type?: string }
/** The body sent, its stored form, the values found in it, and the warning. */
const BODIES: Readonly<Record<string, readonly [Sent, payload: unknown, Read, warning?: RegExp]>> = {
  'JSON in a field of a form': [
    form(`payload=${encodeURIComponent(`{"type":"push","user":{"email":"${ADA}"}}`)}`),
    { payload: `{"type":"push","user":{"email":"${ADA}"}}` },
    { type: 'push', email: ADA },
  ],
  'a field of the form goes before a member of its JSON': [
    form(`rawRequest={"email":"x@example.com","name":"Ada","a":1}&email=${ADA}`),
    { rawRequest: '{"email":"x@example.com","name":"Ada","a":1}', email: ADA },
    { email: ADA, name: 'Ada' },
  ],
  'the first field that has it counts, and what is no JSON is text': [
    form(`a={"name":"Ada"}&b={"name":"Bob","email":"${ADA}"}&c={no&d={}&e=[1]`),
    { a: '{"name":"Ada"}', b: `{"name":"Bob","email":"${ADA}"}`, c: '{no', d: '{}', e: '[1]' },
    { name: 'Ada', email: ADA },
  ],
  'JSON in a part of a form': [
    multipart(`${part('payload', `{"kind":"k","email":"${ADA}"}`)}--X--\r\n`),
    { payload: `{"kind":"k","email":"${ADA}"}` },
    { type: 'k', email: ADA },
  ],
  'a lone percent sign': [
    form(`email=${ADA}&note=50% off&a=%&b=%4`),
    { email: ADA, note: '50% off', a: '%', b: '%4' },
    { email: ADA },
  ],
  'a form in ISO-8859-1': [
    form(`email=${ADA}&name=Zo%EB+%80%u00e9&%E9=%C3%A9`),
    { email: ADA, name: 'Zoë €%u00e9', é: 'é' },
    { email: ADA, name: 'Zoë €%u00e9' },
    /^The last body was read as windows-1252: it is not UTF-8\.$/,
  ],
  'a form whose bytes are not encoded': [
    form(latin1(`?a=1&email=${ADA}&name=Zo\xeb`)),
    { '?a': '1', email: ADA, name: 'Zoë' },
    { email: ADA, name: 'Zoë' },
    /read as windows-1252/,
  ],
  'a form that names its encoding': [
    ofType(`${FORM};charset=Shift_JIS`, `email=${ADA}&name=%93%FA%96%7B`),
    { email: ADA, name: '日本' },
    { email: ADA, name: '日本' },
  ],
  'a form whose field _charset_ names its encoding': [
    form(`_charset_=windows-1251&email=${ADA}&name=%C0%E4%E0`),
    { _charset_: 'windows-1251', email: ADA, name: 'Ада' },
    { email: ADA, name: 'Ада' },
  ],
  'a form in an encoding that is all ASCII': [
    form(`name=%1B%24B%46%7C%4B%5C%1B%28B&_charset_=ISO-2022-JP&email=${ADA}`),
    { name: '日本', _charset_: 'ISO-2022-JP', email: ADA },
    { email: ADA, name: '日本' },
  ],
  'the content type goes before _charset_, and UTF-8 before both': [
    ofType(`${FORM};charset=shift_jis`, `_charset_=windows-1251&email=${ADA}&name=%93%FA&a=%C3%AB`),
    { _charset_: 'windows-1251', email: ADA, name: '日', a: 'ë' },
    { email: ADA, name: '日' },
  ],
  'an unknown or empty _charset_': [
    form(`_charset_=nonsense&email=${ADA}&name=Zo%EB`),
    { _charset_: 'nonsense', email: ADA, name: 'Zoë' },
    { email: ADA, name: 'Zoë' },
    /read as windows-1252/,
  ],
  'a multipart form whose field _charset_ names its encoding': [
    multipart(latin1(`${part('name', '\xc0\xe4\xe0')}${part('_charset_', 'windows-1251')}--X--`)),
    { name: 'Ада', _charset_: 'windows-1251' },
    { name: 'Ада' },
  ],
  'JSON in windows-1252': [
    json(latin1(`{"email":"${ADA}","name":"Zo\xeb \x93\x80"}`)),
    { email: ADA, name: 'Zoë “€' },
    { email: ADA, name: 'Zoë “€' },
    /read as windows-1252/,
  ],
  'JSON that names its encoding': [
    ofType('application/json; charset="iso-8859-1"', latin1('{"name":"Zo\xeb"}')),
    { name: 'Zoë' },
    { name: 'Zoë' },
  ],
  'JSON in UTF-16': [
    json(Buffer.from('\ufeff{"name":"Zoë"}', 'utf16le')),
    { name: 'Zoë' },
    { name: 'Zoë' },
    /read as utf-16le/,
  ],
  'text in windows-1252': [ofType('text/plain', latin1('Zo\xeb')), { body: 'Zoë' }, {}, /windows-1252/],
  'what new FormData(form) sends': [
    multipart(
      `${part('name', 'Zoë %22')}${part('email', ADA)}${part('a', '1')}${part('a', '2')}${part('cv', '%PDF', '; filename="c%22v.pdf"\r\nContent-Type: application/pdf')}${part('none', '', '; filename=""\r\nContent-Type: application/octet-stream')}--X--\r\n`,
    ),
    {
      name: 'Zoë %22',
      email: ADA,
      a: ['1', '2'],
      cv: { name: 'c"v.pdf', type: 'application/pdf', bytes: 4 },
      none: { name: '', type: 'application/octet-stream', bytes: 0 },
    },
    { email: ADA, name: 'Zoë %22' },
  ],
  'a multipart form as programs write it': [
    multipart(
      `preamble\n--a b\nCONTENT-DISPOSITION:form-data;NAME=email\n\n${ADA}\n--a b \ncontent-type: text/plain\ncontent-disposition: form-data; name="q\\"; x=y"; filename*=utf-8''na%C3%AFve.txt\n\n\r\n\n--a b\ncontent-disposition: form-data; name=empty\n\n--a b--epilogue`,
      '"a b"',
    ),
    { email: ADA, 'q"; x=y': { name: 'naïve.txt', type: 'text/plain', bytes: 2 }, empty: '' },
    { email: ADA },
  ],
  'a multipart form in windows-1252': [
    multipart(latin1(`${part('name', 'Zo\xeb')}${part('caf\xe9', '1', '; filename="\xe9"')}--X--`)),
    { name: 'Zoë', café: { name: 'é', type: '', bytes: 1 } },
    { name: 'Zoë' },
    /read as windows-1252/,
  ],
  'a multipart form with nothing in it': [multipart('--X--\r\n'), {}, {}],
  'a gzip body': [encodedAs('gzip', gzipSync(`{"email":"${ADA}"}`)), { email: ADA }, { email: ADA }],
  'a gzip body without its header': [json(gzipSync(`{"email":"${ADA}"}`)), { email: ADA }, { email: ADA }],
  'a form in gzip without its header': [form(gzipSync(`email=${ADA}`)), { email: ADA }, { email: ADA }],
  'a gzip body that says it is sent as it is': [
    encodedAs('identity', gzipSync(`{"email":"${ADA}"}`)),
    { email: ADA },
    { email: ADA },
  ],
  'bytes that begin like gzip': [
    ofType('application/octet-stream', Buffer.from([0x1f, 0x8b, 8, 0])),
    { bodyBase64: 'H4sIAA==' },
    {},
    /it is not gzip/,
  ],
  'a deflated form': [
    encodedAs('Deflate', deflateSync(`email=${ADA}`), FORM),
    { email: ADA },
    { email: ADA },
  ],
  'deflate without the header of zlib': [
    encodedAs('deflate', deflateRawSync('{"name":"Ada"}')),
    { name: 'Ada' },
    { name: 'Ada' },
  ],
  'a Brotli body': [encodedAs('br', brotliCompressSync('{"name":"Ada"}')), { name: 'Ada' }, { name: 'Ada' }],
  'JSON that says it is gzip': [
    encodedAs('gzip', Buffer.from('{"name":"Ada"}')),
    { name: 'Ada' },
    { name: 'Ada' },
  ],
  'a body in an encoding that is unknown': [
    encodedAs('zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd])),
    { bodyBase64: 'KLUv/Q==' },
    {},
    /^The last body was stored unread: the content encoding zstd is not supported\./,
  ],
  'a gzip bomb': [
    encodedAs('gzip', gzipSync(Buffer.alloc(1_048_577, 0x20), { level: 1 })),
    { bodyBase64: gzipSync(Buffer.alloc(1_048_577, 0x20), { level: 1 }).toString('base64') },
    {},
    /stored unread: it is not gzip, or has more than 1048576 bytes without it/,
  ],
  'two marks of byte order': [json('\ufeff\ufeff{"name":"Ada"}'), { name: 'Ada' }, { name: 'Ada' }],
  'lines of JSON without `each`': [
    json('{"name":"a"}\n{"name":"b"}\n'),
    { body: '{"name":"a"}\n{"name":"b"}\n' },
    {},
    /stored unread: it is not JSON/,
  ],
  'JSON that is cut off': [
    json('{"a":'),
    { body: '{"a":' },
    {},
    /^The last body was stored unread: it is not JSON\./,
  ],
  'JSON that is nested too deep': [
    json(`${'['.repeat(600)}${']'.repeat(600)}`),
    { body: `${'['.repeat(600)}${']'.repeat(600)}` },
    {},
    /stored unread: it is nested too deep/,
  ],
  'bytes that say they are JSON': [
    json(Buffer.from([0xff, 0])),
    { bodyBase64: '/wA=' },
    {},
    /it is not UTF-8/,
  ],
  'bytes that say nothing': [ofType('image/png', Buffer.from([0xff, 0])), { bodyBase64: '/wA=' }, {}],
  'a multipart form without an end': [
    multipart(part('email', ADA)),
    { body: part('email', ADA) },
    {},
    /stored unread: its form has no end/,
  ],
  'a multipart form that has no delimiter': [multipart('x--X\r\n'), { body: 'x--X\r\n' }, {}, /no end/],
  'a part without a name': [
    multipart('--X\r\n\r\n1\r\n--X--'),
    { body: '--X\r\n\r\n1\r\n--X--' },
    {},
    /a part of its form is malformed/,
  ],
  'a boundary that begins like another': [
    multipart('--XY\r\n\r\n1\r\n--X--'),
    { body: '--XY\r\n\r\n1\r\n--X--' },
    {},
    /malformed/,
  ],
}
const tooMany = Array.from({ length: 1_001 }, (_, i) => `a=${i}`).join('&')
const parts = part('a', '1').repeat(10_000)

overStores(
  async (t, kind) => {
    t.test('bodies are read as what they say they are, else the hook says what differs', async (t) => {
      const { create, send, call, read } = await openHooks(t, kind)
      for (const [what, [[body, headers], payload, found, warning]] of Object.entries(BODIES)) {
        const hook = await create({ verify: { token: true }, map: MAP })
        const { status, json } = await send(hook.path, body, headers)
        t.equal(status, 200, what)
        const log = (await call(`GET /v0/prospect_logs/${json.prospectLogIds?.[0]}`)).json
        t.strictSame(log['payload'], payload, what)
        t.match(log, { type: 'webhook', email: null, name: null, ...found }, what)
        if (warning === undefined) continue
        const { lastWarning } = await until('it is warned', async () => {
          const hookNow = await read(hook)
          return hookNow.lastWarning && hookNow
        })
        t.match(lastWarning, { at: /Z$/, reason: warning }, what)
      }
    })

    t.test('the hook says where it looked for a person and found none, until it finds one', async (t) => {
      const { create, send, call, read } = await openHooks(t, kind)
      const map = { email: ['/email', '/contact/mail'], externalId: ['header:X-Id'], occurredAt: ['/at'] }
      const warnings = async (fields: object, body: string, headers = {}, query = '') => {
        const hook = await create({ verify: { token: true }, map, ...fields })
        t.equal((await send(hook.path + query, body, headers)).status, 200)
        const { lastWarning } = await until('it is received', async () => {
          const now = await read(hook)
          return now.lastReceivedAt ? now : null
        })
        const json = {
          body,
          headers: { 'content-type': 'application/json', ...headers },
          query: query.slice(1),
        }
        const tried = (await call(`POST /v0/hooks/${hook.hookId}/try`, { json })).json
        t.equal(tried['warning'] ?? null, lastWarning?.reason.replaceAll('The last body', 'The body') ?? null)
        return lastWarning?.reason ?? null
      }
      const noOne = 'there is no usable email or ID at /email, /contact/mail, header:X-Id.'
      const alone = `The last body identifies no one: ${noOne}`
      t.equal(await warnings({}, '{"mail":"ada@example.com"}'), alone, 'the member has another name')
      t.equal(await warnings({}, '{"email":"N/A"}'), alone, 'a placeholder')
      t.equal(await warnings({}, '{"email":"ada at example"}'), alone, 'no address')
      t.equal(await warnings({}, `{"contact":{"mail":"${ADA}"}}`), null)
      t.equal(await warnings({}, '{}', { 'x-id': '7' }), null)
      t.equal(await warnings({ unidentified: 'shared' }, '{}'), null, 'they share one person')
      t.equal(await warnings({ map: { name: ['/name'] } }, '{}'), null, 'no place was mapped')
      t.equal(
        await warnings({ each: '/a' }, `{"a":[{},{"email":"${ADA}"},{"email":"-"}]}`),
        `The last body identifies no one in 2 of its 3 elements: ${noOne}`,
      )
      const noTime = 'The last body has a time that cannot be used at /at.'
      t.equal(await warnings({}, `{"email":"${ADA}","at":0}`), noTime)
      const late = `{"email":"${ADA}","at":"next Tuesday"}`
      t.equal(await warnings({}, late), noTime)
      t.equal(await warnings({}, `{"email":"${ADA}","at":"N/A"}`), null, 'no time')
      t.equal(
        await warnings({}, `{"email":"${ADA}"}`, {}, '?utm_source=x'),
        'The last body was sent with a query, which no place reads.',
      )
      t.equal(
        await warnings({}, '{"at":-1', {}, '?utm_source=x'),
        `The last body was stored unread: it is not JSON. The last body was sent with a query, which no place reads. ${alone}`,
      )
    })

    t.test('a warning is over with the next delivery that has none', async (t) => {
      const { create, send, read, store, tenantId } = await openHooks(t, kind)
      const hook = await create({ verify: { token: true }, map: MAP })
      await send(hook.path, '{}')
      const { at } = await until('it is warned', async () => (await read(hook)).lastWarning)
      const nothing = { lastRefusedAt: null, lastRefusal: null, lastWarnedAt: null, lastWarning: null }
      const lastReceivedAt = new Date(Date.parse(at) + 1).toISOString()
      await store.hooks.markSeen({ tenantId, hookId: hook.hookId }, { ...nothing, lastReceivedAt })
      t.match(await read(hook), { lastReceivedAt, lastWarning: null })
    })

    t.test('too many fields are stored as text', async (t) => {
      const { create, send, payloads, read } = await openHooks(t, kind)
      for (const [body, headers] of [form(tooMany), multipart(`${parts}--X--`)]) {
        const hook = await create({ verify: { token: true } })
        t.equal((await send(hook.path, body, headers)).status, 200)
        t.strictSame(JSON.parse(String((await payloads())[0])), { body: String(body) })
        const warned = await until('it is warned', async () => (await read(hook)).lastWarning)
        t.match(warned, { reason: /more than 1000 fields/ })
      }
    })

    t.test('lines of JSON are activities, an empty array is none, too long an array is one', async (t) => {
      const { create, send, logs, read } = await openHooks(t, kind)
      const { path } = await create({ verify: { token: true }, each: '', map: MAP })
      const counted = async (target: string, body: string, type = 'application/json') =>
        (await send(target, body, { 'content-type': type })).json
      const lines = '{"name":"x}\\n{y"}\n\n{"name":"b"} \r\n{"name":"c"}\n'
      t.equal((await counted(path, lines, 'application/x-ndjson')).prospectLogIds?.length, 3)
      t.strictSame((await logs()).map(({ name }) => name).toSorted(), ['b', 'c', 'x}\n{y'])
      t.equal((await counted(path, '{"name":"a"}')).prospectLogIds?.length, 1)
      t.equal((await counted(path, '{"name":"a"}\nx')).prospectLogIds?.length, 1)
      t.strictSame(await counted(path, '[]'), { prospectLogIds: [], replayed: false })
      const within = await create({ verify: { token: true }, each: '/a' })
      t.strictSame(await counted(within.path, '{"a":[ ]}'), { prospectLogIds: [], replayed: false })
      t.equal((await logs()).length, 5)
      // What was last seen of a hook is written at once for its first delivery only.
      const tooLong = await create({ verify: { token: true }, each: '/a' })
      t.equal((await counted(tooLong.path, `{"a":[${'1,'.repeat(10_000)}1]}`)).prospectLogIds?.length, 1)
      const warned = await until('it is warned', async () => (await read(tooLong)).lastWarning)
      t.match(warned, {
        reason: 'The last body was stored as one activity: it has more than 10000 elements.',
      })
    })

    t.test('who is unidentified is one person of the hook, if the hook says so', async (t) => {
      const { create, send, logs, call, store, tenantId } = await openHooks(t, kind)
      const map = { ...MAP, externalId: ['/sender/id'] }
      const hook = await create({ verify: { token: true }, map, source: 'github', unidentified: 'shared' })
      for (const body of [
        ...['{"name":"Ada"}', '{"name":"Bob","email":"n/a"}', '[]', 'text'],
        ...['{"sender":{"id":583231},"name":"octocat"}', `{"email":"${ADA}"}`],
      ])
        t.equal((await send(hook.path, body)).status, 200)
      const all = (await logs()).toReversed()
      t.strictSame(
        all.map(({ externalId, name, email }) => [externalId, name, email]),
        [
          ...[
            [hook.hookId, 'Ada', null],
            [hook.hookId, 'Bob', null],
            [hook.hookId, null, null],
          ],
          ...[
            [hook.hookId, null, null],
            ['583231', 'octocat', null],
            [null, null, ADA],
          ],
        ],
      )
      t.equal(new Set(all.map(({ prospectId }) => prospectId)).size, 3)
      const shared = (await call(`GET /v0/prospects/${all[0]?.['prospectId']}`)).json
      t.match(shared, { externalId: hook.hookId, name: 'github', email: null })
      const other = await create({ verify: { token: true } })
      for (const body of ['{}', '{}']) await send(other.path, body)
      t.equal(new Set((await logs()).map(({ prospectId }) => prospectId)).size, 5)
      const stored = await store.hooks.find({ tenantId, hookId: hook.hookId })
      t.match(JSON.parse(stored?.rules.rawJson ?? ''), { unidentified: 'shared' })
    })

    t.test('an email that is a placeholder of the tenant belongs to that person, too', async (t) => {
      const { create, send, logs, store, tenantId } = await openHooks(t, kind)
      const value = 'noreply@shop.example'
      const hash = createHash('sha256').update(value).digest('base64url')
      await store.placeholders.add({ tenantId, kind: 'email', hash, value }, null, '2026-11-20T10:00:00.000Z')
      const hook = await create({
        verify: { token: true },
        map: { ...MAP, idempotencyKey: ['/id'] },
        each: '',
        unidentified: 'shared',
      })
      for (const body of ['{}', `{"email":"${value}","id":"1"}`, `{"email":"${value}","id":"1"}`])
        t.equal((await send(hook.path, body)).status, 200)
      const all = await logs()
      t.equal(all.length, 2, 'the last one is a replay')
      const shared = { email: value, externalId: hook.hookId, prospectId: all[1]?.['prospectId'] }
      t.match(all[0], shared)
      await send(hook.path, `[{"email":"${ADA}"},{"email":"${value}","id":"2"}]`)
      t.match(await logs(), [shared, { email: ADA, externalId: null }, shared])
    })

    t.test('the type of what a form sends is form_submitted, unless a place leads to one', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const byToken = { verify: { token: true }, map: MAP }
      for (const [fields, body, type] of [
        [{ trap: 'website' }, 'email=a', 'form_submitted'],
        [{ redirectTo: 'https://example.com' }, 'email=a', 'form_submitted'],
        [{ origins: ['*'] }, 'type=quote', 'quote'],
        [{}, 'email=a', 'webhook'],
      ] as const) {
        const { path } = await create({ ...byToken, ...fields })
        await send(path, ...form(body))
        t.match((await logs())[0], { type })
      }
    })

    t.test('a filled trap stores nothing, and the answer does not show it', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const { path } = await create({ verify: { token: true }, map: MAP, trap: 'a/b~' })
      const shape = { prospectLogIds: [/^prospectlog_[a-z0-9]{26}$/], replayed: false }
      const filled = [
        ...[form('a/b~=x'), form('a/b~=&a/b~=1'), json('{"a/b~":"x"}'), json('{"a/b~":true}')],
        multipart(`${part('a/b~', 'x')}--X--`),
      ]
      for (const [body, headers] of filled) t.match((await send(path, body, headers)).json, shape)
      const many = 'x=1&'.repeat(1_001)
      const filledUnread = [
        ...[form(`${many}a/b~=x`), form(`a%2Fb%7e=&${many}a%2fb~=%20x`), form(`a/b~=x&${many}`)],
        multipart(`${part('x', '1').repeat(1_001)}${part('a/b~', 'x')}--X--`),
        ...[multipart(part('a/b~', 'x')), multipart(`${part('a/b~', 'x')}--X--`, '')],
        multipart(`--X\r\nnonsense\r\n${part('a/b~', '', '; filename=""')}${part('a/b~', 'x')}--X--`),
        ofType('text/plain', `email=${ADA}\r\na/b~=x\r\n`),
        encodedAs('nonsense', Buffer.from('a/b~=x'), FORM),
      ]
      for (const [body, headers] of filledUnread) t.match((await send(path, body, headers)).json, shape)
      t.strictSame(await logs(), [])
      const empty = [
        form('a/b~=&email=e'),
        form('a/b~=+'),
        json('{"a/b~":null}'),
        json('{"a/b~":false}'),
        json('{}'),
        ...[form(`${many}a/b~=`), form(`${many}a/b~=+%20`), form(`${many}c/b~=x&xa/b~=y`)],
        ...[multipart(part('a/b~', '')), multipart(`${part('a/b~', ' ')}${part('email', 'e')}`)],
        multipart(`${part('x', 'a/b~')}${part('xa/b~', 'x')}`),
        ofType('text/plain', `email=${ADA}\r\na/b~=\r\n`),
      ]
      for (const [body, headers] of empty) t.match((await send(path, body, headers)).json, shape)
      t.equal((await logs()).length, empty.length)
    })
  },
  ['memory', 'sqlite', 'postgres'],
)
