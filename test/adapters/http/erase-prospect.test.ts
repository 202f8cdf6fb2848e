import t from 'tap'
import { eraseProspects } from '../../../src/core/erasures/erase-prospects.ts'
import { openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
import { idOf } from '../../support/setting.ts'

const ADA = 'ada@example.com'
const FAULT = 'An erasure names a person by one of prospectId, externalId and email.'

const openSceneOf = async (options = {}) => {
  const scene = await openScene(options)
  const log = (json: object) =>
    scene.call('POST /v0/prospect_logs', { json: { source: 'crm', payload: {}, ...json } })
  const erase = (json: object, sent = {}) => scene.call('POST /v0/erasures', { json, ...sent })
  const complete = async () => {
    const step = eraseProspects(scene)
    while (await step(AbortSignal.any([])));
  }
  const { prospectId } = (await log({ email: ADA, name: 'Ada' })).json
  return { ...scene, log, erase, complete, prospectId }
}

t.test('202: the erasure is in progress, then completed, and says no more than ids and counts', async (t) => {
  const { call, clock, erase, complete, prospectId } = await openSceneOf()
  const answer = await erase({ prospectId })
  t.equal(answer.status, 202)
  const erasure = {
    erasureId: answer.json['erasureId'],
    prospectId,
    status: 'processing',
    requestedAt: '2026-01-01T00:00:00.000Z',
    completedAt: null,
    logsErased: 0,
    waitingFor: null,
    blockedUntil: '2026-01-31T00:00:00.000Z',
    formerlyOf: [],
    stillLeadsTo: [],
  }
  t.strictSame(answer.json, erasure)
  t.strictSame(
    (await erase({ email: ` ADA@example.com` })).json,
    erasure,
    'an equal request gets the same erasure',
  )
  t.strictSame((await call(`GET /v0/erasures/${erasure.erasureId}`)).json, erasure)
  clock.advance(2_000)
  await complete()
  const completed = {
    ...erasure,
    status: 'completed',
    completedAt: '2026-01-01T00:00:02.000Z',
    logsErased: 1,
  }
  t.strictSame((await call(`GET /v0/erasures/${erasure.erasureId}`)).json, completed)
  t.strictSame((await call('GET /v0/erasures')).json, { items: [completed], hasMore: false })
})

t.test('200: the block of a mistyped email is lifted, for its tenant alone', async (t) => {
  const { call, erase, log, complete, newTenant } = await openSceneOf()
  const { erasureId } = (await erase({ email: 'eve@example.com' })).json
  await complete()
  const unblock = (sent = {}) => call(`POST /v0/erasures/${erasureId}/unblock`, sent)
  t.equal((await unblock({ key: (await newTenant()).apiKey })).status, 404)
  t.equal((await log({ email: 'eve@example.com' })).status, 410)
  for (let i = 0; i < 2; i++)
    t.match(await unblock(), { status: 200, json: { erasureId, status: 'completed', blockedUntil: null } })
  t.equal((await log({ email: 'eve@example.com' })).status, 201)
})

t.test('202: an email that no prospect has', async (t) => {
  const { erase, log } = await openSceneOf()
  t.match(await erase({ email: 'eve@example.com' }), { status: 202, json: { prospectId: null } })
  t.equal((await log({ email: 'eve@example.com' })).status, 410)
})

t.test('200: erasures are listed slice by slice', async (t) => {
  const { call, erase } = await openSceneOf()
  for (const email of ['a@example.com', 'b@example.com', 'c@example.com']) await erase({ email })
  const { json } = await call('GET /v0/erasures?limit=2')
  t.match(json, { hasMore: true })
  const rest = await call(`GET /v0/erasures?limit=2&cursor=${json['nextCursor']}`)
  t.match(rest.json, { items: [{}], hasMore: false })
  t.equal((await call('GET /v0/erasures?cursor=x')).json['code'], 'invalid_cursor')
})

t.test('400: an erasure names exactly one person, and blocks for whole days up to ten years', async (t) => {
  const { erase, prospectId } = await openSceneOf()
  for (const [json, detail, errors] of [
    [{}, FAULT, { detail: 'is required without a prospectId or externalId', pointer: '/email' }],
    [{ email: ADA, prospectId }, FAULT, { detail: 'must not be given with a prospectId', pointer: '/email' }],
    [
      { email: ADA, externalId: 'crm 1' },
      FAULT,
      { detail: 'must not be given with a prospectId or an email', pointer: '/externalId' },
    ],
    [{ externalId: 'N/A' }, FAULT, { detail: 'is blank or a placeholder', pointer: '/externalId' }],
    [{ email: ' \t' }, FAULT, { detail: 'is not an email address', pointer: '/email' }],
    [{ email: 'N/A' }, FAULT, { detail: 'is not an email address', pointer: '/email' }],
    [{ email: null }, SEE_ERRORS, { detail: 'must be a string', pointer: '/email' }],
    [{ email: ADA, blockDays: -1 }, SEE_ERRORS, { detail: 'must be 0 or more', pointer: '/blockDays' }],
    [{ email: ADA, blockDays: 1.5 }, SEE_ERRORS, { detail: 'must be whole', pointer: '/blockDays' }],
    [{ email: ADA, blockDays: 3651 }, SEE_ERRORS, { detail: 'must be at most 3650', pointer: '/blockDays' }],
    [{ email: ADA, blockDays: '30' }, SEE_ERRORS, { detail: 'must be a number', pointer: '/blockDays' }],
  ] as const) {
    const answer = await erase(json)
    t.equal(answer.status, 400)
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, detail, { errors: [errors] }))
  }
  t.equal((await erase({ prospectId: 'x' })).status, 400)
  t.equal((await erase({ email: ADA, blockDays: 3650 })).status, 202)
})

t.test('404: an unknown prospect, and an erasure that nobody requested', async (t) => {
  const { call, erase } = await openSceneOf()
  const unknown = await erase({ prospectId: idOf('prospect', 999) })
  t.strictSame(unknown.json, problemFor(unknown, 'prospect_not_found', 404, 'Prospect not found.'))
  const missing = await call(`GET /v0/erasures/${idOf('erasure', 999)}`)
  t.strictSame(missing.json, problemFor(missing, 'erasure_not_found', 404, 'Erasure not found.'))
})

t.test('410: an erased prospect gets no activities and no second erasure', async (t) => {
  const { erase, log, complete, prospectId } = await openSceneOf()
  await erase({ email: ADA })
  for (let i = 0; i < 2; i++) {
    for (const who of [{ prospectId }, { email: ADA }, { prospectId, name: 'Ada' }]) {
      const answer = await log(who)
      t.equal(answer.status, 410)
      t.strictSame(answer.json, problemFor(answer, 'prospect_erased', 410, 'The prospect was erased.'))
    }
    await complete()
  }
  t.equal((await erase({ prospectId })).status, 410)
  t.equal((await erase({ email: ADA })).status, 202)
})
