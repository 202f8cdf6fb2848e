import t from 'tap'
import { openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
import { someProspect } from '../../support/rows.ts'
import { idOf } from '../../support/setting.ts'

const LOG = 'POST /v0/prospect_logs'
const LOGS = 'GET /v0/prospect_logs'
const PEOPLE = 'GET /v0/prospects'
const PAYLOAD = '{ "n":12345678901234567890,\n"a":1,"a":2 }'
const activity = { source: 'crm', payload: {} }

/** A scene with an activity of Ada. */
const setUp = async () => {
  const scene = await openScene()
  const log = async (fields: object = {}) =>
    (await scene.call(LOG, { json: { ...activity, ...fields } })).json
  const { prospectId, prospectLogId } = await log({ email: ' Ada@x ', name: 'Ada', idempotencyKey: 'one' })
  const { tenantId } = scene.owner
  const ada = { prospectId, tenantId, email: 'ada@x', externalId: null, name: 'Ada', ...times(0) }
  const change = (json: unknown, id = prospectId) => scene.call(`PATCH /v0/prospects/${id}`, { json })
  return { ...scene, log, ada, prospectLogId, timeline: `${PEOPLE}/${prospectId}/prospect_logs`, change }
}
const START = Date.UTC(2026, 0, 1)
const iso = (ms: number) => new Date(START + ms).toISOString()
const times = (ms: number) => ({ createdAt: iso(0), updatedAt: iso(ms) })

t.test('200: a prospect and its activities read back as they were logged', async (t) => {
  const { call, ada, prospectLogId, timeline } = await setUp()
  const log = {
    prospectLogId,
    prospectId: ada.prospectId,
    tenantId: ada.tenantId,
    source: 'crm',
    type: 'webhook',
    payload: {},
    email: ' Ada@x ',
    name: 'Ada',
    externalId: null,
    idempotencyKey: 'one',
    occurredAt: iso(0),
    createdAt: iso(0),
    createdProspect: true,
  }
  t.strictSame((await call(`${PEOPLE}/${ada.prospectId}`)).json, ada)
  t.strictSame((await call(PEOPLE)).json, { items: [ada], hasMore: false })
  const answer = await call(`${LOGS}/${prospectLogId}`)
  t.strictSame(answer.json, log)
  t.strictSame(Object.keys(answer.json), Object.keys(log), 'in the order of the specification')
  for (const list of [LOGS, timeline]) t.strictSame((await call(list)).json, { items: [log], hasMore: false })
})

t.test('200: a payload is answered byte for byte', async (t) => {
  const { call } = await openScene()
  const body = `{"source":"crm","prospectId":null,"payload":${PAYLOAD}}`.replace('"prospectId":null,', '')
  const { prospectId, prospectLogId } = (await call(LOG, { body })).json
  for (const target of [`${LOGS}/${prospectLogId}`, LOGS, `${PEOPLE}/${prospectId}/prospect_logs`])
    t.ok((await call(target)).body.includes(`"payload":${PAYLOAD},`), target)
})

t.test('200: a normalised email finds its prospect; a blank or placeholder finds none', async (t) => {
  const { call, ada, log } = await setUp()
  await log()
  for (const [email, items] of [
    ['ada@x', [ada]],
    ['%20ADA@X', [ada]],
    ['ada', []],
    ['', []],
    ['n/a', []],
  ] as const)
    t.strictSame((await call(`${PEOPLE}?email=${email}`)).json, { items, hasMore: false }, email)
})

t.test(
  '200: a search finds people by a prefix, at most 100 in a slice, and continues with a cursor',
  async (t) => {
    const { call, ada, log, change } = await setUp()
    const idsOf = async (query: string) => {
      const { json } = await call(`${PEOPLE}?${query}`)
      t.equal(json.hasMore, false)
      t.notOk('nextCursor' in json)
      return (json.items as { prospectId: string }[]).map(({ prospectId }) => prospectId)
    }
    t.strictSame((await call(`${PEOPLE}?search=AD`)).json, { items: [ada], hasMore: false })
    const many: string[] = []
    for (let i = 0; i < 120; i++) {
      const { prospectId } = await log({ email: `many${i}@x`, name: `No ${i} Mány` })
      many.unshift(String(prospectId))
    }
    t.strictSame(await idsOf('search=many'), many.slice(0, 100))
    t.strictSame(await idsOf('search=m%C3%A1ny&limit=7'), many.slice(0, 7))
    await change({ name: 'Ada King', email: 'countess@x' })
    t.strictSame([await idsOf('search=ada@'), await idsOf('search=kin')], [[], [ada.prospectId]])
    const [survivor = ''] = many
    await call(`POST ${PEOPLE.slice(4)}/${ada.prospectId}/merge`, { json: { into: survivor } })
    t.strictSame([await idsOf('search=kin'), await idsOf('search=countess')], [[], [survivor]])
    await call('POST /v0/erasures', { json: { prospectId: survivor } })
    t.strictSame([await idsOf('search=countess'), await idsOf('search=many119')], [[], []])
    t.equal(((await call(PEOPLE)).json.items as unknown[]).length, 20)
  },
)

t.test('400: a search that is too short or too long, or beside another filter', async (t) => {
  const { call } = await setUp()
  for (const [query, parameter] of [
    ['search=a', 'search'],
    ['search=', 'search'],
    [`search=${'a'.repeat(101)}`, 'search'],
    ['search=ada&email=ada@x', 'email'],
    ['search=ada&externalId=a', 'externalId'],
    ['search=ada&cursor=a', 'cursor'],
  ] as const) {
    const { status, json } = await call(`${PEOPLE}?${query}`)
    t.match(
      { status, json },
      { status: 400, json: { code: 'invalid_request', errors: [{ parameter }] } },
      query,
    )
  }
})

t.test('200: a list continues at its cursor, only with the same filter', async (t) => {
  const { call, log, timeline, ada } = await setUp()
  const { prospectId } = ada
  for (const type of ['a', 'b', 'a']) await log({ prospectId, type, occurredAt: iso(type === 'a' ? 9 : 5) })
  await log()
  const walk = async (list: string) => {
    const types: unknown[] = []
    let cursor = ''
    do {
      const { json } = await call(`${list}limit=1${cursor}`)
      for (const item of json.items as { type?: string; prospectId: string }[])
        types.push(item.type ?? item.prospectId)
      cursor = json.nextCursor === undefined ? '' : `&cursor=${json.nextCursor}`
    } while (cursor !== '')
    return types.join(' ')
  }
  t.equal(await walk(`${LOGS}?`), 'webhook a b a webhook')
  t.equal(await walk(`${LOGS}?type=a&`), 'a a')
  t.equal(await walk(`${timeline}?`), 'a a b webhook')
  t.equal(await walk(`${timeline}?source=crm&type=b&`), 'b')
  t.equal((await walk(`${PEOPLE}?`)).split(' ').length, 2)
  const cursorOf = async (list: string) => (await call(`${list}limit=1`)).json.nextCursor
  for (const [from, to] of [
    [`${LOGS}?`, `${LOGS}?type=a&`],
    [`${LOGS}?type=a&`, `${LOGS}?`],
    [`${LOGS}?`, `${timeline}?`],
    [`${timeline}?`, `${timeline}?since=2020-01-01T00:00:00Z&`],
    [`${timeline}?`, `${PEOPLE}/${idOf('prospect', 999)}/prospect_logs?`],
    [`${PEOPLE}?`, `${PEOPLE}?email=ada@x&`],
    [`${PEOPLE}?`, `${LOGS}?`],
  ] as const) {
    const answer = await call(`${to}cursor=${await cursorOf(from)}`)
    t.match(answer, { status: 400, json: { code: 'invalid_cursor' } }, `${from} ${to}`)
  }
})

t.test(
  '200: since and until bound a timeline by occurredAt; since is inclusive, until exclusive',
  async (t) => {
    const { call, log, timeline, ada } = await setUp()
    for (const ms of [1_000, 2_000, 3_000])
      await log({ prospectId: ada.prospectId, type: `${ms}`, occurredAt: iso(ms) })
    const typesIn = async (query: string) =>
      ((await call(`${timeline}?${query}`)).json.items as { type: string }[])
        .map(({ type }) => type)
        .join(' ')
    t.equal(await typesIn(`since=${iso(2_000)}`), '3000 2000')
    t.equal(await typesIn(`until=${iso(2_000)}`), '1000 webhook')
    t.equal(await typesIn('since=2026-01-01T01:00:01%2B01:00&until=2026-01-01T00:00:02.001Z'), '2000 1000')
    t.equal(await typesIn(`since=${iso(2_000)}&until=${iso(2_000)}`), '')
    t.equal(await typesIn(`since=${iso(3_000)}&until=${iso(1_000)}`), '')
  },
)

t.test('200: a source and an idempotency key find an activity that arrived', async (t) => {
  const { call, prospectLogId } = await setUp()
  t.match((await call(`${LOGS}?source=crm&idempotencyKey=one`)).json, {
    items: [{ prospectLogId }],
    hasMore: false,
  })
  for (const query of ['source=shop&idempotencyKey=one', 'source=crm&idempotencyKey=two'])
    t.strictSame((await call(`${LOGS}?${query}`)).json, { items: [], hasMore: false })
})

t.test('200: a correction overwrites, null clears, and omitted fields stay', async (t) => {
  const { call, clock, ada, change } = await setUp()
  clock.advance(5)
  t.strictSame((await change({})).json, ada, 'nothing to change')
  t.strictSame((await change({ name: 'Grace' })).json, { ...ada, name: 'Grace', ...times(5) })
  const moved = { ...ada, name: 'Grace', email: 'é@x', ...times(6) }
  t.strictSame((await change({ email: ' E\u0301@X' })).json, moved)
  t.strictSame((await call(`${PEOPLE}/${ada.prospectId}`)).json, moved)
  const cleared = { ...moved, email: null, name: null, ...times(7) }
  t.strictSame((await change({ email: null, name: null })).json, cleared)
  t.strictSame((await call(`${PEOPLE}?email=ada@x`)).json, { items: [], hasMore: false })
})

t.test('201: after a correction an activity with the old email is a new prospect’s, at once', async (t) => {
  const { log, ada, change } = await setUp()
  t.equal((await log({ email: 'ada@x' })).prospectId, ada.prospectId)
  t.equal((await log({ email: 'ada@x' })).prospectId, ada.prospectId, 'remembered')
  await change({ email: 'grace@x', name: null })
  t.equal((await log({ email: 'grace@x', name: 'Grace' })).prospectId, ada.prospectId)
  const { prospectId, createdProspect } = await log({ email: 'ada@x' })
  t.ok(createdProspect)
  t.not(prospectId, ada.prospectId)
  const taken = await change({ email: 'ADA@x' })
  t.strictSame(
    taken.json,
    problemFor(taken, 'email_taken', 409, 'Another prospect has this email.', { prospectId }),
  )
  t.match(
    (await change({ email: 'grace@x' })).json,
    { email: 'grace@x', name: 'Grace' },
    'its own is not taken',
  )
})

t.test('201 and 200: a prospect is created once, and its empty fields are filled', async (t) => {
  const { call, ada, clock } = await setUp()
  const create = (json: unknown, headers = {}) => call('POST /v0/prospects', { json, headers })
  const sent = { externalId: 'crm 1', email: 'ADA@x', name: 'Eve' }
  clock.advance(5)
  const known = { ...ada, externalId: 'crm 1', ...times(5) }
  t.match(await create(sent), { status: 200, json: known })
  clock.advance(5)
  t.match(await create(sent, { 'idempotency-key': 'one' }), { status: 200, json: known })
  const { status, json } = await create({ externalId: 'crm 2', email: 'ada@x' })
  const { prospectId } = json
  t.strictSame([status, json.email, json.name], [201, null, null])
  t.match((await call(`${PEOPLE}?externalId=crm%202`)).json, { items: [{ prospectId }], hasMore: false })
  t.strictSame((await call(`${PEOPLE}?externalId=CRM%202`)).json, { items: [], hasMore: false })
  const taken = await call(`PATCH /v0/prospects/${prospectId}`, { json: { externalId: 'crm 1' } })
  const facts = { prospectId: ada.prospectId }
  t.strictSame(
    taken.json,
    problemFor(taken, 'external_id_taken', 409, 'Another prospect has this external id.', facts),
  )
})

t.test('400: a prospect needs an external id or a usable email', async (t) => {
  const { call } = await setUp()
  const missing = { detail: 'is required without an email', pointer: '/externalId' }
  for (const [json, fault] of [
    [{}, missing],
    [{ name: 'Ada' }, missing],
    [{ externalId: 'N/A' }, { detail: 'is blank or a placeholder', pointer: '/externalId' }],
    [{ email: 'Berlin' }, { detail: 'is not an email address', pointer: '/email' }],
  ] as const) {
    const answer = await call('POST /v0/prospects', { json })
    const detail = 'A prospect needs an external id or an email.'
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, detail, { errors: [fault] }))
  }
})

t.test('400: every error of a query or a body is named', async (t) => {
  const { call, timeline, change } = await setUp()
  for (const [target, ...parameters] of [
    [`${PEOPLE}?limit=0`, 'limit'],
    [`${PEOPLE}?email=a&email=b`, 'email'],
    [`${LOGS}?since=yesterday&until=2026-13-01T00:00:00Z`, 'since', 'until'],
    [`${LOGS}?source=&type=${'x'.repeat(101)}`, 'source', 'type'],
    [`${LOGS}?idempotencyKey=one`, 'source'],
    [`${PEOPLE}?email=a&externalId=1`, 'externalId'],
    [`${PEOPLE}?externalId=`, 'externalId'],
    [`${timeline}?since=2026-01-01T00:00:00&limit=x`, 'limit', 'since'],
  ] as const) {
    const { status, json } = await call(target)
    const errors = json.errors as { parameter: string }[]
    t.strictSame([status, errors.map(({ parameter }) => parameter).sort()], [400, parameters], target)
  }
  for (const [json, ...pointers] of [
    [{ email: 7, name: '' }, '/email', '/name'],
    [{ email: ' ' }, '/email'],
    [{ email: 'N/A' }, '/email'],
    [{ externalId: 'x'.repeat(256) }, '/externalId'],
    [{ externalId: ' null ' }, '/externalId'],
    [{ name: 'a\0' }, '/name'],
  ] as const) {
    const answer = await change(json)
    const errors = answer.json.errors as { pointer: string }[]
    t.strictSame([answer.status, errors.map(({ pointer }) => pointer)], [400, pointers])
  }
  const wrong = await change({ name: 7 })
  t.equal(wrong.json.detail, SEE_ERRORS)
})

t.test('410: an erased prospect is gone', async (t) => {
  const erasedAt = iso(1)
  const { call } = await openScene({
    storeAs: (store) => ({
      ...store,
      prospects: {
        ...store.prospects,
        find: async (want) => ({ ...someProspect(want.tenantId), ...want, mergedInto: null, erasedAt }),
        update: async () => null,
      },
      prospectLogs: { ...store.prospectLogs, timeline: async () => 'prospect_erased' },
    }),
  })
  const path = `/v0/prospects/${idOf('prospect', 1)}`
  for (const answer of [
    await call(`GET ${path}`),
    await call(`GET ${path}/prospect_logs`),
    await call(`PATCH ${path}`, { json: { name: 'Ada' } }),
  ])
    t.strictSame(answer.json, problemFor(answer, 'prospect_erased', 410, 'The prospect was erased.'))
})

t.test('200: a prospect is merged, and its id now leads to the survivor', async (t) => {
  const { call, ada, log, timeline } = await setUp()
  const prospectId = String((await log({ email: 'grace@x', externalId: 'G-1' })).prospectId)
  const adaId = String(ada.prospectId)
  const merge = (from: string, json: object) => call(`POST /v0/prospects/${from}/merge`, { json })
  const answer = await merge(prospectId, { into: ada.prospectId })
  t.equal(answer.status, 200)
  t.strictSame(answer.json, { ...ada, externalId: 'G-1', updatedAt: answer.json['updatedAt'] })
  t.strictSame((await call(`${PEOPLE}/${prospectId}`)).json, answer.json)
  t.strictSame((await call(`${PEOPLE}?email=grace@x`)).json, { items: [answer.json], hasMore: false })
  t.match((await call(timeline)).json, { items: { length: 2 }, hasMore: false })
  t.strictSame((await merge(prospectId, { into: ada.prospectId })).json, answer.json, 'again')
  for (const [from, into, status, code] of [
    [adaId, adaId, 400, 'invalid_request'],
    [adaId, prospectId, 400, 'invalid_request'],
    [adaId, idOf('prospect', 9), 404, 'prospect_not_found'],
    [idOf('prospect', 9), adaId, 404, 'prospect_not_found'],
  ] as const) {
    const refused = await merge(from, { into })
    t.match([refused.status, refused.json], [status, { code }])
  }
  t.equal((await merge(prospectId, {})).status, 400)
  await call('POST /v0/erasures', { json: { prospectId } })
  t.equal((await merge(String((await log()).prospectId), { into: prospectId })).status, 410)
})
