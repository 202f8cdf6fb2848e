import type * as v from 'valibot'
import type { Scope } from '../../core/ports/api-keys.ts'
import type { UseCases } from '../../core/use-cases.ts'
import { writeJson } from '../../json/write-json.ts'
import { camelCase } from '../columns.ts'
import type { QueryShape } from './parse-request.ts'
import type { ProblemCode } from './problems.ts'
import type { ApiResponse } from './requests.ts'

/** A request with a valid key, scope, query, header and body. */
export type CheckedRequest<Query, Body> = {
  readonly tenantId: string
  readonly apiKeyId: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** From the header `Idempotency-Key`. */
  readonly idempotencyKey: string | undefined
  /** From the header `If-Match`. */
  readonly ifRevision: readonly number[] | undefined
}
/** `status` unless it is that of the route. */
export type Answer = Partial<Pick<ApiResponse, 'status' | 'headers'>> & {
  /** Undefined with status 204. */
  readonly body: object | undefined
  readonly replayed?: boolean | undefined
  /** Becomes the ETag. */
  readonly revision?: number | undefined
}
/** What a batch needs besides. */
type BatchSteps = {
  readonly itemBytesMax: number
  /** Counts the items beyond the first as requests of the key. Refuses `rate_limited`. */
  readonly count: (moreItems: number) => void
  /** Lets others take their turns; resolves when so many items may be worked on. Refuses `unavailable`. */
  readonly nextTurn: (items: number) => Promise<void> | undefined
  /** The answer that a single request would have got. */
  readonly refusalOf: (why: unknown) => ApiResponse
}
export type Run<Query = unknown, Body = unknown> = (
  useCases: UseCases,
  request: CheckedRequest<Query, Body>,
  steps: BatchSteps,
) => Promise<Answer>
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

type Spec<Query, Body> = {
  readonly summary: string
  readonly query?: Query
  readonly body?: Body
  /** The body has items, each with the limits of a body; the whole may be larger and nest deeper. */
  readonly isBatch?: boolean
  /** True if no body means `{}`. */
  readonly bodyOptional?: boolean
  readonly answer?: v.GenericSchema
  /** By default `writeJson` if the answer contains JSON text, else `JSON.stringify`. */
  readonly write?: (answer: object) => string
  /** By default 200, or 204 without an answer. */
  readonly status?: number
  /**
   * In addition to those of every operation, of the ids in its path and of its cursor. With `idempotency_key_reused` the
   * header `Idempotency-Key` is taken, with `precondition_failed` the header `If-Match`.
   */
  readonly problems?: readonly ProblemCode[]
}
/** One operation, as the router, the parser and the OpenAPI document read it. */
export type Route = Spec<QueryShape, v.GenericSchema> & {
  readonly method: Method
  readonly path: string
  readonly operationId: keyof UseCases
  readonly scope: Scope
  readonly status: number
  readonly write: (answer: object) => string
  readonly problems: readonly ProblemCode[]
  readonly run: Run<never, never>
}
type Nothing = v.ObjectSchema<Record<never, never>, undefined>

/** Checks each row against its own shapes, which the type of the whole table cannot. */
export const route = <Query extends QueryShape = Nothing, Body extends v.GenericSchema = Nothing>(
  method: Method,
  path: string,
  operationId: keyof UseCases,
  scope: Scope,
  spec: Spec<Query, Body> & { readonly run: Run<v.InferOutput<Query>, v.InferOutput<Body>> },
): Route => {
  const ofIds = Object.entries(PROBLEMS_OF_IDS).flatMap(([id, problems]) =>
    path.includes(id) ? problems : [],
  )
  const ofCursor: ProblemCode[] = spec.query && 'cursor' in spec.query.entries ? ['invalid_cursor'] : []
  const problems = [...ofCursor, ...ofIds, ...(spec.problems ?? [])]
  const write = JSON.stringify(spec.answer ?? {}).includes('"rawJson"') ? writeJson : JSON.stringify
  return { status: spec.answer ? 200 : 204, write, ...spec, problems, method, path, operationId, scope }
}
const PROBLEMS_OF_IDS: Readonly<Record<string, readonly ProblemCode[]>> = {
  '/{prospect_id}': ['prospect_not_found', 'prospect_erased'],
  '/{prospect_log_id}': ['prospect_log_not_found'],
  '/{erasure_id}': ['erasure_not_found'],
  '/{page_group_id}': ['page_group_not_found'],
  '/{page_id}': ['page_not_found'],
  '/{version_id}': ['version_not_found'],
  '/events/{event_id}': ['event_not_found'],
  '/{webhook_endpoint_id}': ['webhook_endpoint_not_found'],
  '/deliveries/{event_id}': ['delivery_not_found'],
}

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name
/** `{page_id}` in a path is the `pageId` of a use case. */
type IdsIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [Id in CamelCase<Name>]: string } & IdsIn<Rest>
  : { readonly tenantId: string }
type Result = Omit<Answer, 'body'> & { readonly [Member in 'page' | 'pageGroup' | 'version']?: object }
type UseCaseFor<Input> = {
  [Name in keyof UseCases]: Input extends Parameters<UseCases[Name]>[0] ? Name : never
}[keyof UseCases]

/**
 * A route that gives its use case the tenant, the ids in the path, the query and the body, and answers its result, or the
 * page, group or version that this names beside its revision or whether it is replayed.
 */
export const plainRoute = <
  const Path extends string,
  Query extends QueryShape = Nothing,
  Body extends v.GenericSchema = Nothing,
>(
  method: Method,
  path: Path,
  operationId: UseCaseFor<IdsIn<Path> & v.InferOutput<Query> & v.InferOutput<Body>>,
  scope: Scope,
  spec: Spec<Query, Body>,
): Route => {
  const takesKey = spec.problems?.includes('idempotency_key_reused')
  const takesRevision = spec.problems?.includes('precondition_failed')
  const run: Run = async (useCases, request) => {
    const { tenantId, params, query, body } = request
    const input: Record<string, unknown> = { ...Object(query), ...Object(body), tenantId }
    if (method !== 'GET') input['apiKeyId'] = request.apiKeyId
    for (const name in params) input[camelCase(name)] = params[name]
    if (takesKey) input['idempotencyKey'] = request.idempotencyKey
    if (takesRevision) input['ifRevision'] = request.ifRevision
    const result = await (useCases[operationId] as (input: object) => Promise<Result>)(input)
    const { page, pageGroup, version, revision, replayed } = result ?? {}
    return { body: page ?? pageGroup ?? version ?? result, revision, replayed }
  }
  return route<Query, Body>(method, path, operationId, scope, { ...spec, run })
}
