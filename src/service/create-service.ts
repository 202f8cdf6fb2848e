import type * as v from 'valibot'
import { shareLoop } from '../adapters/http/share-loop.ts'
import { createNewId } from '../adapters/ids.ts'
import { stopwatch } from '../adapters/stopwatch.ts'
import { rememberRows } from '../adapters/stores/remember-rows.ts'
import { checkOptions } from '../config/check-options.ts'
import { DEFAULTS } from '../config/config.ts'
import type { LoggedActivity } from '../core/activities/log-prospect-activity.ts'
import type { NewActivity } from '../core/activities/new-log.ts'
import { refuse } from '../core/engine/failures.ts'
import { asOutcome, type Outcome } from '../core/engine/outcome.ts'
import { findEnabled, type Received, receiveHooks } from '../core/hooks/receive-hook.ts'
import type { Delivery } from '../core/hooks/verify.ts'
import type { ReadPage } from '../core/pages/get-page.ts'
import type { SmallStore, Store } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { brandsOf, createTenant } from '../core/tenants/create-tenant.ts'
import {
  type IssuedApiKey,
  issueApiKey,
  type ListedApiKey,
  type NewApiKey,
} from '../core/tenants/issue-api-key.ts'
import { listApiKeys } from '../core/tenants/list-api-keys.ts'
import { revokeApiKey } from '../core/tenants/revoke-api-key.ts'
import { rotateApiKey } from '../core/tenants/rotate-api-key.ts'
import {
  ApiKeyInput,
  type InTenant,
  inTenant,
  PublishedOptions,
  RotationInput,
  TenantInput,
} from '../shapes/input.ts'
import { checked, type Given } from './checked-input.ts'
import type { Operation } from './operations/operation.ts'
import {
  type EntriesOf,
  type OperationId,
  type Operations,
  operations,
  requireParts,
} from './operations/operations.ts'
import { publishedOver } from './published.ts'
import { warnUnattended } from './unattended.ts'
import { composeUseCases, type Optional, type UseCaseSettings, type UseCases } from './use-cases.ts'
import { type WebhookOptions, webhookTools } from './webhook-tools.ts'

export type { WebhookOptions } from './webhook-tools.ts'

const PAGE = inTenant(operations.getPage.ids)
const TENANTS_REMEMBERED_MAX = 10_000
/** A hook that was disabled elsewhere is refused after a second at the latest. */
const HOOKS_REMEMBERED = { rowsMax: 10_000, msMax: 1_000 }

/** The options of `createService`. Only the store is required. */
export type ServiceOptions = { readonly store: SmallStore } & Optional<
  { readonly clock: Clock; readonly newId: NewId; readonly webhooks: WebhookOptions } & UseCaseSettings
> & {
    /** Another process publishes pages, completes erasures and sends webhooks, so do not warn that none does here. */
    readonly background?: 'elsewhere' | undefined
    /** The URL at which vendors reach your server, without a trailing slash: hooks show their whole URL. */
    readonly publicUrl?: string | undefined
  }

type Many<Name extends OperationId, One> = 'item' extends keyof Operations[Name] ? readonly One[] : One
/** The checked inputs of the use cases. An error here names one whose input differs from its declaration. */
type Checked = {
  readonly [Name in Exclude<OperationId, 'logProspectActivities'>]: (
    input: Many<Name, v.InferOutput<InTenant<EntriesOf<Operations[Name]>>>>,
  ) => Promise<unknown>
}
/** An activity to log. `payload` is an object, or `{ rawJson }`: the text of one, which is stored byte for byte. */
export type LogActivityInput = Given<EntriesOf<Operations['logProspectActivity']>>
/** A person to create, or to find and complete: an `email`, an `externalId` or both. */
export type CreateProspectInput = Given<EntriesOf<Operations['createProspect']>>
/** A page group to create: its `name`, its `title`, and what readers see beside its pages. */
export type CreatePageGroupInput = Given<EntriesOf<Operations['createPageGroup']>>
/** A page to create. `content` is an object, or `{ rawJson }`: the text of one, which is stored byte for byte. */
export type CreatePageInput = Given<EntriesOf<Operations['createPageWithVersion']>>
/** A version to add to a page. `content` is an object, or `{ rawJson }`: the text of one, which is stored byte for byte. */
export type CreateVersionInput = Given<EntriesOf<Operations['createVersion']>>

/** A vendor's delivery to a hook. The signature is that of the bytes of the body. */
export type HookDelivery = {
  readonly hookId: string
  /** The token of a hook without signatures. */
  readonly token?: string | undefined
  /** Headers; names in any case. */
  readonly headers: Delivery['headers'] | Headers
  readonly body: Uint8Array | string
  /** For vendors that sign the URL as they called it. */
  readonly url?: string | undefined
}

/** The return value of `createService`: every operation, and functions that only programs can use. */
export type Service = {
  readonly [Name in keyof Operations]: (
    input: Many<Name, Given<EntriesOf<Operations[Name]>>>,
  ) => Name extends 'logProspectActivities'
    ? Promise<readonly Outcome<LoggedActivity>[]>
    : ReturnType<UseCases[Name]>
} & {
  /**
   * Waits until the newest version of a page has been processed, here or in another process, and resolves to the page:
   * `latestVersion` says whether that was published, is ready or scheduled, or failed. Refuses `unavailable` after
   * `timeoutMs` milliseconds, by default 30,000.
   */
  readonly published: (
    page: Given<EntriesOf<Operations['getPage']>>,
    options?: { readonly timeoutMs?: number | undefined },
  ) => Promise<ReadPage>
  /** Stops listening to the store, which stays open. Only a program that makes many services over one store needs it. */
  readonly close: () => void
  /** Creates a tenant with a name of 1 to 255 characters, and its first brand with the same name. */
  readonly createTenant: (tenant: { readonly name: string }) => ReturnType<ReturnType<typeof createTenant>>
  /**
   * Issues an API key to a tenant and returns it, for the only time. It expires `lifeMs` milliseconds later, at most 1,000
   * years; by default never. Refuses `not_found`, and `invalid_request`: no scope, or one that does not exist.
   */
  readonly issueApiKey: (
    key: Pick<NewApiKey, 'tenantId' | 'scopes'> & Optional<NewApiKey>,
  ) => Promise<IssuedApiKey>
  /** Lists the API keys of a tenant by its id, oldest first, with expired and revoked ones. Refuses `not_found`. */
  readonly listApiKeys: (tenantId: string) => Promise<readonly ListedApiKey[]>
  /**
   * Revokes an API key by its `apiKeyId`, in every process within a second. A revoked one stays unchanged. Refuses
   * `not_found`.
   */
  readonly revokeApiKey: (apiKeyId: string) => Promise<ListedApiKey>
  /**
   * Issues a key like the one with this `apiKeyId`, and returns it, for the only time. The old key expires after
   * `overlapMs` milliseconds, 0 to 1,000 years, by default a day, if not before. Refuses `not_found`, and
   * `invalid_request` if the old key is expired, revoked or already rotated.
   */
  readonly rotateApiKey: (
    apiKeyId: string,
    options?: { readonly overlapMs?: number | undefined },
  ) => Promise<IssuedApiKey>
  /**
   * Receives a vendor's delivery to a route of yours: verifies it, and logs its activities. Refuses `hook_not_found`,
   * `invalid_signature`, `loop_detected`, `unavailable`; answer with 404, 401, 508 and 503.
   */
  readonly receiveHook: (delivery: HookDelivery) => Promise<Received>
}

/**
 * Every operation over a store, with its input checked as over HTTP. An unknown tenant is refused: `not_found`. A
 * refusal is a thrown `DomainFailure`: branch on its `kind`; `facts.errors` lists the faults of the input.
 *
 * Calls that arrive together share a round trip to the database, and none waits for others.
 */
export const createService = (options: ServiceOptions): Service => {
  const { clock = Date.now, newId = createNewId() } = checkOptions('createService', options)
  // What needs a missing part refuses before it touches the part.
  const store = options.store as Store
  const { prospectsRememberedMax = DEFAULTS.prospectsRememberedMax } = options
  const { requireIdentity = false, counts = true } = options
  const deps = { store, clock, newId }
  const webhooks = webhookTools(options.webhooks, clock)
  const settings = { requireIdentity, prospectsRememberedMax, counts }
  const hooks = { secrets: webhooks.secrets, publicUrl: options.publicUrl ?? null, shareLoop }
  const composed = composeUseCases({ ...deps, ...settings, webhooks, hooks })
  const useCases: Checked = warnUnattended(composed, options.background)
  const known = rememberRows(findEnabled(store.hooks), ({ hookId }) => hookId, stopwatch, HOOKS_REMEMBERED)
  const { logProspectActivity } = composed
  const published = publishedOver(composed.getPage)
  const later = (ms: number, act: () => void) => void setTimeout(act, ms).unref()
  const receiver = receiveHooks({ ...deps, hooks, known, logProspectActivity, later })
  const tenants = new Map<string, Promise<unknown>>()
  const unwatch = options.store.watch?.((signal) => {
    if (signal === 'keys') {
      receiver.forget()
      tenants.clear()
    }
  })

  /** A known tenant needs no second look-up until keys or tenants change. A store without tenants takes any. */
  const ofTenant = async <Input extends { readonly tenantId: string }>(input: Input): Promise<Input> => {
    if (options.store.tenants === undefined) return input
    const { tenantId } = input
    if (tenants.size >= TENANTS_REMEMBERED_MAX) tenants.clear()
    const found = tenants.get(tenantId) ?? brandsOf(store, tenantId)
    tenants.set(tenantId, found)
    found.catch(() => tenants.delete(tenantId))
    await found
    return input
  }
  /** An operation as a function, or for many inputs if it takes a batch. */
  const callOf = (name: OperationId, { ids, query, body, takes, item }: Operation) => {
    const entries = { ...ids, ...query?.entries, ...(item ?? body)?.entries, ...takes }
    const shape = inTenant(entries, item ?? body)
    const prepare = async (input: unknown) => ofTenant(checked(shape, input))
    const run = useCases[name as keyof Checked] as (input: object) => Promise<unknown>
    if (item === undefined) return async (input: unknown) => run(await prepare(input))
    const prepareActivity = prepare as (input: unknown) => Promise<NewActivity>
    return async (input: readonly unknown[]) => {
      if (!Array.isArray(input)) refuse('invalid_request', 'Pass an array.')
      const answers = await composed.logProspectActivities({ inputs: input, prepare: prepareActivity })
      return answers.map((answer) => (answer instanceof Error ? asOutcome(answer) : answer))
    }
  }
  const all: { readonly [Name in keyof UseCases]: Operation } = operations
  const calls = Object.entries(all).map(([name, one]) => [name, callOf(name as OperationId, one)])

  return {
    ...Object.fromEntries(calls),
    published: async (page, options) =>
      published(await ofTenant(checked(PAGE, page)), checked(PublishedOptions, options).timeoutMs),
    close: () => unwatch?.(),
    createTenant: async (tenant) => {
      requireParts(store, 'createTenant', 'tenants')
      return createTenant(deps)(checked(TenantInput, tenant))
    },
    receiveHook: async ({ hookId, token, headers, body, url }) => {
      requireParts(store, 'receiveHook', 'hooks')
      const bytes = typeof body === 'string' ? Buffer.from(body) : body
      if (!(bytes instanceof Uint8Array) || typeof headers !== 'object')
        refuse('invalid_request', 'Pass the headers, and the body as it was received: bytes or text.')
      const entries = headers instanceof Headers ? [...headers] : Object.entries(headers)
      const named = Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]))
      const delivery = { headers: named, body: bytes, method: 'POST', url: url ?? null }
      return receiver.receive(await receiver.find(String(hookId), token ?? undefined), delivery)
    },
    issueApiKey: async ({ scopes, ...key }) => {
      requireParts(store, 'issueApiKey', 'apiKeys', 'tenants')
      return issueApiKey(deps)({ ...checked(ApiKeyInput, key), scopes })
    },
    listApiKeys: async (tenantId) => {
      requireParts(store, 'listApiKeys', 'apiKeys', 'tenants')
      return listApiKeys(deps)(String(tenantId))
    },
    revokeApiKey: async (apiKeyId) => {
      requireParts(store, 'revokeApiKey', 'apiKeys')
      return revokeApiKey(deps)(String(apiKeyId))
    },
    rotateApiKey: async (apiKeyId, options) => {
      requireParts(store, 'rotateApiKey', 'apiKeys', 'tenants')
      return rotateApiKey(deps)(String(apiKeyId), checked(RotationInput, options).overlapMs)
    },
  }
}
