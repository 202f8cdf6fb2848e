import type * as v from 'valibot'
import { createNewId } from '../adapters/ids.ts'
import { warnUnattended } from '../adapters/unattended.ts'
import { checkOptions } from '../config/check-options.ts'
import { DEFAULTS } from '../config/config.ts'
import { brandsOf, createTenant } from '../core/create-tenant.ts'
import { refuse } from '../core/failures.ts'
import { inOrder } from '../core/in-order.ts'
import { issueApiKey, type NewApiKey } from '../core/issue-api-key.ts'
import type { NewActivity } from '../core/new-log.ts'
import { asOutcome } from '../core/outcome.ts'
import type { Store } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { rememberProspects } from '../core/remember-prospects.ts'
import { composeUseCases, type Optional, type UseCaseSettings } from '../core/use-cases.ts'
import { NewErasure } from '../shapes/erasure.ts'
import { EventQuery } from '../shapes/event.ts'
import * as inputs from '../shapes/input.ts'
import { anyId, conditional, createdOnce, type InTenant, inTenant } from '../shapes/input.ts'
import { NewPage, NewVersion, PageChanges } from '../shapes/page.ts'
import { NewPageGroup, PageGroupChanges, PageGroupInput, PageGroupQuery } from '../shapes/page-group.ts'
import { ProspectChanges, ProspectQuery } from '../shapes/prospect.ts'
import { ProspectLogQuery, TimelineQuery } from '../shapes/prospect-log.ts'
import { SliceQuery } from '../shapes/slice.ts'
import * as shapes from '../shapes/webhook.ts'
import { checked, type Given } from './checked-input.ts'
import { type WebhookOptions, webhookTools } from './webhook-tools.ts'

export type { SliceOptions } from './checked-input.ts'
export type { WebhookOptions } from './webhook-tools.ts'

const TENANTS_REMEMBERED_MAX = 10_000
const prospect = { prospectId: anyId }
const group = { pageGroupId: anyId }
const page = { ...group, pageId: anyId }
const version = { ...page, versionId: anyId }
const endpoint = { webhookEndpointId: anyId }

/** What `createService` needs. Only the store is required. */
export type ServiceOptions = { readonly store: Store } & Optional<
  { readonly clock: Clock; readonly newId: NewId; readonly webhooks: WebhookOptions } & UseCaseSettings
> & {
    /** Another process completes erasures and sends webhooks, so do not warn that none does here. */
    readonly background?: 'elsewhere' | undefined
  }
/** An activity to log. `payload.rawJson` is the text of a JSON object. The type is `webhook` by default. */
export type ActivityToLog = Omit<NewActivity, 'type'> & { readonly type?: string | undefined }

/** What `createService` returns. */
export type Service = ReturnType<typeof createService>

/**
 * Every operation over a store, with its input checked as over HTTP. A tenant that does not exist is refused: `not_found`.
 * A refusal is thrown as a `DomainFailure`: branch on its `kind`; `facts.errors` lists what is wrong with the input.
 *
 * Calls that arrive together share a round trip to the database, and none waits for others.
 */
export const createService = (options: ServiceOptions) => {
  const { store, clock = Date.now, newId = createNewId() } = checkOptions('createService', options)
  const { prospectsRememberedMax = DEFAULTS.prospectsRememberedMax } = options
  const { requireIdentity = false, listsInFlightMax = 1, tenantListsMax } = options
  const deps = { store, clock, newId }
  const webhooks = webhookTools(options.webhooks, clock)
  const settings = { requireIdentity, prospectsRememberedMax, listsInFlightMax, tenantListsMax }
  const remembered = rememberProspects(prospectsRememberedMax, () => performance.now())
  const composed = composeUseCases({ ...deps, ...settings, remembered, webhooks })
  const useCases = warnUnattended(composed, store, options.background)
  const close = store.watch(remembered.onSignal)
  const tenants = new Map<string, Promise<unknown>>()

  /** Tenants are never deleted, so one that exists needs no second look-up. */
  const ofTenant = async <Input extends { readonly tenantId: string }>(input: Input): Promise<Input> => {
    const { tenantId } = input
    if (tenants.size >= TENANTS_REMEMBERED_MAX) tenants.clear()
    const found = tenants.get(tenantId) ?? brandsOf(store, tenantId)
    tenants.set(tenantId, found)
    found.catch(() => tenants.delete(tenantId))
    await found
    return input
  }
  const operation = <Entries extends v.ObjectEntries, Answer>(
    entries: Entries,
    run: (input: v.InferOutput<InTenant<Entries>>) => Promise<Answer>,
  ) => {
    const shape = inTenant(entries)
    return async (given: Given<Entries>) => run(await ofTenant(checked(shape, given)))
  }
  const prepare = async (activity: ActivityToLog) => ofTenant(checked(inputs.ActivityInput, activity))

  return {
    /** Stops listening to the store, which stays open. Only a program that makes many services over one store needs it. */
    close,
    /** Creates a tenant, and its first brand with the same name. */
    createTenant: async (tenant: { readonly name: string }) =>
      createTenant(deps)(checked(inputs.TenantInput, tenant)),
    /** Issues an API key and returns it, for the only time. It never expires unless `lifeMs` is given. */
    issueApiKey: async (key: Pick<NewApiKey, 'tenantId' | 'scopes'> & Optional<NewApiKey>) =>
      issueApiKey(deps)({ ...checked(inputs.ApiKeyInput, key), scopes: key.scopes }),
    /** Logs one activity, for the prospect with this id, else the one with this email, else a new one. */
    logActivity: async (activity: ActivityToLog) => useCases.logProspectActivity(await prepare(activity)),
    /**
     * Logs many, in order. Returns for each its result or its `DomainFailure`; one failure affects no other, but after
     * `unavailable` the rest is not tried.
     */
    logActivities: async (activities: readonly ActivityToLog[]) => {
      if (!Array.isArray(activities)) refuse('invalid_request', 'Pass an array.')
      const answers = await inOrder(activities, { prepare, run: useCases.logProspectActivities })
      return answers.map((answer) => (answer instanceof Error ? asOutcome(answer) : answer))
    },
    /** One slice of the prospects of a tenant, newest first. With an email: the one that has it, if any. */
    listProspects: operation(ProspectQuery.entries, useCases.listProspects),
    /** Reads a prospect. */
    getProspect: operation(prospect, useCases.getProspect),
    /** Corrects the email or the name of a prospect; null clears it. */
    updateProspect: operation({ ...prospect, ...ProspectChanges.entries }, useCases.updateProspect),
    /** One slice of the activities of a prospect, newest first by `occurredAt`. */
    listTimeline: operation({ ...prospect, ...TimelineQuery.entries }, useCases.listTimeline),
    /** One slice of the activities of a tenant, newest first in the order of arrival. */
    listProspectLogs: operation(ProspectLogQuery.entries, useCases.listProspectLogs),
    /** Reads an activity with its payload. */
    getProspectLog: operation({ prospectLogId: anyId }, useCases.getProspectLog),
    /** Erases a person, by prospect id or email. `startBackground` of `prospect-pages/publisher` completes it. */
    eraseProspect: operation(NewErasure.entries, useCases.eraseProspect),
    /** One slice of the erasures of a tenant, newest first. */
    listErasures: operation(SliceQuery.entries, useCases.listErasures),
    /** Reads an erasure: how far it is. */
    getErasure: operation({ erasureId: anyId }, useCases.getErasure),
    /** Lifts the block of an erased email: the person may return. */
    unblockErasure: operation({ erasureId: anyId }, useCases.unblockErasure),
    /** One slice of the page groups of a tenant, newest first. Without a status: all but the deleted ones. */
    listPageGroups: operation(PageGroupQuery.entries, useCases.listPageGroups),
    /** Creates a page group, by default in the first brand of the tenant. */
    createPageGroup: operation(
      { ...PageGroupInput.entries, ...NewPageGroup.entries, ...createdOnce },
      useCases.createPageGroup,
    ),
    /** Reads a page group. */
    getPageGroup: operation(group, useCases.getPageGroup),
    /** Changes the given fields. `ifRevision`, here and below: only if the revision is one of these. */
    updatePageGroup: operation(
      { ...group, ...PageGroupChanges.entries, ...conditional },
      useCases.updatePageGroup,
    ),
    /** Deletes a page group: neither it nor its pages are found any more. */
    deletePageGroup: operation({ ...group, ...conditional }, useCases.deletePageGroup),
    /** One slice of the pages of a group, newest first. */
    listPages: operation({ ...group, ...SliceQuery.entries }, useCases.listPages),
    /** Reads a page with its published version, which is null until a publisher has published one. */
    getPage: operation(page, useCases.getPage),
    /** Creates a page whose first version waits for a publisher. */
    createPage: operation({ ...group, ...NewPage.entries, ...createdOnce }, useCases.createPageWithVersion),
    /** Renames a page; null removes its custom name. */
    updatePage: operation({ ...page, ...PageChanges.entries, ...conditional }, useCases.updatePage),
    /** Deletes a page with its versions. */
    deletePage: operation({ ...page, ...conditional }, useCases.deletePage),
    /** One slice of the versions of a page, newest first, without their content. */
    listVersions: operation({ ...page, ...SliceQuery.entries }, useCases.listVersions),
    /** Reads a version with its content. */
    getVersion: operation(version, useCases.getVersion),
    /** Creates a version, which waits for a publisher. What is left out is as in the newest version. */
    createVersion: operation({ ...page, ...NewVersion.entries, ...createdOnce }, useCases.createVersion),
    /** Publishes a version; an older one, too. */
    publishVersion: operation({ ...version, ...conditional }, useCases.publishVersion),
    /** Withdraws the published version. */
    unpublishPage: operation({ ...page, ...conditional }, useCases.unpublishPage),
    /** One slice of the feed of a tenant, oldest first. Keep `nextCursor`, and go on from there later. */
    listEvents: operation(EventQuery.entries, useCases.listEvents),
    /** Reads an event with its data as of now. */
    getEvent: operation({ eventId: anyId }, useCases.getEvent),
    /** Creates a webhook endpoint, and returns its secret for the only time. */
    createWebhookEndpoint: operation(shapes.NewWebhookEndpoint.entries, useCases.createWebhookEndpoint),
    /** Lists all webhook endpoints of a tenant, oldest first. */
    listWebhookEndpoints: operation({}, useCases.listWebhookEndpoints),
    /** Reads a webhook endpoint, without its secret. */
    getWebhookEndpoint: operation(endpoint, useCases.getWebhookEndpoint),
    /** Changes the given fields; `status` disables it, or enables it again. */
    updateWebhookEndpoint: operation(
      { ...endpoint, ...shapes.WebhookEndpointChanges.entries },
      useCases.updateWebhookEndpoint,
    ),
    /** Deletes a webhook endpoint with its deliveries. */
    deleteWebhookEndpoint: operation(endpoint, useCases.deleteWebhookEndpoint),
    /** Returns a new secret, for the only time. The old one signs too for `overlapHours`. */
    rotateWebhookSecret: operation(
      { ...endpoint, ...shapes.SecretRotation.entries },
      useCases.rotateWebhookSecret,
    ),
    /** Sends a webhook to an endpoint now, and returns the result. */
    testWebhookEndpoint: operation(endpoint, useCases.testWebhookEndpoint),
    /** One slice of the deliveries of an endpoint, newest event first. */
    listDeliveries: operation({ ...endpoint, ...shapes.DeliveryQuery.entries }, useCases.listDeliveries),
    /** Makes a delivery pending again. */
    retryDelivery: operation({ ...endpoint, eventId: anyId }, useCases.retryDelivery),
    /** Delivers the events since a time again. */
    replayDeliveries: operation({ ...endpoint, ...shapes.Replay.entries }, useCases.replayDeliveries),
  }
}
