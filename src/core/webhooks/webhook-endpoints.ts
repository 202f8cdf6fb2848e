import type {
  NewWebhookEndpoint,
  SecretRotation,
  WebhookEndpoint,
  WebhookEndpointChanges,
  WebhookEndpointWithSecret,
} from '../../shapes/webhook.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { rotatedTo } from '../engine/sealed-secrets.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { EndpointWant, Secrets, SendWebhook, StoredEndpoint } from '../ports/webhooks.ts'
import type { NewId } from '../ports/world.ts'
import { sealedHeaders, shownHeaders } from './webhook-headers.ts'
import { templateText } from './webhook-template.ts'

/** How many endpoints a tenant may have. */
const SLOTS = Array.from({ length: 20 }, (_, i) => i + 1)

/** The dependencies of webhooks besides a store. */
export type WebhookTools = {
  readonly secrets: Secrets
  /** The fault of a URL, such as `must be https`; null if it may be sent to. */
  readonly checkUrl: (url: string) => string | null
  readonly send: SendWebhook
}
type Tenant = Pick<EndpointWant, 'tenantId'>
type EndpointCreation = Tenant & NewWebhookEndpoint
type EndpointUpdate = EndpointWant & WebhookEndpointChanges
type Deps = Needs<'webhooks'> & { readonly webhooks: Pick<WebhookTools, 'secrets' | 'checkUrl'> }

/** Creates an endpoint, and returns its secret for the only time. Refuses `invalid_request`: the URL, the body; `limit_reached`. */
export const createWebhookEndpoint =
  ({ store, clock, newId, webhooks }: Deps) =>
  async (creation: EndpointCreation): Promise<Result<WebhookEndpointWithSecret>> => {
    const { tenantId, url, types, sources, logTypes, headers, method, body, description } = creation
    requireUrl(webhooks, url)
    const template = templateText(body)
    const now = isoTime(clock())
    const { secret, sealed } = webhooks.secrets.issue()
    const endpoint: Omit<StoredEndpoint, 'webhookEndpointId' | 'slot'> = {
      tenantId,
      url,
      types,
      sources: jsonOf(sources),
      logTypes: jsonOf(logTypes),
      description,
      headers: sealedHeaders(headers, webhooks.secrets.seal),
      method,
      body: template,
      ...ENABLED,
      secret: sealed,
      previousSecret: null,
      previousSecretUntil: null,
      createdAt: now,
      updatedAt: now,
    }
    const added = await decideAndSave({
      recall: () => store.webhooks.list(tenantId),
      decide: (others) => inFreeSlot(endpoint, others, newId),
      record: (change) => store.webhooks.add(change),
    })
    return { value: { ...endpointOf(added), secret } }
  }

const inFreeSlot = (
  endpoint: Omit<StoredEndpoint, 'webhookEndpointId' | 'slot'>,
  others: readonly StoredEndpoint[],
  newId: NewId,
) => {
  const taken = new Set(others.map(({ slot }) => slot))
  const slot = SLOTS.find((slot) => !taken.has(slot)) ?? tooMany()
  const added: StoredEndpoint = { ...endpoint, webhookEndpointId: newId('webhookendpoint'), slot }
  return { answer: added, change: added }
}
const tooMany = () => refuse('limit_reached', `A tenant has at most ${SLOTS.length} webhook endpoints.`)
const NO_FAILURES = { failures: 0, failingSince: null, lastError: null }
const ENABLED = { status: 'enabled', disabledReason: null, ...NO_FAILURES } as const

/** All endpoints of a tenant, oldest first. */
export const listWebhookEndpoints =
  ({ store }: Pick<Deps, 'store'>) =>
  async ({ tenantId }: Tenant): Promise<Result<{ readonly items: WebhookEndpoint[] }>> => {
    const endpoints = await store.webhooks.list(tenantId)
    return { value: { items: endpoints.map(endpointOf) } }
  }

/** Reads one endpoint. Refuses `webhook_endpoint_not_found`. */
export const getWebhookEndpoint =
  ({ store }: Pick<Deps, 'store'>) =>
  async (want: EndpointWant): Promise<Result<WebhookEndpoint>> => ({
    value: endpointOf(await existingEndpoint(store, want)),
  })

/**
 * Changes the given fields of an endpoint. The status `enabled`, or another URL, method or body, forgets its failures and ends
 * its rest. Refuses `webhook_endpoint_not_found`, `invalid_request`: the URL, the body.
 */
export const updateWebhookEndpoint =
  (deps: Deps) =>
  async (update: EndpointUpdate): Promise<Result<WebhookEndpoint>> => {
    const { url, types, sources, logTypes, headers, method, body, description, status, ...want } = update
    if (url !== undefined) requireUrl(deps.webhooks, url)
    const template = body === undefined ? undefined : templateText(body)
    const { seal } = deps.webhooks.secrets
    const sealed = headers === undefined ? undefined : sealedHeaders(headers, seal)
    const resetsFailures = (found: StoredEndpoint) =>
      status === 'enabled' ||
      (url ?? found.url) !== found.url ||
      (method ?? found.method) !== found.method ||
      (template !== undefined && template !== found.body)
    const fieldsOf = (found: StoredEndpoint) => ({
      url: url ?? found.url,
      types: types === undefined ? found.types : types,
      sources: sources === undefined ? found.sources : jsonOf(sources),
      logTypes: logTypes === undefined ? found.logTypes : jsonOf(logTypes),
      headers: sealed === undefined ? found.headers : sealed,
      method: method ?? found.method,
      body: template === undefined ? found.body : template,
      description: description === undefined ? found.description : description,
      ...(resetsFailures(found) && NO_FAILURES),
      ...(status === 'enabled' ? ENABLED : { status: status ?? found.status }),
    })
    return { value: endpointOf(await change(deps, want, fieldsOf, resetsFailures)) }
  }

/** Deletes an endpoint: nothing more is delivered to it. Refuses `webhook_endpoint_not_found`. */
export const deleteWebhookEndpoint =
  (deps: Deps) =>
  async (want: EndpointWant): Promise<void> => {
    await change(deps, want, () => ({ status: 'deleted', slot: null }))
  }

/** Replaces the secret; up to three older ones still sign until their overlap ends. Refuses `webhook_endpoint_not_found`. */
export const rotateWebhookSecret =
  (deps: Deps) =>
  async ({
    overlapHours,
    ...want
  }: EndpointWant & SecretRotation): Promise<Result<WebhookEndpointWithSecret>> => {
    const { secrets } = deps.webhooks
    const { secret, sealed } = secrets.issue()
    const now = deps.clock()
    // A secret whose key was lost cannot be opened, and would keep the new one from signing too.
    const canSign = (old: string) => secrets.open(old) !== null
    const rotated = await change(deps, want, (found) => rotatedTo(sealed, found, overlapHours, now, canSign))
    return { value: { ...endpointOf(rotated), secret } }
  }

/** Refuses `webhook_endpoint_not_found`. */
export const existingEndpoint = async (store: Deps['store'], want: EndpointWant): Promise<StoredEndpoint> =>
  endpointIn(await store.webhooks.list(want.tenantId), want)

const endpointIn = (
  endpoints: readonly StoredEndpoint[],
  { webhookEndpointId }: EndpointWant,
): StoredEndpoint => {
  const found = endpoints.find((endpoint) => endpoint.webhookEndpointId === webhookEndpointId)
  return found ?? refuse('webhook_endpoint_not_found', 'Webhook endpoint not found.')
}

/** Changes fields of an endpoint, and returns it. Both functions are pure. Refuses `webhook_endpoint_not_found`. */
const change = (
  { store, clock }: Deps,
  want: EndpointWant,
  fieldsOf: (found: StoredEndpoint) => Partial<StoredEndpoint>,
  resetsFailures = (_: StoredEndpoint) => false,
): Promise<StoredEndpoint> =>
  decideAndSave({
    recall: () => store.webhooks.list(want.tenantId),
    decide: (endpoints) => {
      const before = endpointIn(endpoints, want)
      const updatedAt = laterThan(before.updatedAt, isoTime(clock()))
      const after: StoredEndpoint = { ...before, ...fieldsOf(before), updatedAt }
      return { answer: after, change: { before, after } }
    },
    record: ({ before, after }) =>
      store.webhooks.change(after, before.updatedAt, { resetsFailures: resetsFailures(before) }),
  })

const requireUrl = ({ checkUrl }: Deps['webhooks'], url: string): void => {
  const detail = checkUrl(url)
  if (detail !== null)
    refuse('invalid_request', 'Nothing can be delivered to this URL.', {
      errors: [{ detail, pointer: '/url' }],
    })
}

const jsonOf = (list: readonly string[] | null) => list && JSON.stringify(list)
const endpointOf = (endpoint: StoredEndpoint): WebhookEndpoint => ({
  webhookEndpointId: endpoint.webhookEndpointId,
  url: endpoint.url,
  types: endpoint.types && [...endpoint.types],
  sources: endpoint.sources && JSON.parse(endpoint.sources),
  logTypes: endpoint.logTypes && JSON.parse(endpoint.logTypes),
  headers: shownHeaders(endpoint.headers),
  method: endpoint.method,
  body: endpoint.body === null ? null : { rawJson: endpoint.body },
  description: endpoint.description,
  status: endpoint.status === 'enabled' ? 'enabled' : 'disabled',
  disabledReason: endpoint.disabledReason,
  failures: endpoint.failures,
  failingSince: endpoint.failingSince,
  lastError: endpoint.lastError && JSON.parse(endpoint.lastError),
  createdAt: endpoint.createdAt,
  updatedAt: endpoint.updatedAt,
})
