/** Makes `src/adapters/http/openapi.json` from the routes, the shapes and the problems; `--write` saves it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import { PROBLEMS, type ProblemCode } from '../../src/adapters/http/problems.ts'
import { ROUTES, type Route } from '../../src/adapters/http/routes.ts'
import type { Documented } from '../../src/shapes/text.ts'

const FILE = new URL('../../src/adapters/http/openapi.json', import.meta.url)
const PACKAGE = new URL('../../package.json', import.meta.url)

type Json = Record<string, unknown>

const jsonSchemaOf = (thing: object): Json | undefined => (thing as Partial<Documented>).jsonSchema

const schemaOf = (schema: v.GenericSchema): Json => {
  const { $schema, ...rest } = toJsonSchema(schema as never, {
    target: 'draft-2020-12',
    typeMode: 'input',
    errorMode: 'ignore',
    overrideSchema: ({ valibotSchema, jsonSchema }) => {
      const own = jsonSchemaOf(valibotSchema)
      return own === undefined ? undefined : { ...own, ...described(jsonSchema as Json) }
    },
    overrideAction: ({ valibotAction, jsonSchema }) => {
      const own = jsonSchemaOf(valibotAction)
      return own === undefined ? undefined : { ...jsonSchema, ...own }
    },
  }) as Json
  return rest
}

const described = ({ description }: Json): Json => (description === undefined ? {} : { description })

/** What every operation can give, and those with a body, besides its own problems. */
const EVERY: readonly ProblemCode[] = [
  'invalid_request',
  'missing_api_key',
  'invalid_api_key',
  'insufficient_scope',
  'rate_limited',
  'internal_error',
  'unavailable',
]
const WITH_BODY: readonly ProblemCode[] = ['invalid_json', 'payload_too_large', 'unsupported_media_type']

const problemResponses = (route: Route): Json => {
  const codes = [...EVERY, ...(route.body ? WITH_BODY : []), ...route.problems]
  const byStatus = Map.groupBy(codes, (code) => PROBLEMS[code].status)
  return Object.fromEntries(
    [...byStatus].sort(([a], [b]) => a - b).map(([status, of]) => [status, problemResponse(status, of)]),
  )
}

const HEADERS_BY_STATUS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}
const headersFor = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const problemResponse = (status: number, codes: readonly ProblemCode[]): Json => ({
  description: codes.map((code) => PROBLEMS[code].title).join('. '),
  headers: headersFor(['X-Request-Id', ...(HEADERS_BY_STATUS[status] ?? [])]),
  content: {
    'application/problem+json': {
      schema: {
        allOf: [
          { $ref: '#/components/schemas/Problem' },
          { properties: { status: { const: status }, code: { enum: codes } } },
        ],
      },
      examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
    },
  },
})

const REQUEST_ID = '0b9e5a52-6c0f-4b0b-9d6f-2f2f6f1f9a11'
const exampleOf = (code: ProblemCode): Json => ({
  type: `/problems/${code}`,
  title: PROBLEMS[code].title,
  status: PROBLEMS[code].status,
  detail: PROBLEMS[code].explanation,
  instance: REQUEST_ID,
  code,
})

const pathParameters = (route: Route): Json[] =>
  [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: name === 'page_id' ? 'The id of the page.' : 'The id of the page group.',
    schema: { type: 'string' },
  }))

const queryParameters = (route: Route): Json[] => {
  if (route.query === undefined) return []
  const { properties } = schemaOf(route.query) as { properties: Record<string, Json> }
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: false,
    description: description ?? 'How many items to answer.',
    schema: name === 'limit' ? { ...schema, default: 20 } : schema,
  }))
}

const EXAMPLES: Readonly<Record<string, Json>> = {
  logProspectActivity: {
    source: 'crm',
    type: 'form_submitted',
    email: 'ada@example.com',
    name: 'Ada Lovelace',
    idempotencyKey: 'crm-4711',
    payload: { form: 'contact' },
  },
  createPageWithVersion: { supplementaryContext: 'A page about the spring sale' },
}

const operationOf = (route: Route): Json => ({
  operationId: route.operationId,
  summary: route.summary,
  description: `Needs the scope \`${route.scope}\`.`,
  tags: [route.path.includes('prospect') ? 'Prospects' : 'Pages'],
  parameters: [
    ...pathParameters(route),
    ...queryParameters(route),
    ...(route.body ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    { $ref: '#/components/parameters/XRequestId' },
    { $ref: '#/components/parameters/Traceparent' },
  ],
  ...(route.body && {
    requestBody: {
      required: !route.bodyOptional,
      content: { 'application/json': { schema: schemaOf(route.body), example: EXAMPLES[route.operationId] } },
    },
  }),
  responses: {
    [route.status]: {
      description: route.summary,
      headers: headersFor(['X-Request-Id', ...(route.body ? ['Idempotent-Replayed'] : [])]),
      content: { 'application/json': { schema: schemaOf(route.answer) } },
    },
    ...problemResponses(route),
  },
})

const PROBLEM: Json = {
  type: 'object',
  description: 'RFC 9457. Clients must ignore members that they do not know.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code'],
  properties: {
    type: { type: 'string', description: 'An address on this server that explains the problem.' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string', description: 'The id of the request, as in `X-Request-Id`.' },
    code: { type: 'string' },
    errors: {
      type: 'array',
      maxItems: 20,
      description: 'Every fault of the request: a `pointer` into the body, or the name of a `parameter`.',
      items: {
        type: 'object',
        required: ['detail'],
        properties: {
          detail: { type: 'string' },
          pointer: { type: 'string' },
          parameter: { type: 'string' },
        },
      },
    },
    prospectLogId: { type: 'string' },
    pageId: { type: 'string' },
    requiredScope: { type: 'string' },
  },
}

export const createOpenApi = (): Json => ({
  openapi: '3.1.0',
  info: {
    title: 'prospect-pages',
    version: JSON.parse(readFileSync(PACKAGE, 'utf8')).version,
    description: "Log prospects' activities, keep pages in groups, publish them in the background.",
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'This server.' }],
  security: [{ apiKey: [] }],
  tags: [
    { name: 'Prospects', description: 'What people who are not customers yet did.' },
    { name: 'Pages', description: 'Families of pages, their members, and what is published of them.' },
  ],
  paths: Object.fromEntries(
    [...Map.groupBy(ROUTES, ({ path }) => path)].map(([path, routes]) => [
      path,
      Object.fromEntries(routes.map((route) => [route.method.toLowerCase(), operationOf(route)])),
    ]),
  ),
  components: {
    securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
    parameters: {
      IdempotencyKey: {
        name: 'Idempotency-Key',
        in: 'header',
        required: false,
        description: 'Names this request, however often it is sent. A repetition answers as the first time.',
        schema: { type: 'string', minLength: 1, maxLength: 255 },
      },
      // No patterns: what does not fit is not refused.
      XRequestId: {
        name: 'X-Request-Id',
        in: 'header',
        required: false,
        description:
          'The id of this request, where it is 1 to 128 letters, digits, `.`, `_` or `-`; else one is made.',
        schema: { type: 'string' },
      },
      Traceparent: {
        name: 'traceparent',
        in: 'header',
        required: false,
        description:
          'The trace that this request belongs to (W3C Trace Context); ignored where it is not valid.',
        schema: { type: 'string' },
      },
    },
    headers: {
      'X-Request-Id': { description: 'The id of the request.', schema: { type: 'string' } },
      'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 0 } },
      'WWW-Authenticate': { description: 'How to authenticate.', schema: { type: 'string' } },
      'Idempotent-Replayed': {
        description: 'There where the answer is that of an earlier request with the same key.',
        schema: { type: 'string', const: 'true' },
      },
    },
    schemas: { Problem: PROBLEM },
  },
})

export const openApiText = (): string => `${JSON.stringify(createOpenApi(), null, 2)}\n`

if (process.argv.includes('--write')) writeFileSync(FILE, openApiText())
