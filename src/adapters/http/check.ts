import { refuse } from '../../core/failures.ts'
import {
  type ApiRequest,
  type Checked,
  checkBody,
  checkIdempotencyKey,
  checkQuery,
  readJson,
  refuseFaults,
} from './requests.ts'
import type { CheckedRequest, Route } from './routes.ts'

/** What is known of a request before its query, headers and body are looked at. */
export type Found = {
  readonly tenantId: string
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  readonly traceparent: string | undefined
  /** Told of the bytes of the body as they come; refuses `unavailable` where there are too many. */
  readonly holdBytes: (bytes: number) => void
  /** Waited for once the body is there: who sends it slowly keeps nobody from being worked on. */
  readonly turn: () => Promise<void>
}

/** Query, headers and body against the shapes of the route; all their faults at once. */
export const check = async (
  route: Route,
  request: ApiRequest,
  { tenantId, params, query: rawQuery, traceparent, holdBytes, turn }: Found,
): Promise<CheckedRequest<never, never>> => {
  const query: Checked<unknown> = route.query ? checkQuery(route.query, rawQuery) : NOTHING
  const repeated = (request.repeatedHeaders ?? []).map((parameter) => ({
    detail: 'must not be given more than once',
    parameter,
  }))
  if (route.body === undefined) {
    await turn()
    refuseFaults([...query.faults, ...repeated])
    return {
      tenantId,
      params,
      query: outputOf(query),
      body: NONE,
      members: NO_MEMBERS,
      idempotencyKey: undefined,
      traceparent,
    }
  }
  const key = checkIdempotencyKey(request)
  const read =
    (await readJson(request, holdBytes)) ?? (route.bodyOptional ? { text: '{}', value: {} } : noBody())
  await turn()
  const body = checkBody(route.body, read)
  refuseFaults([...query.faults, ...repeated, ...key.faults, ...body.faults])
  const { members } = body
  return {
    tenantId,
    params,
    query: outputOf(query),
    body: outputOf(body),
    members,
    idempotencyKey: outputOf(key),
    traceparent,
  }
}

const NONE = undefined as never
const NO_MEMBERS: CheckedRequest<never, never>['members'] = new Map()
const NOTHING: Checked<unknown> = { value: undefined, faults: [] }
/** Called where there are no faults; each route knows the type of its own values. */
const outputOf = (checked: Checked<unknown>): never => (checked as unknown as { value: never }).value

const noBody = (): never => refuse('invalid_json', 'The body is missing; it must be a JSON object.')
