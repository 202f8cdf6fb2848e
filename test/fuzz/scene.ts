import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import type { Test } from 'tap'
import type { ApiRequest, ApiResponse } from '../../src/adapters/http/requests.ts'
import { createPageGroup, type PageGroupFields } from '../../src/core/pages/create-page-group.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import { openScene, SECURITY_HEADERS } from '../support/api.ts'
import type { TestedStore } from '../support/stores.ts'

const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31))
/** So many times as much chance as in every run. */
const TIMES = Number(process.env['FUZZ_TIMES'] ?? 1)

/** Holds for so many random requests. A failure is reported in its smallest form, with the seed that repeats it. */
export const always = async <Given>(
  t: Test,
  property: fc.IAsyncPropertyWithHooks<Given>,
  runs: number,
): Promise<void> => {
  t.comment(`FUZZ_SEED=${SEED}`)
  const numRuns = runs * TIMES
  await fc.assert(property, { seed: SEED, numRuns, timeout: 120_000, includeErrorInReport: true })
  t.pass(`held ${numRuns} times`)
}

/** The codes and statuses that there are, but for faults of ours. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_json: 400,
  invalid_request: 400,
  invalid_cursor: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  insufficient_scope: 403,
  not_found: 404,
  page_group_not_found: 404,
  page_not_found: 404,
  version_not_found: 404,
  prospect_not_found: 404,
  prospect_log_not_found: 404,
  erasure_not_found: 404,
  event_not_found: 404,
  webhook_endpoint_not_found: 404,
  delivery_not_found: 404,
  method_not_allowed: 405,
  page_group_not_active: 409,
  version_not_ready: 409,
  limit_reached: 409,
  email_taken: 409,
  prospect_erased: 410,
  cursor_expired: 410,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
}
type Problem = { readonly detail?: string; readonly pointer?: string; readonly parameter?: string }
export type Heard = Omit<ApiResponse, 'body'> & {
  readonly body: string
  readonly code: string | null
  readonly json: Readonly<Record<string, unknown>>
  /** Where the faults of the request are: pointers and parameters, each once. */
  readonly faults: readonly string[]
}

/** An answer as it must be, whatever was asked. */
export const lawful = (method: string, response: ApiResponse): Heard => {
  const { status, headers } = response
  const body = String(response.body)
  for (const [name, value] of Object.entries(headers)) assert.match(value, /^[\t\x20-\x7e]*$/, name)
  const isTagged = ['GET', 'HEAD'].includes(method) && headers['etag'] !== undefined
  // A public document is compressed if the caller takes that.
  const tagged = headers['vary'] === undefined ? 'private, no-cache' : 'no-cache'
  const cached = isTagged ? tagged : 'no-store'
  assert.partialDeepStrictEqual(headers, { ...SECURITY_HEADERS, 'cache-control': cached })
  assert.ok(body.isWellFormed())
  if (status !== 204 && method !== 'HEAD')
    assert.equal(headers['content-length'], String(Buffer.byteLength(body)))
  if (body === '') {
    assert.ok(status === 204 || method === 'HEAD', `${status} without a body`)
    return { ...response, body, code: null, json: {}, faults: [] }
  }
  assert.ok(body.endsWith('}\n'), 'a shell prompt follows on its own line')
  const json = JSON.parse(body)
  if (status < 300) {
    assert.equal(headers['content-type'], 'application/json')
    return { ...response, body, code: null, json, faults: [] }
  }
  assert.equal(headers['content-type'], 'application/problem+json')
  assert.equal(STATUSES[json.code], status, `${status} ${json.code}`)
  assert.equal(json.status, status)
  assert.equal(json.instance, headers['x-request-id'])
  const errors: readonly Problem[] = json.errors ?? []
  const faults = new Set(errors.map(({ pointer, parameter }) => pointer ?? parameter ?? ''))
  return { ...response, body, code: json.code, json, faults: [...faults].sort() }
}

/** The API over a store under test, with a tenant, a key and a page group in it. */
export const openFuzz = async (tested: TestedStore) => {
  const { api, clock, newId, errors } = await openScene({ storeAs: () => tested.store })
  const deps = { store: tested.store, clock, newId }
  const { tenantId } = await createTenant(deps)({ name: 'a tenant' })
  const { apiKey } = await issueApiKey(deps)({ tenantId, name: null, scopes: SCOPES, lifeMs: null })
  const newGroup = async (fields: PageGroupFields = {}) =>
    (await createPageGroup(deps)({ name: 'offers', title: 'Offers', tenantId, ...fields })).value
  const ask = async (
    method: string,
    target: string,
    { headers = {}, body }: { headers?: ApiRequest['headers']; body?: Buffer } = {},
  ): Promise<Heard> => {
    const response = await api({
      method,
      target,
      headers: {
        'x-api-key': apiKey,
        ...(body && { 'content-type': 'application/json', 'content-length': String(body.length) }),
        ...headers,
      },
      body: { bytesMax: 1e9, read: async () => body ?? new Uint8Array() },
    })
    assert.deepEqual(errors.splice(0), [])
    return lawful(method, response)
  }
  return {
    ...tested,
    apiKey,
    newGroup,
    ask,
    /** A plain request is answered, whatever came before it. */
    stillFine: async () => assert.equal((await ask('GET', '/v0/page_groups')).status, 200),
  }
}
