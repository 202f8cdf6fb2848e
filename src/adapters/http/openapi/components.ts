/** The components of the OpenAPI document that belong to no operation and no shape. */

import { PROSPECT_ID } from '../../../service/operations/examples.ts'
import { REQUEST_ID } from './problem-responses.ts'
import type { Json } from './schemas.ts'

export const FAULT: Json = {
  type: 'object',
  description: 'One fault of a request.',
  required: ['detail'],
  properties: {
    detail: { type: 'string', description: 'The fault, for people.' },
    pointer: { type: 'string', description: 'A JSON pointer into the body.' },
    parameter: { type: 'string', description: 'The name of the query parameter or header.' },
  },
}

export const PROBLEM: Json = {
  type: 'object',
  description: 'A problem document (RFC 9457). Clients must ignore unknown members.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code'],
  properties: {
    type: { type: 'string', description: 'A URL on this server that explains the problem.' },
    title: { type: 'string', description: 'A short summary, the same for every problem of this kind.' },
    status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status code.' },
    detail: { type: 'string', description: 'Why this request failed, for people.' },
    instance: { type: 'string', description: 'The request id, as in the `X-Request-Id` header.' },
    code: { type: 'string', description: 'A stable, machine-readable code for the kind of problem.' },
    errors: {
      type: 'array',
      maxItems: 20,
      description:
        'Every fault of the request, each with a `pointer` into the body or the name of a `parameter`.',
      items: { $ref: '#/components/schemas/Fault' },
    },
    prospectId: { type: 'string', description: 'The prospect that has the email or the external id.' },
    prospectLogId: {
      type: 'string',
      description: 'The log entry that was first created with the idempotency key.',
    },
    pageGroupId: {
      type: 'string',
      description: 'The page group that was first created with the idempotency key.',
    },
    pageId: {
      type: 'string',
      description: 'The page that was first created with the idempotency key, or that has the slug.',
    },
    versionId: {
      type: 'string',
      description: 'The version that was first created with the idempotency key.',
    },
    revision: {
      type: 'integer',
      minimum: 1,
      description: 'The present revision: that in the ETag of the page or page group.',
    },
    requiredScope: { type: 'string', description: 'The scope that the API key lacks.' },
  },
}

export const PARAMETERS: Json = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'Makes the request safe to retry: a retry with the same key returns the first answer.',
    schema: { type: 'string', minLength: 1, maxLength: 255, examples: ['crm-4711'] },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'One or more ETags. If the answer still has one of them, it is 304 without a body.',
    schema: { type: 'string', examples: ['"r3"'] },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'One or more ETags of the page or page group. If it has changed and has none of them, the answer is 412 and nothing is changed. Without it, or with `*`, it is changed whatever its ETag is.',
    schema: { type: 'string', examples: ['"r3"'] },
  },
}

export const HEADERS: Json = {
  'X-Request-Id': {
    description:
      'The id of the request, as in the server logs: the one that was sent in this header, if valid, otherwise a generated one.',
    schema: { type: 'string', examples: [REQUEST_ID] },
  },
  'Retry-After': {
    description: 'How many seconds to wait before retrying.',
    schema: { type: 'integer', minimum: 0, examples: [1] },
  },
  'WWW-Authenticate': {
    description: 'How to authenticate.',
    schema: { type: 'string', examples: ['ApiKey realm="prospect-pages", header="x-api-key"'] },
  },
  ETag: {
    description:
      'The tag of this answer. That of a single page or page group changes with every visible change of it, and can be sent as `If-Match`.',
    schema: { type: 'string', examples: ['"r3"'] },
  },
  Location: {
    description: 'The path at which the created resource is read.',
    schema: { type: 'string', examples: [`/v0/prospects/${PROSPECT_ID}`] },
  },
  'Cache-Control': {
    description:
      'Caches of the caller alone may keep the answer, and must ask each time whether it still holds.',
    schema: { type: 'string', const: 'private, no-cache' },
  },
  'Idempotent-Replayed': {
    description: 'Present if this is the answer of an earlier request with the same idempotency key.',
    schema: { type: 'string', const: 'true' },
  },
  'Items-Refused': {
    description: 'How many items of the batch were refused.',
    schema: { type: 'integer', minimum: 0, examples: [0] },
  },
  'RateLimit-Policy': {
    description:
      'Present if the server limits the requests of an API key: the quota (`q`) and its window in seconds (`w`).',
    schema: { type: 'string', examples: ['"per-minute";q=600;w=60'] },
  },
  RateLimit: {
    description:
      'Present if the server limits the requests of an API key: the remaining quota (`r`) and the seconds to wait (`t`).',
    schema: { type: 'string', examples: ['"per-minute";r=599;t=0'] },
  },
}
