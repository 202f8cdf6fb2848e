import t from 'tap'
import { SCOPES, type Scope } from '../../../src/core/ports/api-keys.ts'
import { caller, openScene, SEE_ERRORS } from '../../support/api.ts'

const LOG = 'POST /v0/prospect_logs'
const CREATE = 'POST /v0/prospects'

/** A tenant whose people have attributes. */
const openAttributes = async (...scopes: readonly Scope[]) => {
  const scene = await openScene()
  const key = await scene.keyWith(...SCOPES, ...scopes)
  const call = caller(scene.api, key)
  const log = async (attributes: unknown, fields: object = {}) => {
    const json = { source: 'crm', payload: {}, email: 'ada@x.example', attributes, ...fields }
    return (await call(LOG, { json })).json
  }
  /** The attributes of Ada, as a list shows them. */
  const attributes = async () => {
    const { json } = await call('GET /v0/prospects?email=ada@x.example')
    return (json['items'] as { attributes: object }[])[0]?.attributes
  }
  return { ...scene, call, log, attributes }
}

t.test('200: a person is shown with the attributes that were logged, digit by digit', async (t) => {
  const { call } = await openScene()
  const attributes = '{"company":"Engines","size":12345678901234567890,"price":1.50,"on":true}'
  const body = `{"source":"crm","payload":{},"email":"ada@x.example","attributes":${attributes}}`
  const { json } = await call(LOG, { body })
  const { body: read } = await call(`GET /v0/prospects/${json['prospectId']}`)
  t.ok(read.includes(`"attributes":${attributes}`), read)
  const { body: listed } = await call('GET /v0/prospects')
  t.ok(listed.includes(`"attributes":${attributes}`), listed)
})

t.test('201: POST /v0/prospects and its batch fill blanks, and overwrite nothing', async (t) => {
  const { call, attributes } = await openAttributes()
  const created = await call(CREATE, { json: { email: 'ada@x.example', attributes: { a: 1, b: null } } })
  t.match(created, { status: 201, json: { attributes: { a: 1 } } })
  const items = [
    { email: 'ada@x.example', attributes: { a: 2, b: 2 } },
    { email: 'ada@x.example', attributes: { b: 3, c: 3 } },
  ]
  const batch = await call('POST /v0/prospects/batch', { json: { items } })
  t.match(batch.json, { items: [{ prospect: { attributes: { a: 1, b: 2 } } }, { status: 200 }] })
  t.strictSame(await attributes(), { a: 1, b: 2, c: 3 })
})

t.test('201: an item of a batch of activities has attributes', async (t) => {
  const { call, attributes } = await openAttributes()
  const item = { source: 'crm', payload: {}, email: 'ada@x.example' }
  const items = [1, 2, 3].map((n) => ({ ...item, attributes: { [`n${n}`]: n, same: n } }))
  const { json } = await call('POST /v0/prospect_logs/batch', { json: { items: [...items, item] } })
  t.equal(json['accepted'], 4)
  t.strictSame(await attributes(), { n1: 1, same: 1, n2: 2, n3: 3 })
})

t.test('200: PATCH replaces attributes, and null removes one', async (t) => {
  const { call, log, attributes } = await openAttributes()
  const { prospectId } = await log({ a: 1, b: 2 })
  const { status, json } = await call(`PATCH /v0/prospects/${prospectId}`, {
    json: { attributes: { a: null, b: 'new', c: true } },
  })
  t.match({ status, json }, { status: 200, json: { attributes: { b: 'new', c: true } } })
  t.strictSame(await attributes(), { b: 'new', c: true })
})

t.test(
  'a key with attributes:overwrite replaces attributes, by each way in the order of a batch',
  async (t) => {
    const { call, log, attributes } = await openAttributes('attributes:overwrite')
    await log({ a: 1, b: 1 })
    await log({ a: 2 })
    t.strictSame(await attributes(), { a: 2, b: 1 })
    await call(CREATE, { json: { email: 'ada@x.example', attributes: { b: 3 } } })
    t.strictSame(await attributes(), { a: 2, b: 3 })
    const item = { source: 'crm', payload: {}, email: 'ada@x.example' }
    const items = [1, 2, 1].map((a) => ({ ...item, attributes: { a } }))
    await call('POST /v0/prospect_logs/batch', { json: { items } })
    t.strictSame(await attributes(), { a: 1, b: 3 })
    await call('POST /v0/prospects/batch', {
      json: { items: [5, 6, 5].map((b) => ({ email: 'ada@x.example', attributes: { b } })) },
    })
    t.strictSame(await attributes(), { a: 1, b: 5 })
  },
)

t.test(
  'an activity under a known key is the same request with the same attributes, in any order',
  async (t) => {
    const { call, log } = await openAttributes()
    const key = { idempotencyKey: '1' }
    const first = await log({ a: 1, b: 2 }, key)
    t.strictSame(await log({ b: 2, a: 1 }, key), first)
    const body = (attributes: unknown) => ({
      source: 'crm',
      payload: {},
      email: 'ada@x.example',
      attributes,
      ...key,
    })
    t.equal((await call(LOG, { json: body({ a: 1 }) })).status, 422)
    t.equal((await call(LOG, { json: body(undefined) })).status, 422)
  },
)

t.test('a receipt names the attributes beyond the fiftieth beside unknown members', async (t) => {
  const { log, attributes } = await openAttributes()
  const fifty = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`n${i}`, i]))
  t.notOk('ignored' in (await log(fifty)))
  const receipt = await log({ n1: 'x', company: 'Engines' }, { Name: 'Ada', name: 'Ada' })
  t.strictSame(receipt['ignored'], ['Name', 'attributes/company'])
  t.strictSame(await attributes(), fifty)
})

const LONG = 'x'.repeat(1_000)
const fiftyOf = (value: unknown) => Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`n${i}`, value]))
const FITTING: readonly object[] = [
  {},
  { [`${'😀'.repeat(64)}`]: '😀'.repeat(1_000) },
  { constructor: 'a', 'a.b/c': 'd', '~': 'e', prototype: 1 },
  fiftyOf(LONG),
  fiftyOf('\u0001'.repeat(1_000)),
]
for (const attributes of FITTING)
  t.test(`201: attributes such as ${JSON.stringify(attributes).slice(0, 40)} are stored`, async (t) => {
    const scene = await openAttributes()
    await scene.log(attributes)
    t.strictSame(await scene.attributes(), attributes)
  })

t.test('201: the name __proto__ is one like any other', async (t) => {
  const { call } = await openScene()
  const body = '{"source":"crm","payload":{},"email":"ada@x.example","attributes":{"__proto__":"a"}}'
  const { status, json } = await call(LOG, { body })
  t.equal(status, 201)
  const { body: read } = await call(`GET /v0/prospects/${json['prospectId']}`)
  t.ok(read.includes('"attributes":{"__proto__":"a"}'), read)
})

const OBJECT = { detail: 'must be an object', pointer: '/attributes' }
const SCALAR = 'must be a string, a number, a boolean or null'
const NAME = 'must have a name of 1 to 64 characters that is not blank'
const STORABLE = 'must not contain a NUL character or an unpaired surrogate'
const REFUSED: readonly (readonly [sent: string, error: object])[] = [
  ['[]', OBJECT],
  ['null', OBJECT],
  ['"company"', OBJECT],
  ['{"a":{}}', { detail: SCALAR, pointer: '/attributes/a' }],
  ['{"a/b~":[1]}', { detail: SCALAR, pointer: '/attributes/a~1b~0' }],
  ['{"__proto__":{}}', { detail: SCALAR, pointer: '/attributes/__proto__' }],
  ['{"":1}', { detail: NAME, pointer: '/attributes/' }],
  ['{" ":1}', { detail: NAME, pointer: '/attributes/ ' }],
  [`{"${'x'.repeat(65)}":1}`, { detail: NAME, pointer: `/attributes/${'x'.repeat(65)}` }],
  ['{"a":"\\u0000"}', { detail: STORABLE, pointer: '/attributes/a' }],
  ['{"a":"\\ud800"}', { detail: STORABLE, pointer: '/attributes/a' }],
  [`{"a":"${LONG}x"}`, { detail: 'must be 0 to 1000 characters long', pointer: '/attributes/a' }],
  [
    `{"a":1${'0'.repeat(1_000)}}`,
    { detail: 'must be at most 1000 characters long', pointer: '/attributes/a' },
  ],
  [
    JSON.stringify({ ...fiftyOf(1), more: 1 }),
    { detail: 'must have at most 50 members', pointer: '/attributes' },
  ],
  // A long text that would not be parsed if it were kept as it is.
  [
    JSON.stringify({ ...fiftyOf('\u0001'.repeat(1_000)), n0: [] }),
    { detail: SCALAR, pointer: '/attributes/n0' },
  ],
]
for (const [sent, error] of REFUSED)
  t.test(`400: attributes ${sent.slice(0, 30)} are refused with their place`, async (t) => {
    const { call, store } = await openScene()
    const body = `{"source":"crm","payload":{},"email":"ada@x.example","attributes":${sent}}`
    const answer = await call(LOG, { body })
    t.equal(answer.status, 400)
    t.strictSame(answer.json['errors'], [error])
    t.equal(store.kept.logs().length, 0)
  })

t.test('409: PATCH refuses a fifty-first attribute', async (t) => {
  const { call, log } = await openAttributes()
  const { prospectId } = await log(fiftyOf(1))
  const answer = await call(`PATCH /v0/prospects/${prospectId}`, { json: { attributes: { more: 1 } } })
  t.match(answer.json, { code: 'limit_reached', detail: 'A prospect has at most 50 attributes.' })
})

t.test('400: all errors of the attributes are returned at once', async (t) => {
  const { call } = await openScene()
  const answer = await call(CREATE, { json: { email: 'ada@x.example', attributes: { a: [], b: {} } } })
  t.match(answer.json, {
    detail: SEE_ERRORS,
    errors: [{ pointer: '/attributes/a' }, { pointer: '/attributes/b' }],
  })
})

t.test('200: a search returns as many people as fit into one slice', async (t) => {
  const { call, log } = await openAttributes()
  for (let i = 0; i < 12; i++) await log(fiftyOf('é'.repeat(1_000)), { email: `ada${i}@x.example` })
  const { json } = await call('GET /v0/prospects?search=ada')
  t.equal((json['items'] as object[]).length, 10)
  t.equal(json['hasMore'], false)
  t.notOk('nextCursor' in json)
})
