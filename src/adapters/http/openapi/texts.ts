/** Texts of the OpenAPI document that belong to no operation and no shape. */

import type { ProblemCode } from '../../../core/engine/failures.ts'
import * as example from '../../../service/operations/examples.ts'
import type { Route } from '../route.ts'

export const ABOUT = `**Authentication.** Send an API key in the \`x-api-key\` header. A key belongs to one tenant. Another tenant's resources return
404, as if they did not exist. Each operation requires one scope of the key.

**Idempotency.** Send an \`Idempotency-Key\` header with a POST to make it safe to retry. A retry returns the first answer, with
\`Idempotent-Replayed: true\`. It must repeat the request; its JSON may be written with other blanks, escapes or order of members,
but with the same digits. After a 503 or a lost connection the write may or may not have happened: retry it with the same key.

**Conditional requests.** Every GET returns an \`ETag\`, except the export of a prospect. Sent back as \`If-None-Match\`, it saves the
body while nothing has changed (304). The \`ETag\` of a page or page group is its revision: sent back as \`If-Match\` with a change,
it guards against overwriting another person's change (412). A key with \`pages:published\` gets no revisions.

**Pagination.** Lists are sorted newest first, unless they say otherwise, and stay consistent while others write. While \`hasMore\` is true, pass
\`nextCursor\` as \`cursor\`. A slice holds at most 1 MiB of JSON, so it may be shorter than \`limit\` while \`hasMore\` is true.

**Webhooks** follow [Standard Webhooks](https://www.standardwebhooks.com) 1.0. Verify each with its secret, answer it with any
2xx within 15 seconds, and skip what you have seen by its \`webhook-id\`: each event is delivered at least once, and not always
in order. Other answers are retried for about three days. Without webhooks, poll the feed.

**Errors** are RFC 9457 problem documents (\`application/problem+json\`). Programs should branch on \`code\`;
\`/problems/{code}\` explains each one. An unknown query parameter is refused.

**Text.** Strings are Unicode. One with a NUL character (U+0000) or an unpaired surrogate is refused with 400. \`payload\` and
\`content\` are exempt: they are stored byte for byte.

**Tracing.** Every request may carry two headers: \`X-Request-Id\`, an id of 1 to 128 letters, digits, \`.\`, \`_\` or \`-\`, and
\`traceparent\` (W3C Trace Context). An invalid value is ignored. Every response has an \`X-Request-Id\`.

**Unknown members** of a body are refused by name. Activities are the exception: theirs are ignored, and named in the receipt.

**Compatibility.** Clients must ignore unknown members. \`/v0\` may gain operations and members at any time. Breaking changes are
announced with \`Deprecation\` and \`Sunset\` headers at least 90 days in advance.`

export const QUERY_EXAMPLES: Readonly<Record<string, unknown>> = {
  by: 'hour',
  cursor: example.CURSOR,
  limit: 50,
  status: 'active',
  email: 'ada@example.com',
  externalId: 'customer-4711',
  search: 'ada',
  source: 'crm',
  type: 'form_submitted',
  since: '2026-11-01T00:00:00Z',
  publishedAfter: '2026-11-01T00:00:00Z',
  until: '2026-12-01T00:00:00+01:00',
  idempotencyKey: 'crm-4711',
  types: 'prospect.created,prospect.erased',
  wait: 25,
}

/** The query parameters that may contain a plus sign, which means a space in a query. */
export const MAY_HAVE_PLUS: readonly string[] = [
  'email',
  'externalId',
  'search',
  'source',
  'type',
  'since',
  'until',
  'publishedAfter',
  'idempotencyKey',
]

/** Members of a problem's example in this operation, beyond its explanation. */
export const problemTexts = (code: ProblemCode, route: Route): Record<string, unknown> => {
  const { reference } = route
  const scope = Array.isArray(route.scope) ? route.scope[0] : route.scope
  if (code === 'invalid_request')
    return { detail: 'The request is invalid. See `errors`.', errors: [reference.fault ?? faultOf(route)] }
  if (code === 'invalid_cursor')
    return {
      detail: 'This cursor was not issued by this list with this filter.',
      errors: [{ detail: 'must be a nextCursor of this list', parameter: 'cursor' }],
    }
  if (code === 'insufficient_scope')
    return { detail: `The API key lacks the scope ${scope}.`, requiredScope: scope }
  if (code === 'idempotency_key_reused') return { ...reference.firstCreated }
  if (code === 'precondition_failed')
    return { detail: 'It has changed: it is at revision 4 now.', revision: 4 }
  if (code === 'limit_reached') return { detail: reference.limitReached }
  if (code === 'slug_taken') return { pageId: example.id('page', 'n93') }
  if (code === 'schedule_taken') return { versionId: example.id('pageversion', 'ha1') }
  if (code === 'email_taken' || code === 'external_id_taken')
    return { prospectId: example.id('prospect', 'p17') }
  return {}
}

/** A fault that requests for every operation of a kind may have. */
const faultOf = ({ query }: Route) =>
  query && 'limit' in query.entries
    ? { detail: 'must be a whole number from 1 to 100', parameter: 'limit' }
    : { detail: 'must not be given more than once', parameter: 'content-type' }
