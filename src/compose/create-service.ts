import type * as v from 'valibot'
import { parseJson, refuseDeep, refuseFaults } from '../adapters/http/parse-request.ts'
import { createNewId } from '../adapters/ids.ts'
import { createPageGroup, type NewPageGroup } from '../core/create-page-group.ts'
import type { PageCreation, PageToCreate } from '../core/create-page-with-version.ts'
import { brandsOf, createTenant } from '../core/create-tenant.ts'
import { DomainFailure, type Fault } from '../core/failures.ts'
import { type IssuedApiKey, issueApiKey } from '../core/issue-api-key.ts'
import type { LoggedActivity, NewActivity } from '../core/log-prospect-activity.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Scope } from '../core/ports/api-keys.ts'
import type { PageWant } from '../core/ports/pages.ts'
import type { Store } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { membersOf } from '../json/raw-json.ts'
import { checkShape, pointerTo } from '../shapes/check.ts'
import * as inputs from '../shapes/input.ts'
import type { RawJson } from '../shapes/json.ts'
import type { PageSlice, PageWithVersion } from '../shapes/page.ts'
import type { PageGroup, PageGroupSlice, PageGroupStatus } from '../shapes/page-group.ts'
import { composeUseCases } from './use-cases.ts'

/** What `createService` needs. Only the store is required. */
export type ServiceOptions = {
  readonly store: Store
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  /** Refuse an activity without a prospect id or an email to find its prospect by. */
  readonly requireIdentity?: boolean | undefined
  /** Lists of one operation in flight at a time. On PostgreSQL 2 is faster than 1. */
  readonly listsInFlightMax?: number | undefined
}

/** An activity to log. `payload.rawJson` is the text of a JSON object, which is stored as it is. */
export type ActivityToLog = Omit<NewActivity, 'type'> & {
  /** The kind of activity; `webhook` by default. */
  readonly type?: string | undefined
}
/** Which slice of a list to return: at most `limit` items, 1 to 100, 20 by default. */
export type SliceOptions = {
  readonly limit?: number | undefined
  /** The `nextCursor` of the slice before. */
  readonly cursor?: string | undefined
}

/**
 * The operations over a store. Each checks its input as the HTTP API does, and refuses a tenant that does not exist
 * (`not_found`). A refusal is thrown as a `DomainFailure`: branch on its `kind`; `facts.errors` lists what is wrong with
 * the input.
 */
export type Service = {
  /** Creates a tenant, and its first brand with the same name. */
  createTenant(tenant: { readonly name: string }): Promise<{ tenantId: string; brandId: string }>
  /** Issues an API key and returns it, for the only time. It never expires unless `lifeMs` is given. */
  issueApiKey(key: {
    readonly tenantId: string
    readonly scopes: readonly Scope[]
    readonly name?: string | null | undefined
    readonly lifeMs?: number | null | undefined
  }): Promise<IssuedApiKey>
  /** Creates a page group, by default in the first brand of the tenant. */
  createPageGroup(group: NewPageGroup): Promise<PageGroup>
  /** Logs one activity, for the prospect with this id, else the one with this email, else a new one. */
  logActivity(activity: ActivityToLog): Promise<LoggedActivity>
  /** Logs many, in this order. Returns for each its result or its `DomainFailure`; one failure affects no other. */
  logActivities(activities: readonly ActivityToLog[]): Promise<readonly Outcome<LoggedActivity>[]>
  /** One slice of the page groups of a tenant, newest first. Without a status: all but the deleted ones. */
  listPageGroups(
    list: SliceOptions & { readonly tenantId: string; readonly status?: PageGroupStatus | undefined },
  ): Promise<PageGroupSlice>
  /** One slice of the pages of a group, newest first. */
  listPages(
    list: SliceOptions & { readonly tenantId: string; readonly pageGroupId: string },
  ): Promise<PageSlice>
  /** Reads a page with its published version, which is null until a publisher has published one. */
  getPage(page: PageWant): Promise<PageWithVersion>
  /** Creates a page whose first version waits for a publisher. */
  createPage(page: PageToCreate): Promise<PageCreation>
}

const TENANTS_REMEMBERED_MAX = 10_000

/**
 * Every operation over a store, with checked input. Calls that arrive together share a round trip to the database, and
 * none waits for others.
 */
export const createService = ({
  store,
  clock = Date.now,
  newId = createNewId(),
  requireIdentity = false,
  listsInFlightMax = 1,
}: ServiceOptions): Service => {
  const deps = { store, clock, newId }
  const useCases = composeUseCases({ ...deps, requireIdentity, listsInFlightMax })
  const tenants = new Map<string, Promise<unknown>>()

  /** Refuses `not_found`. Tenants are never deleted, so one that exists needs no second look-up. */
  const mustExist = (tenantId: string): Promise<unknown> => {
    const known = tenants.get(tenantId)
    if (known !== undefined) return known
    if (tenants.size >= TENANTS_REMEMBERED_MAX) tenants.clear()
    const brands = brandsOf(store, tenantId)
    tenants.set(tenantId, brands)
    brands.catch(() => tenants.delete(tenantId))
    return brands
  }
  const ofTenant = async <Input extends { readonly tenantId: string }, Answer>(
    input: Input,
    run: (input: Input) => Promise<Answer>,
  ): Promise<Answer> => {
    await mustExist(input.tenantId)
    return run(input)
  }
  const logActivity: Service['logActivity'] = async (activity) =>
    ofTenant(checked(inputs.ActivityInput, activity, ['payload']), useCases.logProspectActivity)

  return {
    createTenant: async (tenant) => createTenant(deps)(checked(inputs.TenantInput, tenant)),
    issueApiKey: async (key) =>
      issueApiKey(deps)({ ...checked(inputs.ApiKeyInput, key), scopes: key.scopes }),
    createPageGroup: async (group) =>
      createPageGroup(deps)(checked(inputs.PageGroupCreation, group, ['actions', 'footerLinks', 'scripts'])),
    logActivity,
    logActivities: (activities) =>
      Promise.all(activities.map((activity) => logActivity(activity).catch(asOutcome))),
    listPageGroups: async (list) =>
      ofTenant(checkedList(inputs.PageGroupListInput, list), useCases.listPageGroups),
    listPages: async (list) => ofTenant(checkedList(inputs.PageListInput, list), useCases.listPages),
    getPage: async (page) => ofTenant(checked(inputs.PageInput, page), useCases.getPage),
    createPage: async (page) =>
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
  const { output, issues } = checkShape(shape, values)
  for (const { detail, path } of issues)
    faults.push({ detail, [place]: place === 'pointer' ? pointerTo(path) : path.join() })
  const words = faults.map(({ detail, pointer, parameter }) => `${pointer ?? parameter} ${detail}`)
  refuseFaults(faults, `Invalid input: ${words.join('; ')}.`)
  return { ...(output as object), ...texts } as Checked<v.InferOutput<Shape>, Raw>
}

/** Over HTTP the limit is a text, and so its shape is one of a text. */
const checkedList = <Shape extends v.GenericSchema>(shape: Shape, { limit, ...list }: SliceOptions) =>
  checked(shape, { ...list, ...(limit !== undefined && { limit: String(limit) }) }, [], 'parameter')

const asOutcome = (why: unknown): DomainFailure => {
  if (why instanceof DomainFailure) return why
  throw why
}
