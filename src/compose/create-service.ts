import type * as v from 'valibot'
import { parseJson, refuseDeep, refuseFaults } from '../adapters/http/parse-request.ts'
import { createNewId } from '../adapters/ids.ts'
import { DEFAULTS } from '../config/config.ts'
import { createPageGroup, type NewPageGroup } from '../core/create-page-group.ts'
import type { PageToCreate } from '../core/create-page-with-version.ts'
import { brandsOf, createTenant } from '../core/create-tenant.ts'
import type { Fault } from '../core/failures.ts'
import { inOrder } from '../core/in-order.ts'
import { issueApiKey, type NewApiKey } from '../core/issue-api-key.ts'
import type { ErasureListing, ErasureRead } from '../core/list-erasures.ts'
import type { PageGroupListing } from '../core/list-page-groups.ts'
import type { ProspectLogListing } from '../core/list-prospect-logs.ts'
import type { ProspectListing } from '../core/list-prospects.ts'
import type { TimelineListing } from '../core/list-timeline.ts'
import type { NewActivity } from '../core/new-log.ts'
import { asOutcome } from '../core/outcome.ts'
import type { PageWant } from '../core/ports/pages.ts'
import type { ProspectLogWant } from '../core/ports/prospect-logs.ts'
import type { ProspectWant } from '../core/ports/prospects.ts'
import type { Store } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { rememberProspects } from '../core/remember-prospects.ts'
import type { ErasureRequest } from '../core/request-erasure.ts'
import type { ProspectCorrection } from '../core/update-prospect.ts'
import { composeUseCases, type Optional, type UseCaseSettings } from '../core/use-cases.ts'
import { membersOf } from '../json/raw-json.ts'
import { checkShape } from '../shapes/check.ts'
import * as inputs from '../shapes/input.ts'
import type { RawJson } from '../shapes/json.ts'
import { checkOptions } from './check-options.ts'

const TENANTS_REMEMBERED_MAX = 10_000

/** What `createService` needs. Only the store is required. */
export type ServiceOptions = { readonly store: Store } & Optional<
  { readonly clock: Clock; readonly newId: NewId } & UseCaseSettings
>
/** An activity to log. `payload.rawJson` is the text of a JSON object. The type is `webhook` by default. */
export type ActivityToLog = Omit<NewActivity, 'type'> & { readonly type?: string | undefined }
/** Which slice of a list to return: `limit` is 1 to 100, by default 20; `cursor` the `nextCursor` of the slice before. */
export type SliceOptions = { readonly limit?: number | undefined; readonly cursor?: string | undefined }

/** What `createService` returns. */
export type Service = ReturnType<typeof createService>

/**
 * Every operation over a store, with its input checked as over HTTP. A tenant that does not exist is refused: `not_found`.
 * A refusal is thrown as a `DomainFailure`: branch on its `kind`; `facts.errors` lists what is wrong with the input.
 *
 * Calls that arrive together share a round trip to the database, and none waits for others.
 */
export const createService = ({
  store,
  clock = Date.now,
  newId = createNewId(),
  requireIdentity = false,
  prospectsRememberedMax = DEFAULTS.prospectsRememberedMax,
  listsInFlightMax = 1,
  tenantListsMax,
}: ServiceOptions) => {
  const deps = checkOptions({ store, clock, newId })
  const limits = checkOptions({ prospectsRememberedMax, listsInFlightMax, tenantListsMax })
  const remembered = rememberProspects(prospectsRememberedMax, () => performance.now())
  const useCases = composeUseCases({ ...deps, ...limits, requireIdentity, remembered })
  store.watch((signal) => {
    if (signal === 'prospects') remembered.forget()
  })
  const tenants = new Map<string, Promise<unknown>>()

  /** Tenants are never deleted, so one that exists needs no second look-up. */
  const ofTenant = async <Input extends { readonly tenantId: string }, Answer>(
    input: Input,
    run: (input: Input) => Promise<Answer>,
  ): Promise<Answer> => {
    const { tenantId } = input
    if (tenants.size >= TENANTS_REMEMBERED_MAX) tenants.clear()
    const found = tenants.get(tenantId) ?? brandsOf(store, tenantId)
    tenants.set(tenantId, found)
    found.catch(() => tenants.delete(tenantId))
    await found
    return run(input)
  }
  const checkedActivity = (activity: ActivityToLog) => checked(inputs.ActivityInput, activity, ['payload'])

  return {
    /** Creates a tenant, and its first brand with the same name. */
    createTenant: async (tenant: { readonly name: string }) =>
      createTenant(deps)(checked(inputs.TenantInput, tenant)),
    /** Issues an API key and returns it, for the only time. It never expires unless `lifeMs` is given. */
    issueApiKey: async (key: Pick<NewApiKey, 'tenantId' | 'scopes'> & Optional<NewApiKey>) =>
      issueApiKey(deps)({ ...checked(inputs.ApiKeyInput, key), scopes: key.scopes }),
    /** Creates a page group, by default in the first brand of the tenant. */
    createPageGroup: async (
      group: Optional<NewPageGroup> & Pick<NewPageGroup, 'tenantId' | 'name' | 'title'>,
    ) =>
      createPageGroup(deps)(checked(inputs.PageGroupCreation, group, ['actions', 'footerLinks', 'scripts'])),
    /** Logs one activity, for the prospect with this id, else the one with this email, else a new one. */
    logActivity: async (activity: ActivityToLog) =>
      ofTenant(checkedActivity(activity), useCases.logProspectActivity),
    /**
     * Logs many, in order. Returns for each its result or its `DomainFailure`; one failure affects no other, but after
     * `unavailable` the rest is not tried.
     */
    logActivities: async (activities: readonly ActivityToLog[]) =>
      (
        await inOrder(activities, {
          prepare: (activity) => ofTenant(checkedActivity(activity), async (input) => input),
          run: useCases.logProspectActivities,
        })
      ).map((answer) => (answer instanceof Error ? asOutcome(answer) : answer)),
    /** One slice of the prospects of a tenant, newest first. With an email: the one that has it, if any. */
    listProspects: async (list: SliceOptions & Omit<ProspectListing, 'limit'>) =>
      ofTenant(checkedList(inputs.ProspectListInput, list), useCases.listProspects),
    getProspect: async (want: ProspectWant) =>
      ofTenant(checked(inputs.ProspectInput, want), useCases.getProspect),
    /** Corrects the email or the name of a prospect; null clears it. */
    updateProspect: async (correction: ProspectCorrection) =>
      ofTenant(checked(inputs.ProspectUpdateInput, correction), useCases.updateProspect),
    /** One slice of the activities of a prospect, newest first by `occurredAt`. */
    listTimeline: async (list: SliceOptions & Omit<TimelineListing, 'limit'>) =>
      ofTenant(checkedList(inputs.TimelineInput, list), useCases.listTimeline),
    /** One slice of the activities of a tenant, newest first in the order of arrival. */
    listProspectLogs: async (list: SliceOptions & Omit<ProspectLogListing, 'limit'>) =>
      ofTenant(checkedList(inputs.ProspectLogListInput, list), useCases.listProspectLogs),
    getProspectLog: async (want: ProspectLogWant) =>
      ofTenant(checked(inputs.ProspectLogInput, want), useCases.getProspectLog),
    /** Erases a person, by prospect id or email. An eraser of `prospect-pages/publisher` must run to complete it. */
    eraseProspect: async (request: Optional<ErasureRequest> & Pick<ErasureRequest, 'tenantId'>) =>
      ofTenant(checked(inputs.ErasureInput, request), useCases.eraseProspect),
    /** One slice of the erasures of a tenant, newest first. */
    listErasures: async (list: SliceOptions & Pick<ErasureListing, 'tenantId'>) =>
      ofTenant(checkedList(inputs.ErasureListInput, list), useCases.listErasures),
    /** Reads an erasure. */
    getErasure: async (erasure: ErasureRead) =>
      ofTenant(checked(inputs.ErasureReadInput, erasure), useCases.getErasure),
    /** One slice of the page groups of a tenant, newest first. Without a status: all but the deleted ones. */
    listPageGroups: async (list: SliceOptions & Pick<PageGroupListing, 'tenantId' | 'status'>) =>
      ofTenant(checkedList(inputs.PageGroupListInput, list), useCases.listPageGroups),
    /** One slice of the pages of a group, newest first. */
    listPages: async (list: SliceOptions & Pick<PageWant, 'tenantId' | 'pageGroupId'>) =>
      ofTenant(checkedList(inputs.PageListInput, list), useCases.listPages),
    /** Reads a page with its published version, which is null until a publisher has published one. */
    getPage: async (page: PageWant) => ofTenant(checked(inputs.PageInput, page), useCases.getPage),
    /** Creates a page whose first version waits for a publisher. */
    createPage: async (page: PageToCreate) =>
      ofTenant(checked(inputs.PageCreationInput, page), useCases.createPageWithVersion),
  }
}

type Checked<Output, Raw> = { readonly [Name in keyof Output]: Name extends Raw ? RawJson : Output[Name] }

/** What an operation is given, checked against its shape. JSON texts are parsed for that, and passed on unchanged. */
const checked = <Shape extends v.GenericSchema, Raw extends string = never>(
  shape: Shape,
  given: object,
  rawNames: readonly Raw[] = [],
  place: 'pointer' | 'parameter' = 'pointer',
): Checked<v.InferOutput<Shape>, Raw> => {
  const texts: Record<string, RawJson> = {}
  const values: Record<string, unknown> = { ...given }
  const faults: Fault[] = []
  for (const name of rawNames) {
    const { rawJson } = Object(values[name]) as Partial<RawJson>
    if (typeof rawJson === 'string') {
      texts[name] = { rawJson }
      values[name] = parseJson(rawJson, name)
      refuseDeep(membersOf(`{"${name}":${rawJson}}`).depth, name)
    } else if (values[name] !== undefined)
      faults.push({ detail: 'must be { rawJson }: the text of a JSON value', pointer: `/${name}` })
  }
  const { output, faults: others } = checkShape(shape, values, place)
  faults.push(...others.filter((other) => !faults.some(({ pointer }) => pointer === other['pointer'])))
  const words = faults.map(({ detail, pointer, parameter }) => `${pointer ?? parameter} ${detail}`)
  refuseFaults(faults, `Invalid input: ${words.join('; ')}.`)
  return { ...(output as object), ...texts } as Checked<v.InferOutput<Shape>, Raw>
}

/** Over HTTP the limit is a text, and so its shape is one of a text. */
const checkedList = <Shape extends v.GenericSchema>(shape: Shape, { limit, ...list }: SliceOptions = {}) =>
  checked(shape, { ...list, ...(limit !== undefined && { limit: String(limit) }) }, [], 'parameter')
