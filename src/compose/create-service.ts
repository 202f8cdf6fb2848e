import type * as v from 'valibot'
import { parseJson, refuseDeep, refuseFaults } from '../adapters/http/parse-request.ts'
import { createNewId } from '../adapters/ids.ts'
import { DEFAULTS } from '../config/config.ts'
import { createPageGroup, type NewPageGroup } from '../core/create-page-group.ts'
import { brandsOf, createTenant } from '../core/create-tenant.ts'
import type { Fault } from '../core/failures.ts'
import { inOrder } from '../core/in-order.ts'
import { issueApiKey, type NewApiKey } from '../core/issue-api-key.ts'
import type { NewActivity } from '../core/new-log.ts'
import { asOutcome } from '../core/outcome.ts'
import type { Store } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { rememberProspects } from '../core/remember-prospects.ts'
import { composeUseCases, type Optional, type UseCaseSettings } from '../core/use-cases.ts'
import { membersOf } from '../json/raw-json.ts'
import { checkShape } from '../shapes/check.ts'
import { NewErasure } from '../shapes/erasure.ts'
import * as inputs from '../shapes/input.ts'
import { anyId, inTenant } from '../shapes/input.ts'
import type { RawJson } from '../shapes/json.ts'
import { PageGroupQuery } from '../shapes/page-group.ts'
import { ProspectChanges, ProspectQuery } from '../shapes/prospect.ts'
import { ProspectLogQuery, TimelineQuery } from '../shapes/prospect-log.ts'
import { SliceQuery } from '../shapes/slice.ts'
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
export const createService = (options: ServiceOptions) => {
  checkOptions({ ...options, store: options?.store })
  const { store, clock = Date.now, newId = createNewId(), requireIdentity = false } = options
  const { prospectsRememberedMax = DEFAULTS.prospectsRememberedMax } = options
  const { listsInFlightMax = 1, tenantListsMax } = options
  const deps = { store, clock, newId }
  const settings = { requireIdentity, prospectsRememberedMax, listsInFlightMax, tenantListsMax }
  const remembered = rememberProspects(prospectsRememberedMax, () => performance.now())
  const useCases = composeUseCases({ ...deps, ...settings, remembered })
  store.watch((signal) => {
    if (signal === 'prospects') remembered.forget()
  })
  const tenants = new Map<string, Promise<unknown>>()

  /** Tenants are never deleted, so one that exists needs no second look-up. */
  const ofTenant = async <Input extends OfTenant, Answer>(input: Input, run: Run<Input, Answer>) => {
    const { tenantId } = input
    if (tenants.size >= TENANTS_REMEMBERED_MAX) tenants.clear()
    const found = tenants.get(tenantId) ?? brandsOf(store, tenantId)
    tenants.set(tenantId, found)
    found.catch(() => tenants.delete(tenantId))
    await found
    return run(input)
  }
  const operation =
    <Given, Input extends OfTenant, Answer>(shape: Shape<Given, Input>, run: Run<Input, Answer>) =>
    async (given: Given) =>
      ofTenant(checked(shape, given), run)
  const list =
    <Given, Input extends OfTenant, Answer>(shape: Shape<Given, Input>, run: Run<Input, Answer>) =>
    async (given: SliceOptions & Omit<Given, keyof SliceOptions>) =>
      ofTenant(checkedList(shape, given), run)
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
    listProspects: list(inTenant(ProspectQuery.entries), useCases.listProspects),
    getProspect: operation(inTenant({ prospectId: anyId }), useCases.getProspect),
    /** Corrects the email or the name of a prospect; null clears it. */
    updateProspect: operation(
      inTenant({ prospectId: anyId, ...ProspectChanges.entries }),
      useCases.updateProspect,
    ),
    /** One slice of the activities of a prospect, newest first by `occurredAt`. */
    listTimeline: list(inTenant({ prospectId: anyId, ...TimelineQuery.entries }), useCases.listTimeline),
    /** One slice of the activities of a tenant, newest first in the order of arrival. */
    listProspectLogs: list(inTenant(ProspectLogQuery.entries), useCases.listProspectLogs),
    getProspectLog: operation(inTenant({ prospectLogId: anyId }), useCases.getProspectLog),
    /** Erases a person, by prospect id or email. An eraser of `prospect-pages/publisher` must run to complete it. */
    eraseProspect: operation(inTenant(NewErasure.entries), useCases.eraseProspect),
    /** One slice of the erasures of a tenant, newest first. */
    listErasures: list(inTenant(SliceQuery.entries), useCases.listErasures),
    /** Reads an erasure. */
    getErasure: operation(inTenant({ erasureId: anyId }), useCases.getErasure),
    /** One slice of the page groups of a tenant, newest first. Without a status: all but the deleted ones. */
    listPageGroups: list(inTenant(PageGroupQuery.entries), useCases.listPageGroups),
    /** One slice of the pages of a group, newest first. */
    listPages: list(inTenant({ pageGroupId: anyId, ...SliceQuery.entries }), useCases.listPages),
    /** Reads a page with its published version, which is null until a publisher has published one. */
    getPage: operation(inTenant({ pageGroupId: anyId, pageId: anyId }), useCases.getPage),
    /** Creates a page whose first version waits for a publisher. */
    createPage: operation(inputs.PageCreation, useCases.createPageWithVersion),
  }
}

type OfTenant = { readonly tenantId: string }
type Run<Input, Answer> = (input: Input) => Promise<Answer>
type Shape<Given, Input> = v.GenericSchema<Given, Input>
type WithTexts<Input, Raw> = [Raw] extends [never]
  ? Input
  : { readonly [Name in keyof Input]: Name extends Raw ? RawJson : Input[Name] }

/** What an operation is given, checked against its shape. JSON texts are parsed for that, and passed on unchanged. */
const checked = <Input, Raw extends string = never>(
  shape: Shape<unknown, Input>,
  given: unknown,
  rawNames: readonly Raw[] = [],
  place: 'pointer' | 'parameter' = 'pointer',
): WithTexts<Input, Raw> => {
  const texts: Record<string, RawJson> = {}
  const values: Record<string, unknown> = { ...Object(given) }
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
  return { ...(output as object), ...texts } as WithTexts<Input, Raw>
}

/** Over HTTP the limit is a text, and so its shape is one of a text. */
const checkedList = <Input>(shape: Shape<unknown, Input>, { limit, ...list }: SliceOptions = {}) =>
  checked(shape, { ...list, ...(limit !== undefined && { limit: String(limit) }) }, [], 'parameter')
