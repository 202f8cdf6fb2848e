import assert from 'node:assert/strict'
import { createAdmission } from '../../src/adapters/http/admission.ts'
import { createApi } from '../../src/adapters/http/api.ts'
import { byApiKey } from '../../src/adapters/http/callers.ts'
import { limitForms } from '../../src/adapters/http/limits/form-limit.ts'
import { createRateLimit } from '../../src/adapters/http/limits/rate-limit.ts'
import openapi from '../../src/adapters/http/openapi.json' with { type: 'json' }
import { PROBLEMS } from '../../src/adapters/http/problems.ts'
import { metricsRoute, type RawRoute } from '../../src/adapters/http/public-routes.ts'
import type { Api } from '../../src/adapters/http/requests.ts'
import {
  type ApiRequest,
  type ApiResponse,
  isWhole,
  type RequestBody,
  type RequestLog,
} from '../../src/adapters/http/requests.ts'
import { ROUTES } from '../../src/adapters/http/routes.ts'
import { shareLoop } from '../../src/adapters/loop-share.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import type { Metrics } from '../../src/adapters/metrics/metrics.ts'
import type { OpenTelemetry } from '../../src/adapters/open-telemetry.ts'
import { createAddresses } from '../../src/adapters/webhooks/addresses.ts'
import { createSecrets } from '../../src/adapters/webhooks/secrets.ts'
import type { ProblemCode } from '../../src/core/engine/failures.ts'
import { DomainFailure } from '../../src/core/engine/failures.ts'
import { createPageGroup, type PageGroupFields } from '../../src/core/pages/create-page-group.ts'
import { publishVersions } from '../../src/core/pages/publish-versions.ts'
import { runSchedules } from '../../src/core/pages/run-schedules.ts'
import { SCOPES, type Scope } from '../../src/core/ports/api-keys.ts'
import type { SendWebhook } from '../../src/core/ports/sending.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import { composeReceiver } from '../../src/service/compose-receiver.ts'
import { composeUseCases } from '../../src/service/use-cases.ts'
import type { CreatedPage, NewPage } from '../../src/shapes/page.ts'
import { undocumented } from './answers.ts'
import { identifyIn } from './identify.ts'
import { countedIds, stoppedClock } from './setting.ts'

export type Sent = {
  /** Null sends none; left out, the key of the owner with all scopes. */
  readonly key?: string | null
  readonly headers?: ApiRequest['headers']
  readonly repeatedHeaders?: readonly string[]
  /** A body from a value, or as it is. */
  readonly json?: unknown
  readonly body?: string | Uint8Array
  readonly read?: RequestBody['read']
  /** Sent in chunks, without a length. */
  readonly chunked?: boolean
  readonly address?: string
  /** The limit of one activity; a batch may have 16 MiB. */
  readonly bytesMax?: number
}
/** An answer, and its body as a value; an empty object where it has none. */
export type Answer = Omit<ApiResponse, 'body'> & {
  readonly body: string
  readonly json: Readonly<Record<string, unknown>>
}

type Options = {
  readonly rateLimitPerMinute: number | null
  readonly hookFormsPerMinute: number | null
  readonly requestsWaitingMax: number
  readonly requestsAtOnceMax: number
  readonly bodyBytesHeldMax: number
  readonly requireIdentity: boolean
  readonly counts: boolean
  readonly ready: () => Promise<void>
  readonly rawRoutes: readonly RawRoute[]
  readonly metrics: Metrics
  readonly tracing: OpenTelemetry
  /** Events of every tenant, not only of those with webhooks. */
  readonly everyEvent: boolean
  readonly send: SendWebhook
  readonly publicUrl: string | null
  readonly onError: Parameters<typeof createApi>[0]['onError']
  /** The store that the API sees instead of the one that the scene is set in. */
  readonly storeAs: (store: Store) => Store
}

/** The API over a memory store with one tenant and its key: clock stopped, ids and request ids counted. */
export const openScene = async ({
  rateLimitPerMinute = null,
  hookFormsPerMinute = null,
  requestsWaitingMax = 1_000,
  requestsAtOnceMax = 1_000,
  bodyBytesHeldMax = 1e9,
  requireIdentity = false,
  counts = true,
  ready = async () => {},
  rawRoutes = [],
  metrics,
  tracing,
  onError,
  everyEvent = false,
  send = async () => ({ status: 204, error: null, retryAfterMs: null, ms: 7 }),
  storeAs = (store) => store,
  publicUrl = null,
}: Partial<Options> = {}) => {
  const clock = stoppedClock()
  const newId = countedIds()
  const store = memoryStore({ everyEvent })
  const deps = { store, clock, newId }
  const seen = storeAs(store)
  const answered: RequestLog[] = []
  const errors: { error: unknown; requestId: string }[] = []
  let requests = 0
  const newRequestId = () => `request-${++requests}`
  const secrets = createSecrets(null)
  const hooks = { secrets, publicUrl, shareLoop }
  const useCases = composeUseCases({
    ...deps,
    store: seen,
    requireIdentity,
    prospectsRememberedMax: 100,
    webhooks: { secrets, checkUrl: createAddresses({}).checkUrl, send },
    hooks,
    counts,
    observerOf: metrics?.gathering,
  })
  const receiver = composeReceiver({
    store: seen,
    clock,
    newId,
    hooks,
    logProspectActivity: useCases.logProspectActivity,
    hooksRememberedMsMax: 60_000,
  })
  store.watch((signal) => signal === 'keys' && receiver.forget())
  const api = documented(
    createApi({
      useCases,
      receiver,
      publicUrl,
      routes: ROUTES,
      hasHooks: true,
      identify: byApiKey(identifyIn(seen.apiKeys, clock)),
      rateLimit: createRateLimit(rateLimitPerMinute, clock),
      limitForms: limitForms(hookFormsPerMinute, clock),
      admission: createAdmission({
        atOnceMax: requestsAtOnceMax,
        waitingMax: requestsWaitingMax,
        waitMsMax: 60_000,
        bodyBytesMax: bodyBytesHeldMax,
      }),
      newRequestId,
      ready,
      rawRoutes: [...rawRoutes, ...(metrics ? [metricsRoute(metrics.text)] : [])],
      onRequest: metrics?.onRequest,
      onAnswered: (told) => {
        metrics?.onAnswered(told)
        answered.push(told)
      },
      onError: onError ?? ((error, requestId) => errors.push({ error, requestId })),
      tracing,
    }),
  )

  const newKey = async (tenantId: string, scopes: readonly Scope[] = SCOPES, lifeMs: number | null = null) =>
    issueApiKey(deps)({ tenantId, name: null, scopes, lifeMs })
  const newTenant = async () => {
    const tenant = await createTenant(deps)({ name: 'a tenant' })
    return { ...tenant, ...(await newKey(tenant.tenantId)) }
  }
  const owner = await newTenant()
  const call = caller(api, owner.apiKey)

  return {
    ...deps,
    api,
    newRequestId,
    answered,
    errors,
    owner,
    call,
    newTenant,
    /** A key of the owner's tenant with these scopes alone. */
    keyWith: async (...scopes: Scope[]) => (await newKey(owner.tenantId, scopes)).apiKey,
    keyFor: async (lifeMs: number) => newKey(owner.tenantId, SCOPES, lifeMs),
    newGroup: async (fields: PageGroupFields = {}, tenantId = owner.tenantId) =>
      (await createPageGroup(deps)({ name: 'offers', title: 'Offers', tenantId, ...fields })).value,
    newPage: async (pageGroupId: string, json: Partial<NewPage> = {}) =>
      (await call(`POST /v0/page_groups/${pageGroupId}/pages`, { json })).json as CreatedPage,
    /** Does what is due. */
    runSchedules: async () => {
      const step = runSchedules({
        aheadMs: 15_000,
        store,
        clock,
        newId,
        sleep: async () => {},
        onError: (why) => errors.push({ error: why, requestId: '' }),
      })
      while (await step(AbortSignal.any([]), Promise.race([])));
    },
    publish: () =>
      publishVersions({ store, clock, newId, namer: null, claimMax: 100, leaseMs: 1_000 })(
        AbortSignal.any([]),
      ),
  }
}

/** The API, where an answer of an operation that is not as the OpenAPI document says is an error. */
export const documented =
  (api: Api): Api =>
  async (request) => {
    const response = await api(request)
    if (isWhole(response.body)) mustBeDocumented(request, response)
    else {
      const { parts, cancel } = response.body
      return { ...response, body: { parts: documentedParts(request, response, parts), cancel } }
    }
    return response
  }

async function* documentedParts(
  request: ApiRequest,
  response: ApiResponse,
  parts: AsyncIterable<string>,
): AsyncGenerator<string> {
  let body = ''
  for await (const part of parts) {
    body += part
    yield part
  }
  mustBeDocumented(request, { ...response, body })
}

/** The text of an answer, to its end. */
const textOf = async (body: ApiResponse['body']): Promise<string> => {
  if (isWhole(body)) return String(body)
  let text = ''
  for await (const part of body.parts) text += part
  return text
}

/** Looks at the answers of operations; other paths and methods are not in the document. */
export const mustBeDocumented = (
  { method, target }: Pick<ApiRequest, 'method' | 'target'>,
  response: ApiResponse,
): void => {
  const [path = ''] = target.replace(/^http:\/\/[^/]*/, '').split(/[?#]/)
  const documented = Object.entries(openapi.paths).filter(([template]) => fits(path, template))
  const [template, operations] = documented.find(([template]) => template === path) ?? documented[0] ?? []
  if (!Object.keys(operations ?? {}).some((verb) => verb.toUpperCase() === method)) return
  const body = String(response.body)
  if (template !== undefined) assert.equal(undocumented(method, template, { ...response, body }), null)
}

const fits = (path: string, template: string): boolean => {
  const given = path.split('/')
  const wanted = template.split('/')
  return (
    given.length === wanted.length &&
    wanted.every((part, i) => (part.startsWith('{') ? given[i] !== '' : given[i] === part))
  )
}

const BODY_BYTES_MAX = 16_777_216

/** Calls the API as in `call('GET /v0/page_groups?limit=5')`. */
export const caller =
  (api: Api, ownKey: string) =>
  async (operation: string, sent: Sent = {}): Promise<Answer> => {
    const [method = '', target = ''] = operation.split(' ')
    const { key = ownKey, repeatedHeaders = [] } = sent
    const text = sent.json === undefined ? sent.body : JSON.stringify(sent.json)
    const bytes = text === undefined ? undefined : Buffer.from(text as string)
    const response = await api({
      method,
      target,
      headers: {
        ...(key !== null && { 'x-api-key': key }),
        ...(bytes && { 'content-type': 'application/json' }),
        ...(bytes &&
          (sent.chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(bytes.length) })),
        ...sent.headers,
      },
      repeatedHeaders,
      address: sent.address,
      body: {
        bytesMax: sent.bytesMax ?? BODY_BYTES_MAX,
        batchBytesMax: BODY_BYTES_MAX,
        read: sent.read ?? (async () => bytes ?? new Uint8Array()),
      },
    })
    const body = await textOf(response.body)
    const isJson = body !== '' && response.headers['content-type'] !== 'application/x-ndjson'
    return { ...response, body, json: isJson ? JSON.parse(body) : {} }
  }

/** The whole of a problem document, to compare the body of an answer with. */
export const problemFor = (
  answer: Pick<Answer, 'headers'>,
  code: ProblemCode,
  status: number,
  detail: string,
  more: object = {},
) => ({
  type: `/problems/${code}`,
  title: PROBLEMS[code].title,
  status,
  detail,
  instance: answer.headers['x-request-id'],
  code,
  ...more,
})

/** A store whose lists of page groups wait until they are let go. */
export const heldLists = () => {
  const { promise, resolve: letGo } = Promise.withResolvers<void>()
  const storeAs = (store: Store): Store => ({
    ...store,
    pageGroups: { ...store.pageGroups, list: (want) => promise.then(() => store.pageGroups.list(want)) },
  })
  return { storeAs, letGo }
}

/** A port whose every call fails like this. */
export const failing = <Port extends object>(port: Port, why: Error): Port =>
  Object.fromEntries(Object.keys(port).map((verb) => [verb, () => Promise.reject(why)])) as Port

export const DATABASE_AWAY = new DomainFailure('unavailable', 'The database is away.', { retryAfterS: 5 })

/** Sent with every answer, whatever it is. */
export const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}

/** The `detail` of a problem whose faults are in `errors`. */
export const SEE_ERRORS = 'The request is invalid. See `errors`.'
