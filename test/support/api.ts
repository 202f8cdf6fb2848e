import { createAdmission } from '../../src/adapters/http/admission.ts'
import { createApi } from '../../src/adapters/http/api.ts'
import { byApiKey } from '../../src/adapters/http/callers.ts'
import { limitForms } from '../../src/adapters/http/limits/form-limit.ts'
import { createRateLimit } from '../../src/adapters/http/limits/rate-limit.ts'
import { metricsRoute } from '../../src/adapters/http/metrics-route.ts'
import { PROBLEMS } from '../../src/adapters/http/problems.ts'
import type { RawRoute } from '../../src/adapters/http/raw-route.ts'
import {
  type Api,
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
import { DomainFailure, type ProblemCode } from '../../src/core/engine/failures.ts'
import { createPageGroup, type PageGroupFields } from '../../src/core/pages/create-page-group.ts'
import { publishVersions } from '../../src/core/pages/publish-versions.ts'
import { runSchedules } from '../../src/core/pages/run-schedules.ts'
import { unpublishDeleted } from '../../src/core/pages/unpublish-deleted.ts'
import { SCOPES, type Scope } from '../../src/core/ports/api-keys.ts'
import type { SendWebhook } from '../../src/core/ports/sending.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import { composeReceiver } from '../../src/service/compose-receiver.ts'
import { composeUseCases } from '../../src/service/use-cases.ts'
import type { CreatedPage, NewPage } from '../../src/shapes/page.ts'
import { documented } from './documented.ts'
import { identifyIn } from './identify.ts'
import { countedIds, stoppedClock } from './setting.ts'

/** 16 MiB. */
const BODY_BYTES_MAX = 16_777_216
const NEVER_ABORTED = new AbortController().signal
const NEVER = new Promise<never>(() => {})

export type Sent = {
  /** An API key, or null for none. By default the key that the caller was made with. */
  readonly key?: string | null
  readonly headers?: ApiRequest['headers']
  readonly repeatedHeaders?: readonly string[]
  /** The body as a value. */
  readonly json?: unknown
  /** The body as it is sent, if there is no `json`. */
  readonly body?: string | Uint8Array
  /** Reads the body instead of the bytes above. */
  readonly read?: RequestBody['read']
  /** Whether the body is sent in chunks, without a length. */
  readonly chunked?: boolean
  readonly address?: string
  readonly basePath?: string
  /** The limit of a body, but for a batch: 16 MiB by default. */
  readonly bytesMax?: number
}
/** A response with its whole body, as a text and as a value: an empty object if the body is empty or NDJSON. */
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
  /** Makes the store of the API from the store in which the scene keeps its tenant. */
  readonly storeAs: (store: Store) => Store
}

/** The API over a memory store with one tenant and its key. The clock stands still, and ids are counted. */
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
  const apiStore = storeAs(store)
  const answered: RequestLog[] = []
  const errors: { error: unknown; requestId: string }[] = []
  let requests = 0
  const newRequestId = () => {
    requests++
    return `request-${requests}`
  }
  const secrets = createSecrets(null)
  const hooks = { secrets, publicUrl, shareLoop }
  const useCases = composeUseCases({
    ...deps,
    store: apiStore,
    requireIdentity,
    prospectsRememberedMax: 100,
    webhooks: { secrets, checkUrl: createAddresses({}).checkUrl, send },
    hooks,
    counts,
    observerOf: metrics?.gathering,
  })
  const receiver = composeReceiver({
    store: apiStore,
    clock,
    newId,
    hooks,
    logProspectActivity: useCases.logProspectActivity,
    hooksRememberedMsMax: 60_000,
  })
  store.watch((signal) => {
    if (signal === 'keys') receiver.forget()
  })
  const api = documented(
    createApi({
      useCases,
      receiver,
      publicUrl,
      routes: ROUTES,
      hasHooks: true,
      identify: byApiKey(identifyIn(apiStore.apiKeys, clock)),
      rateLimit: createRateLimit(rateLimitPerMinute, clock),
      limitForms: limitForms(hookFormsPerMinute, clock),
      uploadBytesMax: 10_000,
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
      onAnswered: (requestLog) => {
        metrics?.onAnswered(requestLog)
        answered.push(requestLog)
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
    /** Runs all scheduled changes of pages that are due. */
    runSchedules: async () => {
      const runNext = runSchedules({
        aheadMs: 15_000,
        store,
        clock,
        newId,
        sleep: async () => {},
        onError: (error) => errors.push({ error, requestId: '' }),
      })
      while (await runNext(NEVER_ABORTED, NEVER)) {}
    },
    /** Completes the deletions of page groups. */
    completeDeletions: async () => {
      const onError = (error: unknown) => void errors.push({ error, requestId: '' })
      const step = unpublishDeleted({ store, clock, newId, onError })
      while (await step(NEVER_ABORTED)) {}
    },
    /** Publishes the versions that wait for it. */
    publish: () =>
      publishVersions({ store, clock, newId, namer: null, claimMax: 100, leaseMs: 1_000 })(NEVER_ABORTED),
  }
}

/** The text of a body, read to its end. */
const textOf = async (body: ApiResponse['body']): Promise<string> => {
  if (isWhole(body)) return String(body)
  let text = ''
  for await (const part of body.parts) text += part
  return text
}

/** Calls the API with a key, as in `call('GET /v0/page_groups?limit=5')`. */
export const caller =
  (api: Api, defaultKey: string) =>
  async (operation: string, sent: Sent = {}): Promise<Answer> => {
    const [method = '', target = ''] = operation.split(' ')
    const bytes = bodyBytes(sent)
    const response = await api({
      method,
      target,
      headers: {
        ...keyHeaders(sent.key === undefined ? defaultKey : sent.key),
        ...(bytes && bodyHeaders(bytes, sent.chunked)),
        ...sent.headers,
      },
      repeatedHeaders: sent.repeatedHeaders ?? [],
      address: sent.address,
      basePath: sent.basePath,
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

const bodyBytes = ({ json, body }: Sent): Buffer | undefined => {
  if (json !== undefined) return Buffer.from(JSON.stringify(json))
  return body === undefined ? undefined : Buffer.from(body as string)
}

const keyHeaders = (key: string | null): ApiRequest['headers'] => (key === null ? {} : { 'x-api-key': key })

const bodyHeaders = (bytes: Buffer, isChunked = false): ApiRequest['headers'] => {
  const type = { 'content-type': 'application/json' }
  return isChunked
    ? { ...type, 'transfer-encoding': 'chunked' }
    : { ...type, 'content-length': String(bytes.length) }
}

/** The whole problem document that a response must have as its body. */
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
  const { promise: released, resolve: letGo } = Promise.withResolvers<void>()
  const storeAs = (store: Store): Store => ({
    ...store,
    pageGroups: { ...store.pageGroups, list: (query) => released.then(() => store.pageGroups.list(query)) },
  })
  return { storeAs, letGo }
}

/** A port whose every call fails with this error. */
export const failing = <Port extends object>(port: Port, error: Error): Port =>
  Object.fromEntries(Object.keys(port).map((verb) => [verb, () => Promise.reject(error)])) as Port

export const DATABASE_AWAY = new DomainFailure('unavailable', 'The database is away.', { retryAfterS: 5 })

/** Sent with every response. */
export const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}

/** The `detail` of a problem that lists the errors of the request in `errors`. */
export const SEE_ERRORS = 'The request is invalid. See `errors`.'
