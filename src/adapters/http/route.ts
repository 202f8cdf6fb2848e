import { type Fault, refuse } from '../../core/engine/failures.ts'
import type { Result } from '../../core/engine/result.ts'
import { OVERWRITE_SCOPE, type Scope } from '../../core/ports/api-keys.ts'
import { snakeCase } from '../../json/case.ts'
import { writeJson } from '../../json/write-json.ts'
import type { Operation } from '../../service/operations/operation.ts'
import type { OperationId, UseCases } from '../../service/operations/operations.ts'
import type { PageWithVersion } from '../../shapes/page.ts'
import type { LongSteps } from './long-requests.ts'
import type { ApiResponse } from './requests.ts'

/** A request with a valid key, scope, query, header and body. */
export type CheckedRequest<Query, Body> = {
  readonly tenantId: string
  readonly apiKeyId: string | null
  /** The scopes of the key. */
  readonly scopes: readonly Scope[]
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** From the header `Idempotency-Key`. */
  readonly idempotencyKey: string | undefined
  /** How many webhooks led to a change, one after another; 0 for a read. */
  readonly hops: number
  /** From the header `If-Match`. */
  readonly ifRevision: readonly number[] | undefined
  /** The key reads only what is published. */
  readonly publishedOnly: boolean
}
/** The answer to an operation. */
export type Answer = Partial<Pick<ApiResponse, 'headers'>> & {
  /** Set if it differs from the status of the route. */
  readonly status?: number | undefined
  /** Undefined with status 204. */
  readonly body: object | undefined
  readonly replayed?: boolean | undefined
  /** Number of activities that were logged, replays aside. */
  readonly logged?: number | undefined
  /** Becomes the ETag. */
  readonly revision?: number | undefined
}
export type Run<Query = unknown, Body = unknown> = (
  useCases: UseCases,
  request: CheckedRequest<Query, Body>,
  steps: () => LongSteps,
) => Promise<Answer>

/** One operation, as the router, the parser and the OpenAPI document read it. */
export type Route = Operation &
  Required<Pick<Operation, 'status' | 'problems'>> & {
    readonly operationId: OperationId
    /** By default `writeJson` if the answer contains JSON text, else `JSON.stringify`. */
    readonly write: (answer: object) => string
    readonly run: Run<never, never>
    /** Whether its header `Idempotency-Key` is read. */
    readonly takesKey: boolean
    /** Whether a key with `pages:published` gets what is published. */
    readonly readersToo: boolean
  }

/** The result of any use case. `created`: false if the resource was there before; then the status is 200. */
type AnyResult = Result<object> & Pick<Answer, 'revision' | 'replayed'> & { readonly created?: boolean }

/**
 * Keys that read only what is published get no revision, so the tag of their answer is made of its bytes and changes only
 * with these. A revision also counts changes that they cannot see.
 */
const revisionFor = ({ publishedOnly }: CheckedRequest<unknown, unknown>, { revision }: AnyResult) =>
  publishedOnly ? undefined : revision

/**
 * Calls the use case with the tenant, the ids in the path, the query and the body. `loggedBy` returns the number of
 * activities that it logged.
 */
export const runOf = (
  operationId: OperationId,
  { method, ids, takes = {} }: Operation,
  loggedBy?: (result: AnyResult) => number,
): Run => {
  const idsInPath = Object.keys(ids).map((id) => ({ id, name: snakeCase(id) }))
  return async (useCases, request, steps) => {
    const { tenantId, apiKeyId, params, query, body, hops } = request
    const input: Record<string, unknown> =
      method === 'GET' ? { ...(query as object), tenantId } : { ...(body as object), tenantId, apiKeyId }
    if (hops > 0) input['hops'] = hops
    for (const { id, name } of idsInPath) input[id] = params[name]
    addSpecialInputs(input, takes, request, steps)
    const result = await (useCases[operationId] as (input: object) => Promise<AnyResult | undefined>)(input)
    if (result === undefined) return { body: undefined }
    const { value, replayed, created } = result
    const status = created === false ? 200 : undefined
    return {
      status,
      body: value,
      revision: revisionFor(request, result),
      replayed,
      logged: loggedBy?.(result),
    }
  }
}

/** Adds the inputs that an operation `takes` besides its ids, query and body: from headers, or from the connection. */
const addSpecialInputs = (
  input: Record<string, unknown>,
  takes: object,
  { idempotencyKey, ifRevision, publishedOnly, scopes }: CheckedRequest<unknown, unknown>,
  steps: () => LongSteps,
): void => {
  if ('idempotencyKey' in takes && idempotencyKey !== undefined)
    input['idempotencyKey'] = sameKey(input['idempotencyKey'], idempotencyKey)
  if ('ifRevision' in takes) input['ifRevision'] = ifRevision
  if (publishedOnly) input['publishedOnly'] = true
  if (input['attributes'] !== undefined && 'attributesMode' in takes)
    input['attributesMode'] = modeOf(input, scopes)
  if ('signal' in takes && input['wait']) {
    const { untilEnd, withoutSlot } = steps()
    input['signal'] = untilEnd?.()
    input['withoutSlot'] = withoutSlot
  }
}

/** Attributes of a request overwrite if the key has the scope. */
export const modeOf = (
  { attributes }: { readonly attributes?: unknown },
  scopes: readonly Scope[],
): 'overwrite' | undefined =>
  attributes !== undefined && scopes.includes(OVERWRITE_SCOPE) ? 'overwrite' : undefined

/** The key may be in the body, the header, or both if they are equal. */
const sameKey = (inBody: unknown, inHeader: string): string => {
  if (inBody === undefined || inBody === inHeader) return inHeader
  const detail = 'must be the same in the body and in the Idempotency-Key header'
  const errors: Fault[] = [
    { detail, pointer: '/idempotencyKey' },
    { detail, parameter: 'Idempotency-Key' },
  ]
  return refuse(
    'invalid_request',
    'The body and the Idempotency-Key header contain different idempotency keys.',
    { errors },
  )
}

// Only problems, and the content of a page, are JSON text. Answers without them are written faster.
export const writeBatch = (batch: { readonly refused?: number }): string =>
  batch.refused === 0 ? JSON.stringify(batch) : writeJson(batch)
export const writePage = (page: Partial<PageWithVersion>): string =>
  page.publishedVersion?.content ? writeJson(page) : JSON.stringify(page)
