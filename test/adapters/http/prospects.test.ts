import t from 'tap'
import { openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
import { someProspect } from '../../support/rows.ts'
import { idOf } from '../../support/setting.ts'
import { at, NO_OTHERS, openAdaScene } from './prospect-scene.ts'

t.test('200: a prospect reads back as it was logged', async (t) => {
  const { get, ada } = await openAdaScene()
  t.strictSame((await get(`/v0/prospects/${ada.prospectId}`)).json, { ...ada, ...NO_OTHERS })
  t.strictSame((await get('/v0/prospects')).json, { items: [ada], hasMore: false })
})

t.test('200: an activity reads back as it was logged', async (t) => {
  const { get, ada, adasLogId, adasTimeline } = await openAdaScene()
  const log = {
    prospectLogId: adasLogId,
    prospectId: ada.prospectId,
    tenantId: ada.tenantId,
    source: 'crm',
    type: 'webhook',
    payload: {},
    email: ' Ada@x ',
    name: 'Ada',
    externalId: null,
    idempotencyKey: 'one',
    occurredAt: at(0),
    createdAt: at(0),
    createdProspect: true,
  }
  const answer = await get(`/v0/prospect_logs/${adasLogId}`)
  t.strictSame(answer.json, log)
  t.strictSame(Object.keys(answer.json), Object.keys(log), 'in the order of the specification')
  for (const list of ['/v0/prospect_logs', adasTimeline])
    t.strictSame((await get(list)).json, { items: [log], hasMore: false }, list)
})

t.test('200: a payload is answered byte for byte', async (t) => {
  const { call } = await openScene()
  const payload = '{ "n":12345678901234567890,\n"a":1,"a":2 }'
  const logged = await call('POST /v0/prospect_logs', { body: `{"source":"crm","payload":${payload}}` })
  const { prospectId, prospectLogId } = logged.json
  for (const path of [
    `/v0/prospect_logs/${prospectLogId}`,
    '/v0/prospect_logs',
    `/v0/prospects/${prospectId}/prospect_logs`,
  ])
    t.ok((await call(`GET ${path}`)).body.includes(`"payload":${payload},`), path)
})

t.test('200: a normalised email finds its prospect', async (t) => {
  const { get, log, ada } = await openAdaScene()
  await log()
  for (const email of ['ada@x', '%20ADA@X'])
    t.strictSame((await get(`/v0/prospects?email=${email}`)).json, { items: [ada], hasMore: false }, email)
})

t.test('200: part of an email, a blank or a placeholder finds no prospect', async (t) => {
  const { get, log } = await openAdaScene()
  await log()
  for (const email of ['ada', '', 'n/a'])
    t.strictSame((await get(`/v0/prospects?email=${email}`)).json, { items: [], hasMore: false }, email)
})

t.test('200: an external id finds its prospect only in the same case', async (t) => {
  const { get, log } = await openAdaScene()
  const { prospectId } = await log({ externalId: 'crm 2' })
  t.match((await get('/v0/prospects?externalId=crm%202')).json, { items: [{ prospectId }], hasMore: false })
  t.strictSame((await get('/v0/prospects?externalId=CRM%202')).json, { items: [], hasMore: false })
})

t.test('200: a correction overwrites the sent fields, and the others stay', async (t) => {
  const { get, clock, ada, correctAda } = await openAdaScene()
  clock.advance(5)
  const corrected = { ...ada, name: 'Grace', updatedAt: at(5) }
  t.strictSame((await correctAda({ name: 'Grace' })).json, corrected)
  t.strictSame((await get(`/v0/prospects/${ada.prospectId}`)).json, { ...corrected, ...NO_OTHERS })
})

t.test('200: a correction without fields changes nothing', async (t) => {
  const { clock, ada, correctAda } = await openAdaScene()
  clock.advance(5)
  t.strictSame((await correctAda({})).json, ada)
})

t.test('200: a corrected email is normalised', async (t) => {
  const { get, clock, ada, correctAda } = await openAdaScene()
  clock.advance(5)
  const corrected = { ...ada, email: 'é@x', updatedAt: at(5) }
  t.strictSame((await correctAda({ email: ' E\u0301@X' })).json, corrected)
  const read = { ...corrected, ...NO_OTHERS, formerEmails: ['ada@x'] }
  t.strictSame((await get(`/v0/prospects/${ada.prospectId}`)).json, read)
})

t.test('200: null clears a field, and a cleared email finds no one', async (t) => {
  const { get, clock, ada, correctAda } = await openAdaScene()
  clock.advance(5)
  const cleared = { ...ada, email: null, name: null, updatedAt: at(5) }
  t.strictSame((await correctAda({ email: null, name: null })).json, cleared)
  t.strictSame((await get('/v0/prospects?email=ada@x')).json, { items: [], hasMore: false })
})

t.test('200: each correction has a later time, even if the clock stands still', async (t) => {
  const { clock, correctAda } = await openAdaScene()
  clock.advance(5)
  t.equal((await correctAda({ name: 'Grace' })).json['updatedAt'], at(5))
  t.equal((await correctAda({ email: 'grace@x' })).json['updatedAt'], at(6))
  t.equal((await correctAda({ name: null })).json['updatedAt'], at(7))
})

/** The scene after Ada’s email was corrected. Activities had found her by the old one, which is remembered. */
const openCorrectedScene = async () => {
  const scene = await openAdaScene()
  const { log, correctAda } = scene
  const before = [await log({ email: 'ada@x' }), await log({ email: 'ada@x' })]
  await correctAda({ email: 'grace@x', name: null })
  return { ...scene, before }
}

t.test(
  '201: after a correction an activity with the new email is the same prospect’s, at once',
  async (t) => {
    const { log, ada, before } = await openCorrectedScene()
    for (const { prospectId } of before) t.equal(prospectId, ada.prospectId)
    t.equal((await log({ email: 'grace@x' })).prospectId, ada.prospectId)
  },
)

t.test('201: after a correction an activity with the old email is a new prospect’s, at once', async (t) => {
  const { log, ada } = await openCorrectedScene()
  const { prospectId, createdProspect } = await log({ email: 'ada@x' })
  t.ok(createdProspect)
  t.not(prospectId, ada.prospectId)
})

t.test('409: a correction to the email of another prospect names that prospect', async (t) => {
  const { log, correctAda } = await openCorrectedScene()
  const { prospectId } = await log({ email: 'ada@x' })
  const refused = await correctAda({ email: 'ADA@x' })
  const detail = 'Another prospect has this email.'
  t.strictSame(refused.json, problemFor(refused, 'email_taken', 409, detail, { prospectId }))
})

t.test('200: a correction to the email that a prospect has is not refused', async (t) => {
  const { log, correctAda } = await openCorrectedScene()
  await log({ email: 'grace@x', name: 'Grace' })
  t.match((await correctAda({ email: 'grace@x' })).json, { email: 'grace@x', name: 'Grace' })
})

/** The scene after Ada has got an external id. Returns how a prospect is created, too. */
const openKnownScene = async () => {
  const scene = await openAdaScene()
  const { call, clock, ada } = scene
  const create = (json: unknown, headers = {}) => call('POST /v0/prospects', { json, headers })
  clock.advance(5)
  const sent = { externalId: 'crm 1', email: 'ADA@x', name: 'Eve' }
  const created = await create(sent)
  const known = { ...ada, externalId: 'crm 1', updatedAt: at(5) }
  return { ...scene, create, sent, created, known }
}

t.test('200: creating a known prospect fills its empty fields, and overwrites none', async (t) => {
  const { created, known } = await openKnownScene()
  t.match(created, { status: 200, json: known })
})

t.test('200: creating a prospect again changes nothing', async (t) => {
  const { clock, create, sent, known } = await openKnownScene()
  clock.advance(5)
  t.match(await create(sent, { 'idempotency-key': 'one' }), { status: 200, json: known })
})

t.test('201: an unknown external id creates a prospect, without the email that another has', async (t) => {
  const { get, create, ada } = await openKnownScene()
  const { status, json } = await create({ externalId: 'crm 2', email: 'ada@x' })
  t.equal(status, 201)
  t.equal(json['email'], null)
  t.equal(json['name'], null)
  t.strictSame(json['conflicts'], [{ field: 'email', reason: 'taken', prospectId: ada.prospectId }])
  const found = await get('/v0/prospects?externalId=crm%202')
  t.match(found.json, { items: [{ prospectId: json['prospectId'] }], hasMore: false })
})

t.test('200: the email and the external id that a known prospect does not take are named', async (t) => {
  const { create, known } = await openKnownScene()
  for (const { sent, conflicts } of [
    { sent: { externalId: 'crm 1', email: 'ada@x' }, conflicts: [] },
    { sent: { externalId: 'crm 1', email: '' }, conflicts: [] },
    { sent: { externalId: 'crm 1', email: 'new@x' }, conflicts: [{ field: 'email', reason: 'different' }] },
    { sent: { externalId: 'crm 1', email: 'n/a' }, conflicts: [{ field: 'email', reason: 'unusable' }] },
    {
      sent: { externalId: '[object Object]', email: 'ada@x' },
      conflicts: [{ field: 'externalId', reason: 'unusable' }],
    },
  ])
    t.strictSame((await create(sent)).json, { ...known, conflicts }, JSON.stringify(sent))
})

t.test('409: a correction to the external id of another prospect names that prospect', async (t) => {
  const { create, correct, ada } = await openKnownScene()
  const { json } = await create({ externalId: 'crm 2' })
  const refused = await correct(String(json['prospectId']), { externalId: 'crm 1' })
  const detail = 'Another prospect has this external id.'
  const other = { prospectId: ada.prospectId }
  t.strictSame(refused.json, problemFor(refused, 'external_id_taken', 409, detail, other))
})

for (const { sent, error } of [
  { sent: {}, error: { detail: 'is required without an email', pointer: '/externalId' } },
  { sent: { name: 'Ada' }, error: { detail: 'is required without an email', pointer: '/externalId' } },
  {
    sent: { externalId: 'N/A' },
    error: { detail: 'is blank or a placeholder', pointer: '/externalId' },
  },
  { sent: { email: 'Berlin' }, error: { detail: 'is not an email address', pointer: '/email' } },
])
  t.test(
    `400: no prospect is created without an external id or an email: ${JSON.stringify(sent)}`,
    async (t) => {
      const { call } = await openAdaScene()
      const answer = await call('POST /v0/prospects', { json: sent })
      const detail = 'A prospect needs an external id or an email.'
      t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, detail, { errors: [error] }))
    },
  )

t.test('400: every error of a query is named', async (t) => {
  const { get, adasTimeline } = await openAdaScene()
  for (const { path, parameters } of [
    { path: '/v0/prospects?limit=0', parameters: ['limit'] },
    { path: '/v0/prospects?email=a&email=b', parameters: ['email'] },
    { path: '/v0/prospects?email=a&externalId=1', parameters: ['externalId'] },
    { path: '/v0/prospects?externalId=', parameters: ['externalId'] },
    { path: '/v0/prospect_logs?idempotencyKey=one', parameters: ['source'] },
    { path: `/v0/prospect_logs?source=&type=${'x'.repeat(101)}`, parameters: ['source', 'type'] },
    {
      path: '/v0/prospect_logs?since=yesterday&until=2026-13-01T00:00:00Z',
      parameters: ['since', 'until'],
    },
    { path: `${adasTimeline}?since=2026-01-01T00:00:00&limit=x`, parameters: ['limit', 'since'] },
  ]) {
    const { status, json } = await get(path)
    const errors = json['errors'] as { parameter: string }[]
    t.equal(status, 400, path)
    t.strictSame(errors.map(({ parameter }) => parameter).sort(), parameters, path)
  }
})

t.test('400: every error of a correction is named', async (t) => {
  const { correctAda } = await openAdaScene()
  for (const { sent, pointers } of [
    { sent: { email: 7, name: '' }, pointers: ['/email', '/name'] },
    { sent: { email: ' ' }, pointers: ['/email'] },
    { sent: { email: 'N/A' }, pointers: ['/email'] },
    { sent: { externalId: 'x'.repeat(256) }, pointers: ['/externalId'] },
    { sent: { externalId: ' null ' }, pointers: ['/externalId'] },
    { sent: { name: 'a\0' }, pointers: ['/name'] },
  ]) {
    const { status, json } = await correctAda(sent)
    const errors = json['errors'] as { pointer: string }[]
    t.equal(status, 400, JSON.stringify(sent))
    t.strictSame(
      errors.map(({ pointer }) => pointer),
      pointers,
    )
  }
  t.equal((await correctAda({ name: 7 })).json['detail'], SEE_ERRORS)
})

t.test('410: an erased prospect is gone', async (t) => {
  const { call } = await openScene({
    storeAs: (store) => ({
      ...store,
      prospects: {
        ...store.prospects,
        find: async (key) => ({ ...someProspect(key.tenantId), ...key, mergedInto: null, erasedAt: at(1) }),
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
