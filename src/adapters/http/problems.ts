import type { DomainFailure, ProblemCode } from '../../core/engine/failures.ts'
import { ALWAYS, type ApiResponse, type Headers, jsonLine, responseOf } from './requests.ts'

type Row = { readonly status: number; readonly title: string; readonly explanation: string }
const row = (status: number, title: string, explanation: string): Row => ({ status, title, explanation })

/** Status and texts of each failure in HTTP. `/problems/{code}` returns one of these; `openapi.json` lists them all. */
export const PROBLEMS: Readonly<Record<ProblemCode, Row>> = {
  invalid_json: row(400, 'Invalid JSON', 'Send one JSON object in UTF-8, nested at most 512 levels deep.'),
  invalid_request: row(
    400,
    'Invalid request',
    'Each entry of `errors` describes one fault. `pointer` locates it in the body; `parameter` names a query parameter or header.',
  ),
  invalid_cursor: row(
    400,
    'Invalid cursor',
    'Pass `nextCursor` unchanged, to the same list with the same filter, or start again without a cursor.',
  ),
  missing_api_key: row(401, 'Missing API key', 'Send the API key in the `x-api-key` header.'),
  invalid_api_key: row(
    401,
    'Invalid API key',
    'The key is malformed, unknown, expired or revoked, or the header was sent more than once.',
  ),
  invalid_signature: row(
    401,
    'Invalid signature',
    'The delivery is not signed as its hook expects, or its timestamp is too old. Nothing was stored. `lastRefusal` of the hook says why.',
  ),
  insufficient_scope: row(
    403,
    'Insufficient scope',
    'Use an API key that has the scope named in `requiredScope`.',
  ),
  tenant_suspended: row(
    403,
    'Tenant suspended',
    'The operator of the service has suspended this tenant. Nothing was read or stored. Contact them.',
  ),
  not_found: row(404, 'Not found', 'No operation has this path: `/openapi.json` lists all operations.'),
  page_group_not_found: row(
    404,
    'Page group not found',
    'The tenant of this API key has no page group with this id, or the group was deleted.',
  ),
  page_not_found: row(404, 'Page not found', 'The page group has no page with this id.'),
  version_not_found: row(404, 'Version not found', 'The page has no version with this id.'),
  prospect_not_found: row(
    404,
    'Prospect not found',
    'The tenant of this API key has no prospect with this id. Omit `prospectId` to find or create one by external id or email.',
  ),
  prospect_log_not_found: row(
    404,
    'Prospect log not found',
    'The tenant of this API key has no logged activity with this id. It may have been erased, or its retention time is over.',
  ),
  erasure_not_found: row(404, 'Erasure not found', 'The tenant of this API key has no erasure with this id.'),
  event_not_found: row(
    404,
    'Event not found',
    'The tenant of this API key has no event with this id. Events are kept for a limited time.',
  ),
  webhook_endpoint_not_found: row(
    404,
    'Webhook endpoint not found',
    'The tenant of this API key has no webhook endpoint with this id.',
  ),
  hook_not_found: row(404, 'Hook not found', 'There is no hook at this address, or it is disabled.'),
  delivery_not_found: row(404, 'Delivery not found', 'The webhook endpoint has no delivery of this event.'),
  method_not_allowed: row(405, 'Method not allowed', 'The `Allow` header lists the allowed methods.'),
  page_group_not_active: row(
    409,
    'Page group not active',
    'The page group is archived: it accepts no new pages or versions, and publishes nothing. Its pages can still be read, unpublished and deleted.',
  ),
  version_not_ready: row(
    409,
    'Version not ready',
    'A version that is `processing` or `failed` cannot be published. Wait until it is `ready`, or create a new version.',
  ),
  webhook_endpoint_disabled: row(409, 'Webhook endpoint disabled', 'Enable the endpoint first.'),
  limit_reached: row(409, 'Limit reached', 'The limit named in `detail` is reached.'),
  email_taken: row(
    409,
    'Email taken',
    'Another prospect of this tenant has this email. `prospectId` identifies it.',
  ),
  slug_taken: row(409, 'Slug taken', 'Another page of the group has this slug: the one with this `pageId`.'),
  schedule_taken: row(
    409,
    'Schedule taken',
    'Another version of the page is scheduled for the same minute: the one with this `versionId`. End that schedule, or choose another time.',
  ),
  external_id_taken: row(
    409,
    'External id taken',
    'Another prospect of this tenant has this external id. `prospectId` identifies it.',
  ),
  prospect_erased: row(
    410,
    'Prospect erased',
    'The prospect was erased, or its email or external id is blocked after an erasure. Nothing was stored. Do not retry.',
  ),
  cursor_expired: row(
    410,
    'Cursor expired',
    'The events after this cursor are no longer kept. Read the current state of what you need, then start again without a cursor or with `latest`.',
  ),
  precondition_failed: row(
    412,
    'Precondition failed',
    'It has changed since it was read: `If-Match` does not match the current `revision`. Nothing was written. Read it again.',
  ),
  payload_too_large: row(
    413,
    'Payload too large',
    'Send a smaller body. The limit is 1 MiB, for a batch 8 MiB, unless the server sets others.',
  ),
  unsupported_media_type: row(
    415,
    'Unsupported content type',
    'Send `Content-Type: application/json`, in UTF-8 and without a content encoding.',
  ),
  idempotency_key_reused: row(
    422,
    'Idempotency key reused',
    'This key was already used with a different request. Nothing was written. `prospectLogId`, `pageGroupId`, `pageId`, `versionId`, `webhookEndpointId` or `hookId` identifies the result of the first request. Use a new key for a new request.',
  ),
  rate_limited: row(
    429,
    'Too many requests',
    'Retry after the number of seconds given in the `Retry-After` header.',
  ),
  headers_too_large: row(431, 'Headers too large', 'Send fewer or shorter headers.'),
  internal_error: row(
    500,
    'Internal error',
    'An unexpected error occurred in the service. `instance` is the id of the request in the server logs.',
  ),
  unavailable: row(
    503,
    'Service unavailable',
    'The service is overloaded, starting, stopping or cannot reach its database. The request may or may not have been carried out. Retry it with the same idempotency key after `Retry-After` seconds.',
  ),
  loop_detected: row(
    508,
    'Loop detected',
    'Webhooks and hooks form a loop. Nothing was stored. Do not retry.',
  ),
}

const API_KEY = 'ApiKey realm="prospect-pages", header="x-api-key"'
const AUTH_SCHEMES: Partial<Record<ProblemCode, string>> = {
  invalid_signature: 'Signature realm="prospect-pages"',
}

/** A problem document as defined by RFC 9457. `instance` is the request id. */
export const problem = (
  code: ProblemCode,
  instance: string,
  failure: DomainFailure | null,
  basePath = '',
): ApiResponse => {
  const { status, title, explanation } = PROBLEMS[code]
  // Two facts become headers.
  const { allow, retryAfterS, ...facts } = failure?.facts ?? {}
  const headers: Headers = { 'content-type': 'application/problem+json' }
  if (allow !== undefined) headers['allow'] = allow
  if (retryAfterS !== undefined) headers['retry-after'] = String(retryAfterS)
  if (status === 401) headers['www-authenticate'] = AUTH_SCHEMES[code] ?? API_KEY
  const type = `${basePath}/problems/${code}`
  const detail = failure?.message ?? explanation
  return { status, headers, body: jsonLine({ type, title, status, detail, instance, code, ...facts }) }
}

/** The answer to a message that does not reach the API. */
export const refusal = (requestId: string, failure: DomainFailure, basePath?: string): ApiResponse =>
  responseOf(problem(failure.kind, requestId, failure, basePath), { 'x-request-id': requestId, ...ALWAYS })
