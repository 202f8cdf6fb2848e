import t from 'tap'
import { openScene } from '../../support/api.ts'

const HOOKS = '/v0/hooks'
const BY_TOKEN = { source: 'form', verify: { token: true } }
const SIGNED = {
  source: 'shop',
  verify: { preset: 'stripe', secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
}

const setUp = async () => {
  const { call } = await openScene()
  const post = (json: object, key = 'one') =>
    call(`POST ${HOOKS}`, { json, headers: { 'idempotency-key': key } })
  const count = async () => ((await call(`GET ${HOOKS}`)).json['items'] as object[]).length
  return { call, post, count }
}

t.test('201: a retry under an idempotency key creates no hook, and gets no token', async (t) => {
  const { call, post, count } = await setUp()
  const { path, ...hook } = (await post(BY_TOKEN)).json
  t.notMatch(path, /•/)
  const retried = await post(BY_TOKEN)
  t.match(retried, {
    status: 201,
    json: { hookId: hook['hookId'], path: `${HOOKS.slice(3)}/${hook['hookId']}/•••` },
  })
  t.equal(retried.headers['idempotent-replayed'], 'true')
  t.match((await post(SIGNED, 'two')).json, { verify: { preset: 'stripe' } })
  t.equal(await count(), 2)
  await call(`PATCH ${HOOKS}/${hook['hookId']}`, { json: { description: 'The form' } })
  t.match((await post(BY_TOKEN)).json, { description: 'The form' }, 'as it is now')
  await call(`DELETE ${HOOKS}/${hook['hookId']}`)
  const again = await post(BY_TOKEN)
  t.notMatch(again.json['path'], /•/, 'the key of a deleted hook is free')
  t.not(again.json['hookId'], hook['hookId'])
})

t.test('422: another request under the key, even if only its secret differs', async (t) => {
  const { post, count } = await setUp()
  const { hookId } = (await post(SIGNED)).json
  const reused = { status: 422, json: { code: 'idempotency_key_reused', hookId } }
  t.match(await post({ ...SIGNED, source: 'other' }), reused)
  t.match(
    await post({ ...SIGNED, verify: { ...SIGNED.verify, secret: 'whsec_AAAQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' } }),
    reused,
  )
  t.match(await post({ ...SIGNED, map: { email: ['/email'] } }), reused)
  t.equal(await count(), 1)
})

t.test('201: of twenty equal requests at once under one key one creates a hook', async (t) => {
  const { post, count } = await setUp()
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(BY_TOKEN)))
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([201]))
  t.equal(answers.filter(({ json }) => !String(json['path']).includes('•')).length, 1)
  t.equal(await count(), 1)
})
