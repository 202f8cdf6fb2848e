import type { DomainFailure, FailureKind } from '../../core/failures.ts'

export type ProblemCode = FailureKind | 'internal_error'
type Problem = { readonly status: number; readonly title: string; readonly explanation: string }

/** How each failure appears in HTTP. `/problems/{code}` answers one row; `openapi.json` lists them all. */
export const PROBLEMS = {
  invalid_json: {
    status: 400,
    title: 'Invalid JSON',
    explanation: 'Send one JSON object in UTF-8, nested at most 512 levels deep.',
  },
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    explanation:
      'Each entry of `errors` describes one fault. `pointer` locates it in the body; `parameter` names a query parameter or header.',
  },
  invalid_cursor: {
    status: 400,
    title: 'Invalid cursor',
    explanation:
      'Pass `nextCursor` unchanged, to the same list with the same filter, or start again without a cursor.',
  },
  missing_api_key: {
    status: 401,
    title: 'Missing API key',
    explanation: 'Send the API key in the `x-api-key` header.',
  },
  invalid_api_key: {
    status: 401,
    title: 'Invalid API key',
    explanation: 'The key is malformed, unknown, expired or revoked, or the header was sent more than once.',
  },
  insufficient_scope: {
    status: 403,
    title: 'Insufficient scope',
    explanation: 'Use an API key that has the scope named in `requiredScope`.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    explanation: 'No operation has this path. `/openapi.json` lists all operations.',
  },
  page_group_not_found: {
    status: 404,
    title: 'Page group not found',
    explanation: 'The tenant of this API key has no page group with this id, or the group was deleted.',
  },
  page_not_found: {
    status: 404,
    title: 'Page not found',
    explanation: 'The page group has no page with this id.',
  },
  prospect_not_found: {
    status: 404,
    title: 'Prospect not found',
    explanation:
      'The tenant of this API key has no prospect with this id. Omit `prospectId` to find or create one by email.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    explanation: 'The `Allow` header lists the allowed methods.',
  },
  page_group_not_active: {
    status: 409,
    title: 'Page group not active',
    explanation: 'The page group is archived and accepts no new pages. Its existing pages can still be read.',
  },
  payload_too_large: {
    status: 413,
    title: 'Payload too large',
    explanation: 'Send a smaller body. The limit is 1 MiB unless the server sets another.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported content type',
    explanation: 'Send `Content-Type: application/json`, in UTF-8 and without a content encoding.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'Idempotency key reused',
    explanation:
      'This key was already used with a different request. Nothing was written. `prospectLogId` or `pageId` identifies the result of the first request. Use a new key for a new request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    explanation: 'Retry after the number of seconds given in the `Retry-After` header.',
  },
  headers_too_large: {
    status: 431,
    title: 'Headers too large',
    explanation: 'Send fewer or shorter headers.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    explanation:
      'An unexpected error occurred in the service. `instance` is the id of the request in the server logs.',
  },
  unavailable: {
    status: 503,
    title: 'Service unavailable',
    explanation:
      'The service is overloaded, starting, stopping or cannot reach its database. The request may or may not have been carried out. Retry it with the same idempotency key after `Retry-After` seconds.',
  },
} as const satisfies Record<ProblemCode, Problem>

/** A problem document as defined by RFC 9457. `instance` is the request id. */
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
