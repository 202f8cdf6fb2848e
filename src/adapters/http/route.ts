import type * as v from 'valibot'
import type { Scope } from '../../core/ports/api-keys.ts'
import type { UseCases } from '../../core/use-cases.ts'
import type { RawJson } from '../../shapes/json.ts'
import type { QueryShape } from './parse-request.ts'
import type { ProblemCode } from './problems.ts'
import type { ApiResponse } from './requests.ts'

/** A request with a valid key, scope, query, header and body. */
export type CheckedRequest<Query, Body> = {
  readonly tenantId: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** The exact text of each member of the body. */
  readonly members: ReadonlyMap<string, RawJson>
  /** From the header `Idempotency-Key`. */
  readonly idempotencyKey: string | undefined
}
/** `status` unless it is that of the route. */
type Answer = Partial<Pick<ApiResponse, 'status' | 'headers'>> & {
  readonly body: object
  readonly replayed?: boolean
}
/** What a batch needs besides. */
type BatchSteps = {
  readonly itemBytesMax: number
  /** Counts so many more requests of the key. Refuses `rate_limited`. */
  readonly count: (requests: number) => void
  /** Lets others take their turns; resolves when so many items may be worked on. Refuses `unavailable`. */
  readonly nextTurn: (items: number) => Promise<void> | undefined
  /** The answer that a single request would have got. */
  readonly refusalOf: (why: unknown) => ApiResponse
}

type Spec<Query extends QueryShape, Body extends v.GenericSchema> = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly operationId: keyof UseCases
  readonly summary: string
  readonly scope: Scope
  readonly query?: Query
  readonly body?: Body
  /** The body has items, each with the limits of a body; the whole may be larger and nest deeper. */
  readonly isBatch?: boolean
  /** True if no body means `{}`. */
  readonly bodyOptional?: boolean
  readonly answer: v.GenericSchema
  /** Serializes an answer that contains raw JSON text. */
  readonly write?: (answer: object) => string
  readonly status: 200 | 201 | 202
  /** In addition to the problems of every operation. */
  readonly problems: readonly ProblemCode[]
  readonly run: (
    useCases: UseCases,
    request: CheckedRequest<v.InferOutput<Query>, v.InferOutput<Body>>,
    steps: BatchSteps,
  ) => Promise<Answer>
}
/** One operation, as the router, the parser and the OpenAPI document read it. */
export type Route = Spec<QueryShape, v.GenericSchema>

/** Checks each row against its own shapes, which the type of the whole table cannot. */
export const route = <Query extends QueryShape = never, Body extends v.GenericSchema = never>(
  spec: Spec<Query, Body>,
): Route => spec as unknown as Route
