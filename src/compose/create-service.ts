import type * as v from 'valibot'
import { parseJson, refuseDeep, refuseFaults } from '../adapters/http/parse-request.ts'
import { createNewId } from '../adapters/ids.ts'
import { DEFAULTS } from '../config/config.ts'
import { createPageGroup, type NewPageGroup } from '../core/create-page-group.ts'
import type { PageToCreate } from '../core/create-page-with-version.ts'
import { brandsOf, createTenant } from '../core/create-tenant.ts'
import { DomainFailure, type Fault } from '../core/failures.ts'
import { issueApiKey, type NewApiKey } from '../core/issue-api-key.ts'
import type { ErasureListing, ErasureRead } from '../core/list-erasures.ts'
import type { PageGroupListing } from '../core/list-page-groups.ts'
import type { NewActivity } from '../core/new-log.ts'
import type { PageWant } from '../core/ports/pages.ts'
import type { Store } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { rememberProspects } from '../core/remember-prospects.ts'
import type { ErasureRequest } from '../core/request-erasure.ts'
import { membersOf } from '../json/raw-json.ts'
import { checkShape } from '../shapes/check.ts'
import * as inputs from '../shapes/input.ts'
import type { RawJson } from '../shapes/json.ts'
import { checkCounts } from './check-counts.ts'
import { composeUseCases } from './use-cases.ts'

const TENANTS_REMEMBERED_MAX = 10_000

/** What `createService` needs. Only the store is required. */
export type ServiceOptions = {
  readonly store: Store
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  /** Refuse an activity without a prospect id or an email to find its prospect by. */
  readonly requireIdentity?: boolean | undefined
  /** Prospects that need no look-up; 0: none. */
  readonly prospectsRememberedMax?: number | undefined
  /** Lists of one operation in flight at a time. On PostgreSQL 2 is faster than 1. */
  readonly listsInFlightMax?: number | undefined
  /** On Citus, with a store for it: makes lists of one tenant, so many of each in flight at a time. */
  readonly tenantListsMax?: number | undefined
}
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
  checkCounts({ prospectsRememberedMax, listsInFlightMax })
  const deps = { store, clock, newId }
  const lists = { listsInFlightMax, tenantListsMax }
  const remembered = rememberProspects(prospectsRememberedMax, () => performance.now())
  const useCases = composeUseCases({ ...deps, requireIdentity, prospectsRememberedMax, remembered, ...lists })
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
  const logActivity = async (activity: ActivityToLog) =>
    ofTenant(checked(inputs.ActivityInput, activity, ['payload']), useCases.logProspectActivity)

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
    logActivity,
    /** Logs many. Returns for each, in order, its result or its `DomainFailure`; one failure affects no other. */
    logActivities: (activities: readonly ActivityToLog[]) =>
      Promise.all(activities.map((activity) => logActivity(activity).catch(asOutcome))),
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

type Optional<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined }
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
  faults.push(...others)
  const words = faults.map(({ detail, pointer, parameter }) => `${pointer ?? parameter} ${detail}`)
  refuseFaults(faults, `Invalid input: ${words.join('; ')}.`)
  return { ...(output as object), ...texts } as Checked<v.InferOutput<Shape>, Raw>
}

/** Over HTTP the limit is a text, and so its shape is one of a text. */
const checkedList = <Shape extends v.GenericSchema>(shape: Shape, { limit, ...list }: SliceOptions = {}) =>
  checked(shape, { ...list, ...(limit !== undefined && { limit: String(limit) }) }, [], 'parameter')

const asOutcome = (why: unknown): DomainFailure => {
  if (why instanceof DomainFailure) return why
  throw why
}
