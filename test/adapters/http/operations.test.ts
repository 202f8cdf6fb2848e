import t from 'tap'
import openapi from '../../../src/adapters/http/openapi.json' with { type: 'json' }
import { ROUTES } from '../../../src/adapters/http/routes.ts'
import type { ProblemCode } from '../../../src/core/engine/failures.ts'
import { refuse } from '../../../src/core/engine/failures.ts'
import { SCOPES } from '../../../src/core/ports/api-keys.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { type Answer, DATABASE_AWAY, failing, openScene, problemFor, type Sent } from '../../support/api.ts'

type Documented = { requestBody?: { content: { 'application/json': { examples: object } } } }
const documents = openapi.paths as Record<string, Record<string, Documented>>

/** Every operation, with the first example of its body in the document. */
const OPERATIONS = ROUTES.map(({ method, path, scope, body }) => {
  const { requestBody } = documents[path]?.[method.toLowerCase()] ?? {}
  const [example] = Object.values(requestBody?.content['application/json'].examples ?? {})
  const sent: Sent = body ? { json: example.value } : {}
  const target = path.replaceAll(/\{\w+\}/g, 'x')
  return { operation: `${method} ${target}`, target, path, scopes: [scope ?? []].flat(), body, sent }
})

/** A service whose store finds keys, and fails in every other call. */
const openFailing = (why: Error, options: Parameters<typeof openScene>[0] = {}) =>
  openScene({
    ...options,
    storeAs: ({ apiKeys, watch, ...ports }) => {
      const failed = Object.entries(ports).map(([name, port]) => [name, failing(port, why)])
      return { ...Object.fromEntries(failed), apiKeys, watch } as Store
    },
  })
/** A batch has the problem in each of its items. */
const problemIn = ({ json }: Answer) => (json['items'] as [{ problem: object }])?.[0].problem ?? json

const UNTOUCHED = new Error('the store was called')
const WITHOUT_STORE = ['GET /v0/api_keys/self']

t.test('401: no operation without a key', async (t) => {
  const { call } = await openFailing(UNTOUCHED)
  for (const { operation, sent } of OPERATIONS) {
    const missing = await call(operation, { ...sent, key: null })
    const detail = 'The header x-api-key is missing.'
    t.strictSame(missing.json, problemFor(missing, 'missing_api_key', 401, detail), operation)
    const wrong = await call(operation, { ...sent, key: 'pp_x' })
    const invalid = 'The API key is not valid: unknown, expired or revoked.'
    t.strictSame(wrong.json, problemFor(wrong, 'invalid_api_key', 401, invalid), operation)
  }
})

t.test('403: every operation needs each of its scopes, and no other', async (t) => {
  const { call, keyWith } = await openFailing(UNTOUCHED)
  for (const { operation, scopes, sent } of OPERATIONS) {
    for (const requiredScope of scopes) {
      const others = SCOPES.filter((scope) => scope !== requiredScope)
      const answer = await call(operation, { ...sent, key: await keyWith(...others) })
      const detail = `The API key lacks the scope ${requiredScope}.`
      const expected = problemFor(answer, 'insufficient_scope', 403, detail, { requiredScope })
      t.strictSame(answer.json, expected, operation)
    }
    t.not(
      (await call(operation, { ...sent, key: await keyWith(...(scopes[0] ? scopes : SCOPES.slice(0, 1))) }))
        .status,
      403,
      operation,
    )
  }
})

t.test('405: every path has the methods of its operations', async (t) => {
  const { call } = await openFailing(UNTOUCHED)
  for (const { target, path } of OPERATIONS) {
    const methods = ROUTES.filter((route) => route.path === path).map(({ method }) => method)
    const allowed = [
      ...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
      'OPTIONS',
    ]
    const answer = await call(`PUT ${target}`, { json: {} })
    const detail = `Method not allowed. Allowed methods: ${allowed.join(', ')}.`
    t.strictSame(answer.json, problemFor(answer, 'method_not_allowed', 405, detail), path)
    t.equal(answer.headers['allow'], allowed.join(', '))
  }
})

t.test('413 and 415: a body that is too large, or is not JSON, reaches no operation', async (t) => {
  const { call } = await openFailing(UNTOUCHED)
  const read = async () => refuse('payload_too_large', 'The body is larger than 9 bytes.')
  const type = 'Unsupported content type. Send application/json.'
  const coding = 'Unsupported content encoding. Send the body uncompressed.'
  for (const { operation, sent } of OPERATIONS.filter(({ body }) => body)) {
    const large = await call(operation, { ...sent, read })
    t.strictSame(
      large.json,
      problemFor(large, 'payload_too_large', 413, 'The body is larger than 9 bytes.'),
      operation,
    )
    for (const [headers, detail] of [
      [{ 'content-type': 'application/x-www-form-urlencoded' }, type],
      [{ 'content-encoding': 'gzip' }, coding],
    ] as const) {
      const answer = await call(operation, { ...sent, headers })
      t.strictSame(answer.json, problemFor(answer, 'unsupported_media_type', 415, detail), operation)
    }
  }
})

t.test('429: every operation counts for the rate of its key', async (t) => {
  for (const { operation, sent } of OPERATIONS) {
    const { call } = await openFailing(UNTOUCHED, { rateLimitPerMinute: 1 })
    await call('GET /v0/api_keys/self')
    const answer = await call(operation, sent)
    const detail = 'This API key has used up its requests per minute.'
    t.strictSame(answer.json, problemFor(answer, 'rate_limited', 429, detail), operation)
    t.equal(answer.headers['retry-after'], '60')
  }
})

t.test('500: no operation shows an internal error', async (t) => {
  const why = new Error('select * from pages where email = ada@example.com')
  const { call, errors } = await openFailing(why)
  for (const { operation, sent } of OPERATIONS) {
    if (WITHOUT_STORE.includes(operation)) continue
    errors.length = 0
    const answer = await call(operation, sent)
    const detail =
      'An unexpected error occurred in the service. `instance` is the id of the request in the server logs.'
    t.strictSame(problemIn(answer), problemFor(answer, 'internal_error', 500, detail), operation)
    t.strictSame(errors, [{ error: why, requestId: answer.headers['x-request-id'] }], operation)
  }
})

t.test('503: without the database every operation still answers its caller', async (t) => {
  const { call, errors } = await openFailing(DATABASE_AWAY)
  for (const { operation, sent } of OPERATIONS) {
    if (WITHOUT_STORE.includes(operation)) continue
    const answer = await call(operation, sent)
    t.strictSame(
      problemIn(answer),
      problemFor(answer, 'unavailable', 503, 'The database is away.'),
      operation,
    )
    t.equal(answer.headers['retry-after'], '5')
  }
  t.strictSame(errors, [])
})

t.test('404: every operation on an unknown id names the missing resource', async (t) => {
  const { call } = await openScene()
  for (const { operation, path, sent } of OPERATIONS) {
    const [id] = /(?<=\{)\w+(?=_id\})/.exec(path) ?? []
    if (id === undefined) continue
    const answer = await call(operation, sent)
    const name = id.replaceAll('_', ' ')
    const detail = `${name.replace(/^\w/, (first) => first.toUpperCase())} not found.`
    t.strictSame(answer.json, problemFor(answer, `${id}_not_found` as ProblemCode, 404, detail), operation)
  }
})
