import type { DomainFailure, FailureKind } from '../../core/failures.ts'

export type ProblemCode = FailureKind | 'internal_error'
type Problem = { readonly status: number; readonly title: string; readonly explanation: string }

/** What each failure is called in HTTP. `/problems/{code}` answers a row of it, and `openapi.json` lists them. */
export const PROBLEMS = {
  invalid_json: {
    status: 400,
    title: 'The body is not JSON that can be read',
    explanation: 'Send one JSON object in UTF-8, with no value nested deeper than 512.',
  },
  invalid_request: {
    status: 400,
    title: 'The request is not of the right shape',
    explanation: 'Each entry of `errors` names one fault: a `pointer` into the body, or a `parameter`.',
  },
  invalid_cursor: {
    status: 400,
    title: 'The cursor does not belong to this list',
    explanation:
      'Pass `nextCursor` unchanged, to the same list with the same filter; or start without a cursor.',
  },
  missing_api_key: {
    status: 401,
    title: 'The API key is missing',
    explanation: 'Send the key in the header `x-api-key`.',
  },
  invalid_api_key: {
    status: 401,
    title: 'The API key is not valid',
    explanation: 'The key is mistyped, unknown, expired or revoked, or the header was sent more than once.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The API key lacks a scope',
    explanation: '`requiredScope` names the scope. Use a key that was issued with it.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here',
    explanation: 'No operation has this path. `/openapi.json` lists those there are.',
  },
  page_group_not_found: {
    status: 404,
    title: 'There is no such page group',
    explanation: 'Your tenant has no page group with this id, or it was deleted.',
  },
  page_not_found: {
    status: 404,
    title: 'There is no such page',
    explanation: 'The page group has no page with this id.',
  },
  prospect_not_found: {
    status: 404,
    title: 'There is no such prospect',
    explanation: 'Your tenant has no prospect with this id. Leave `prospectId` out to find or create one.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The path does not have this method',
    explanation: 'The header `Allow` lists the methods of the path.',
  },
  page_group_not_active: {
    status: 409,
    title: 'The page group takes no new pages',
    explanation: 'The group is archived. Its pages can still be read.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    explanation: 'Send a smaller body: 1 MiB at most, unless the server was set otherwise.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not of a type that is read here',
    explanation: 'Send `Content-Type: application/json`, in UTF-8 and without a content encoding.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The idempotency key came before with another request',
    explanation:
      'Nothing was written. `prospectLogId` or `pageId` names what the key stands for. Use a new key for a new request.',
  },
  rate_limited: {
    status: 429,
    title: 'The key has made too many requests',
    explanation: 'Wait as many seconds as the header `Retry-After` says.',
  },
  headers_too_large: {
    status: 431,
    title: 'Headers too large',
    explanation: 'The request line and headers together exceed 16 KiB. Send fewer or shorter headers.',
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong here',
    explanation: 'The fault is ours. `instance` is the id of the request in the logs of the server.',
  },
  unavailable: {
    status: 503,
    title: 'The service cannot answer now',
    explanation:
      'It is overloaded, starting, stopping or without its database. Whether the request was carried out is not known: repeat it with the same idempotency key after `Retry-After` seconds.',
  },
} as const satisfies Record<ProblemCode, Problem>

/** An answer as RFC 9457 has it. `instance` is the id of the request. */
export const problemOf = (code: ProblemCode, instance: string, failure?: DomainFailure) => {
  const { status, title } = PROBLEMS[code]
  const { errors, prospectLogId, pageId, requiredScope } = failure?.facts ?? {}
  return {
    type: `/problems/${code}`,
    title,
    status,
    detail: failure?.message ?? PROBLEMS[code].explanation,
    instance,
    code,
    ...(errors && { errors }),
    ...(prospectLogId && { prospectLogId }),
    ...(pageId && { pageId }),
    ...(requiredScope && { requiredScope }),
  }
}

export const headersOf = (
  code: ProblemCode,
  { facts }: Pick<DomainFailure, 'facts'>,
): Record<string, string> => ({
  'content-type': 'application/problem+json',
  ...(facts.allow && { allow: facts.allow }),
  ...(facts.retryAfterS !== undefined && { 'retry-after': String(facts.retryAfterS) }),
  ...(PROBLEMS[code].status === 401 && {
    'www-authenticate': 'ApiKey realm="prospect-pages", header="x-api-key"',
  }),
})
