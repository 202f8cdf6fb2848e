import type * as v from 'valibot'
import type { LoggedActivity } from '../core/activities/log-prospect-activity.ts'
import type { Optional } from '../core/engine/optional.ts'
import type { Outcome } from '../core/engine/outcome.ts'
import type { Delivery } from '../core/hooks/delivery.ts'
import type { Received } from '../core/hooks/receive-hook.ts'
import type { ReadPage } from '../core/pages/get-page.ts'
import type { SmallStore } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import type { CreatedProspect } from '../core/prospects/create-prospect.ts'
import type { createTenant } from '../core/tenants/create-tenant.ts'
import type { IssuedApiKey, ListedApiKey, NewApiKey } from '../core/tenants/issue-api-key.ts'
import type { InTenant } from '../shapes/input.ts'
import type { InputOf } from './check-input.ts'
import type { EntriesOf, OperationId, Operations, UseCases } from './operations/operations.ts'
import type { UseCaseSettings } from './use-cases.ts'
import type { WebhookOptions } from './webhook-tools.ts'

/** The options of `createService`. Only the store is required. */
export type ServiceOptions = { readonly store: SmallStore } & Optional<
  { readonly clock: Clock; readonly newId: NewId; readonly webhooks: WebhookOptions } & UseCaseSettings
> & {
    /** Another process publishes pages, completes erasures and sends webhooks, so do not warn that none does here. */
    readonly background?: 'elsewhere' | undefined
    /** The URL at which vendors reach your server, without a trailing slash: hooks show their whole URL. */
    readonly publicUrl?: string | undefined
  }

/** The input of an operation: a list of inputs if it takes a batch. */
type OneOrMany<Name extends OperationId, One> = 'item' extends keyof Operations[Name] ? readonly One[] : One
/** The operations that take a batch, and the result of each item. */
type BatchAnswers = {
  readonly logProspectActivities: LoggedActivity
  readonly createProspects: CreatedProspect
}
/** The use cases with the inputs that are declared. A type error where it is used names a use case with another input. */
export type CheckedUseCases = {
  readonly [Name in Exclude<OperationId, keyof BatchAnswers>]: (
    input: OneOrMany<Name, v.InferOutput<InTenant<EntriesOf<Operations[Name]>>>>,
  ) => Promise<unknown>
}
/** An activity to log. `payload` is an object, or `{ rawJson }`: the text of one, which is stored byte for byte. */
export type LogActivityInput = InputOf<EntriesOf<Operations['logProspectActivity']>>
/** A person to create, or to find and complete: an `email`, an `externalId` or both. */
export type CreateProspectInput = InputOf<EntriesOf<Operations['createProspect']>>
/** A page group to create: its `name`, its `title`, and what readers see beside its pages. */
export type CreatePageGroupInput = InputOf<EntriesOf<Operations['createPageGroup']>>
/** A page to create. `content` is an object, or `{ rawJson }`: the text of one, which is stored byte for byte. */
export type CreatePageInput = InputOf<EntriesOf<Operations['createPageWithVersion']>>
/** A version to add to a page. `content` is an object, or `{ rawJson }`: the text of one, which is stored byte for byte. */
export type CreateVersionInput = InputOf<EntriesOf<Operations['createVersion']>>

/** A vendor's delivery to a hook. The signature is that of the bytes of the body. */
export type HookDelivery = {
  readonly hookId: string
  /** The token of a hook without signatures. */
  readonly token?: string | undefined
  /** Headers; names in any case. */
  readonly headers: Delivery['headers'] | Headers
  readonly body: Uint8Array | string
  /** `POST` by default. Some vendors check the address by a `GET`. */
  readonly method?: string | undefined
  /** For vendors that sign the URL as they called it, and for what is in its query. */
  readonly url?: string | undefined
}

/** Every operation as a function of its input. */
export type OperationCalls = {
  readonly [Name in keyof Operations]: (
    input: OneOrMany<Name, InputOf<EntriesOf<Operations[Name]>>>,
  ) => Name extends keyof BatchAnswers
    ? Promise<readonly Outcome<BatchAnswers[Name]>[]>
    : ReturnType<UseCases[Name]>
}

/** The return value of `createService`: every operation, and functions that only programs can use. */
export type Service = OperationCalls & {
  /**
   * Waits until the newest version of a page has been processed, here or in another process, and resolves to the page:
   * `latestVersion` says whether that was published, is ready or scheduled, or failed. Refuses `unavailable` after
   * `timeoutMs` milliseconds, by default 30,000.
   */
  readonly published: (
    page: InputOf<Operations['getPage']['ids']>,
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
