import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { opened, overStores } from '../support/stores.ts'
import { always, openFuzz } from './scene.ts'
import { nearly } from './targets.ts'
import { anyText, PROTOTYPE_NAMES, textUpTo } from './texts.ts'

const LOG = '/v0/prospect_logs'
const ACTIVITY = Buffer.from('{"source":"crm","payload":{}}')
const PAGE = Buffer.from('{}')
/** Header values come from the socket byte by byte. */
const asHeader = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')
const inUtf8 = (text: fc.Arbitrary<string>) => text.map((text) => Buffer.from(text.toWellFormed()))
const bytes = fc.oneof(
  { weight: 4, arbitrary: inUtf8(textUpTo(255)) },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 6 }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }) },
  { weight: 1, arbitrary: inUtf8(anyText) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom('', 'ff', 'c3', 'c328', 'eda080', 'efbfbd', 'efbbbf61', '00', 'f4908080')
      .map((hex) => Buffer.from(hex, 'hex')),
  },
)

overStores(
  async (t, kind) => {
    const world = await openFuzz(await opened(t, kind))
    const { pageGroupId } = await world.newGroup()

    t.test('the header Idempotency-Key is any 1 to 255 characters of UTF-8, and kept as sent', async (t) => {
      const kept = new Set<string>()
      const property = fc.asyncProperty(bytes, async (bytes) => {
        const headers = { 'idempotency-key': asHeader(bytes) }
        const text = Buffer.from(bytes).toString()
        const isKey = isUtf8(bytes) && text.length > 0 && [...text].length <= 255 && !text.includes('\0')
        for (const target of [LOG, `/v0/page_groups/${pageGroupId}/pages`]) {
          const body = target === LOG ? ACTIVITY : PAGE
          const { status, code, faults } = await world.ask('POST', target, { headers, body })
          if (isKey) assert.equal(status, 201)
          else assert.deepEqual([code, faults], ['invalid_request', ['Idempotency-Key']])
        }
        if (isKey) kept.add(text)
        await world.stillFine()
      })
      await always(t, property, 200)
      const { logs } = await world.kept()
      t.strictSame(logs.map(({ idempotencyKey }) => idempotencyKey).sort(), [...kept].sort())
    })
  },
  ['memory', 'sqlite'],
)

overStores(
  async (t, kind) => {
    const world = await openFuzz(await opened(t, kind))

    t.test('a body is read exactly when it is said to be JSON in UTF-8 without an encoding', async (t) => {
      const taken = fc.constantFrom('application/json', 'Application/JSON', 'application/json ')
      const other = fc.oneof(
        fc.constantFrom(
          '',
          'text/json',
          'application/x-json',
          'application/json5',
          'application/json,text/plain',
        ),
        nearly(fc.constant('application/json')),
        anyText,
      )
      const good = [
        '',
        ';charset=utf-8',
        '; charset="UTF-8"',
        ';charset=UTF8',
        '; profile=x',
        ' ; x="a,b"',
        ';',
      ]
      const bad = [';charset=latin1', '; charset="utf-16"', ';CHARSET=us-ascii', ';a=b; charset=utf-7']
      const encodings = [
        undefined,
        undefined,
        'identity',
        ' Identity ',
        'gzip',
        'br',
        'identity, gzip',
        '*',
        '',
      ]
      const property = fc.asyncProperty(
        fc.oneof({ weight: 3, arbitrary: taken }, { weight: 1, arbitrary: other }),
        fc.constantFrom(...good, ...good, ...bad),
        fc.constantFrom(...encodings),
        async (type, parameters, encoding) => {
          const headers = { 'content-type': type + parameters, 'content-encoding': encoding }
          const { code } = await world.ask('POST', LOG, { headers, body: ACTIVITY })
          const isTaken =
            (type + parameters).split(';')[0]?.trimEnd().toLowerCase() === 'application/json' &&
            !bad.includes(parameters) &&
            (encoding ?? 'identity').trim().toLowerCase() === 'identity'
          assert.equal(code, isTaken ? null : 'unsupported_media_type')
          await world.stillFine()
        },
      )
      await always(t, property, 300)
    })

    t.test('a key that is not the very key is no key', async (t) => {
      const key = fc.oneof(
        nearly(fc.constant(world.apiKey)),
        nearly(nearly(fc.constant(world.apiKey))),
        fc.constantFrom(
          `${world.apiKey}\n`,
          ` ${world.apiKey}`,
          `${world.apiKey}, ${world.apiKey}`,
          '',
          'pp_',
        ),
        fc.constantFrom(world.apiKey.toUpperCase(), world.apiKey.toLowerCase(), ...PROTOTYPE_NAMES),
        fc.stringMatching(/^pp_[0-9A-Za-z]{36}$/),
        anyText,
      )
      const property = fc.asyncProperty(key, async (key) => {
        const { status, code } = await world.ask('GET', '/v0/page_groups', { headers: { 'x-api-key': key } })
        if (key === world.apiKey) assert.equal(status, 200)
        else assert.equal(code, key === '' ? 'missing_api_key' : 'invalid_api_key')
        await world.stillFine()
      })
      await always(t, property, 300)
    })

    t.test(
      'an id or a trace of any text refuses nothing, and comes back only where it is sane',
      async (t) => {
        const sane = fc.stringMatching(/^[A-Za-z0-9._-]{1,128}$/)
        const valid = fc.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/)
        const written = (text: fc.Arbitrary<string>) => text.map((text) => asHeader(Buffer.from(text)))
        const id = fc.oneof(sane, written(nearly(sane)), written(anyText), fc.array(sane))
        const trace = fc.oneof(valid, written(nearly(valid)), written(anyText), fc.array(valid))
        const property = fc.asyncProperty(id, trace, async (id, traceparent) => {
          const headers = { 'x-request-id': id, traceparent }
          const answer = await world.ask('POST', LOG, { headers, body: ACTIVITY })
          assert.equal(answer.status, 201)
          const isSane = typeof id === 'string' && /^[\w.-]{1,128}$/.test(id)
          assert.equal(answer.headers['x-request-id'] === id, isSane)
        })
        await always(t, property, 300)
      },
    )

    t.test('headers that nobody asked for change nothing', async (t) => {
      const name = fc.oneof(
        fc.constantFrom(
          ...PROTOTYPE_NAMES,
          'host',
          'expect',
          'connection',
          'upgrade',
          'accept',
          'range',
          'if-match',
        ),
        fc.stringMatching(/^x-[a-z]{1,5}$/),
      )
      const text = anyText.map((text) => asHeader(Buffer.from(text)))
      const headers = fc.array(fc.tuple(name, fc.oneof(text, fc.array(text))), { maxLength: 5 })
      const property = fc.asyncProperty(headers, async (headers) => {
        const { status } = await world.ask('POST', LOG, {
          headers: Object.fromEntries(headers),
          body: ACTIVITY,
        })
        assert.equal(status, 201)
      })
      await always(t, property, 200)
    })
  },
  ['memory'],
)
