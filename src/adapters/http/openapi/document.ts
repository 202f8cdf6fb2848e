/** Makes `src/adapters/http/openapi.json` from the routes, the shapes and the problems; `--write` saves it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import { DESCRIPTION } from '../../../config/version.ts'
import type { ProblemCode } from '../../../core/engine/failures.ts'
import { IDS } from '../../../service/operations/ids.ts'
import type { Reference } from '../../../service/operations/operation.ts'
import { SECTIONS } from '../../../service/operations/operations.ts'
import { ApiKey } from '../../../shapes/api-key.ts'
import { Erasure, ErasureSlice, NewErasure } from '../../../shapes/erasure.ts'
import { Event, EventSlice } from '../../../shapes/event.ts'
import {
  Hook,
  HookChanges,
  HookRefusal,
  HookSlice,
  HookTrial,
  HookTrialResult,
  HookWarning,
  NewHook,
  TriedActivity,
} from '../../../shapes/hook.ts'
import { Hmac, HookMap, HookVerification, HookVerificationShown } from '../../../shapes/hook-rules.ts'
import {
  CreatedPage,
  CreatedVersion,
  LatestVersion,
  NewPage,
  NewVersion,
  Page,
  PageChanges,
  PageSlice,
  PageWithVersion,
  Publication,
  PublishedVersion,
  Version,
  VersionSlice,
  VersionWithContent,
} from '../../../shapes/page.ts'
import { NewPageGroup, PageGroup, PageGroupChanges, PageGroupSlice } from '../../../shapes/page-group.ts'
import {
  MatchedProspect,
  NewProspect,
  Prospect,
  ProspectChanges,
  ProspectMerge,
  ProspectSlice,
} from '../../../shapes/prospect.ts'
import {
  ExportEnd,
  ExportedErasure,
  ExportedLog,
  ExportedMerged,
  ExportedProspect,
  MergedProspect,
  ProspectExportLine,
} from '../../../shapes/prospect-export.ts'
import {
  AcceptedItem,
  NewProspectLog,
  ProspectLog,
  ProspectLogBatch,
  ProspectLogBatchResult,
  ProspectLogReceipt,
  ProspectLogSlice,
  RefusedItem,
} from '../../../shapes/prospect-log.ts'
import { ProspectLogCount, ProspectLogCounts } from '../../../shapes/prospect-log-count.ts'
import type { Documented } from '../../../shapes/text.ts'
import {
  NewWebhookEndpoint,
  SecretRotation,
  WebhookEndpoint,
  WebhookEndpointChanges,
  WebhookEndpointList,
  WebhookEndpointWithSecret,
  WebhookError,
  WebhookTest,
  WebhookTrial,
} from '../../../shapes/webhook.ts'
import {
  DeliverySlice,
  Replay,
  ReplayResult,
  WebhookAttempt,
  WebhookDelivery,
  WebhookDeliveryWithAttempts,
} from '../../../shapes/webhook-delivery.ts'
import { PROBLEMS } from '../problems.ts'
import type { Route } from '../route.ts'
import { ROUTES } from '../routes.ts'
import { ABOUT, MAY_HAVE_PLUS, problemTexts, QUERY_EXAMPLES } from './texts.ts'
import { webhookSchemas, webhooks } from './webhooks.ts'

const FILE = new URL('../openapi.json', import.meta.url)
const PACKAGE = new URL('../../../../package.json', import.meta.url)

type Json = Record<string, unknown>

const jsonSchemaOf = (thing: object): Json | undefined => (thing as Partial<Documented>).jsonSchema

/** The named schemas of the document. */
const SHAPES = {
  NewProspectLog,
  ProspectLogReceipt,
  ProspectLog,
  ProspectLogSlice,
  ProspectLogCount,
  ProspectLogCounts,
  Prospect,
  MatchedProspect,
  ProspectSlice,
  NewProspect,
  ProspectChanges,
  ProspectExportLine,
  ExportedProspect,
  ExportedMerged,
  MergedProspect,
  ExportedLog,
  ExportedErasure,
  ExportEnd,
  ProspectMerge,
  ProspectLogBatch,
  ProspectLogBatchResult,
  AcceptedItem,
  RefusedItem,
  NewErasure,
  Erasure,
  ErasureSlice,
  NewPageGroup,
  PageGroup,
  PageGroupSlice,
  PageGroupChanges,
  NewPage,
  CreatedPage,
  Page,
  PageSlice,
  PageChanges,
  PageWithVersion,
  PublishedVersion,
  LatestVersion,
  NewVersion,
  Publication,
  CreatedVersion,
  Version,
  VersionSlice,
  VersionWithContent,
  Event,
  EventSlice,
  NewWebhookEndpoint,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
  WebhookEndpointList,
  WebhookEndpointChanges,
  SecretRotation,
  WebhookTrial,
  WebhookTest,
  WebhookDelivery,
  DeliverySlice,
  WebhookAttempt,
  WebhookError,
  WebhookDeliveryWithAttempts,
  Replay,
  ReplayResult,
  NewHook,
  HookVerification,
  HookVerificationShown,
  Hmac,
  HookMap,
  HookRefusal,
  TriedActivity,
  Hook,
  HookSlice,
  HookChanges,
  HookTrial,
  HookTrialResult,
  HookWarning,
  ApiKey,
}

const CONVERSION = {
  target: 'draft-2020-12',
  typeMode: 'input',
  errorMode: 'ignore',
  overrideSchema: ({ valibotSchema, jsonSchema }) => {
    const own = jsonSchemaOf(valibotSchema)
    if (own !== undefined) return { ...own, ...described(jsonSchema as Json) }
    // Any JSON is null too.
    const { anyOf, ...rest } = jsonSchema
    return anyOf?.some((each) => Object.keys(each).length === 0) ? rest : undefined
  },
  overrideAction: ({ valibotAction, jsonSchema }) => {
    const own = jsonSchemaOf(valibotAction)
    return own === undefined ? undefined : { ...jsonSchema, ...own }
  },
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
} satisfies ConversionConfig

/** OpenAPI 3.1 uses draft 2020-12 by default. */
const withoutDialect = ({ $schema, ...schema }: Json): Json => schema

const namedSchemas = (): Json =>
  Object.fromEntries(
    Object.entries(toJsonSchemaDefs(SHAPES as never, CONVERSION) as Record<string, Json>).map(
      ([name, schema]) => [name, withoutDialect(schema)],
    ),
  )

const referenceTo = (schema: v.GenericSchema): Json => {
  const name = Object.entries(SHAPES).find(([, shape]) => (shape as v.GenericSchema) === schema)?.[0]
  const members = Object.keys((schema as Partial<v.ObjectSchema<v.ObjectEntries, undefined>>).entries ?? {})
  if (name === undefined) throw new Error(`SHAPES lacks a body or an answer with: ${members.join(', ')}.`)
  return { $ref: `#/components/schemas/${name}` }
}

const described = ({ description }: Json): Json => (description === undefined ? {} : { description })

/** Problems of every operation, and of those with a body, in addition to the problems of the route. */
const EVERY: readonly ProblemCode[] = [
  'invalid_request',
  'missing_api_key',
  'invalid_api_key',
  'tenant_suspended',
  'insufficient_scope',
  'rate_limited',
  'headers_too_large',
  'internal_error',
  'unavailable',
]
const WITH_BODY: readonly ProblemCode[] = ['invalid_json', 'payload_too_large', 'unsupported_media_type']

const codesOf = ({ body, problems, scope }: Route): ProblemCode[] => [
  ...EVERY.filter((code) => scope !== null || code !== 'insufficient_scope'),
  ...(body ? WITH_BODY : []),
  ...problems,
]

const codesByStatus = (route: Route) =>
  [...Map.groupBy(codesOf(route), (code) => PROBLEMS[code].status)].sort(([a], [b]) => a - b)

const problemResponses = (route: Route): Json =>
  Object.fromEntries(
    codesByStatus(route).map(([status, codes]) => {
      const $ref = `#/components/responses/${nameOfResponse(codes)}`
      return [
        status,
        nameOfResponse(codes) in SHARED_RESPONSES ? { $ref } : problemResponse(route, status, codes),
      ]
    }),
  )
/** Responses that are the same wherever they occur, and occur more than once. */
const sharedResponses = (): Json => {
  const all = ROUTES.flatMap((route) =>
    codesByStatus(route).map(([status, codes]) => ({
      name: nameOfResponse(codes),
      response: problemResponse(route, status, codes),
    })),
  )
  const shared = [...Map.groupBy(all, ({ name }) => name)].filter(
    ([, uses]) => uses.length > 1 && new Set(uses.map(({ response }) => JSON.stringify(response))).size === 1,
  )
  return Object.fromEntries(shared.map(([name, uses]) => [name, uses[0]?.response]))
}

/** Not on 401 and 431: a rate limit applies only to a valid key. */
const LIMITS = ['RateLimit-Policy', 'RateLimit']
const HEADERS_BY_STATUS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After', ...LIMITS],
  431: [],
  503: ['Retry-After', ...LIMITS],
}
const headersFor = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** The schema of one kind of problem, named so that generated clients have readable types. */
const nameOfKind = (code: ProblemCode): string => `${inPascalCase(code)}Problem`
const nameOfResponse = (codes: readonly ProblemCode[]): string => codes.map(inPascalCase).join('Or')
const inPascalCase = (code: ProblemCode): string =>
  code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
const kindOf = (code: ProblemCode): Json => ({ $ref: `#/components/schemas/${nameOfKind(code)}` })
const kindsOfProblem = (): Json =>
  Object.fromEntries(
    [...new Set(ROUTES.flatMap(codesOf))].map((code) => [
      nameOfKind(code),
      {
        description: PROBLEMS[code].explanation,
        allOf: [
          { $ref: '#/components/schemas/Problem' },
          { properties: { status: { const: PROBLEMS[code].status }, code: { const: code } } },
        ],
      },
    ]),
  )

const problemResponse = (route: Route, status: number, codes: ProblemCode[]): Json => ({
  description: codes.map((code) => `${PROBLEMS[code].title} (\`${code}\`).`).join(' '),
  headers: headersFor(['X-Request-Id', ...(HEADERS_BY_STATUS[status] ?? LIMITS)]),
  content: {
    'application/problem+json': {
      schema: codes.length > 1 ? { oneOf: codes.map(kindOf) } : kindOf(codes[0] as ProblemCode),
      examples: Object.fromEntries(
        codes.map((code) => [code, { summary: PROBLEMS[code].title, value: exampleOf(code, route) }]),
      ),
    },
  },
})

const REQUEST_ID = '0b9e5a52-6c0f-4b0b-9d6f-2f2f6f1f9a11'
const exampleOf = (code: ProblemCode, route: Route): Json => ({
  type: `/problems/${code}`,
  title: PROBLEMS[code].title,
  status: PROBLEMS[code].status,
  detail: PROBLEMS[code].explanation,
  instance: REQUEST_ID,
  code,
  ...problemTexts(code, route),
})

/** The example is part of the schema: swagger-ui would fill in and send an example of the parameter. */
const withExample = (schema: Json, example: unknown): Json =>
  example === undefined ? schema : { ...schema, examples: [example] }

const pathParameters = (route: Route): Json[] =>
  [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: IDS[name]?.description,
    schema: withExample({ type: 'string' }, IDS[name]?.example),
  }))

const queryParameters = (route: Route): Json[] => {
  if (route.query === undefined) return []
  const { properties } = toJsonSchema(route.query as never, CONVERSION) as {
    properties: Record<string, Json>
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: false,
    description: MAY_HAVE_PLUS.includes(name) ? `${description} Send \`+\` as \`%2B\`.` : description,
    schema: withExample({ ...schema, ...defaultOf(name, schema) }, exampleFor(name, schema)),
  }))
}

/** A query's own default is text, even of a number: the document has it in the type of the parameter. */
const defaultOf = (name: string, { type, default: text }: Json): Json => {
  if (name === 'limit') return { default: 20 }
  return type === 'integer' && text !== undefined ? { default: Number(text) } : {}
}

const exampleFor = (name: string, { enum: values = [] }: { readonly enum?: readonly unknown[] }): unknown =>
  values.length === 0 || values.includes(QUERY_EXAMPLES[name]) ? QUERY_EXAMPLES[name] : values[0]

const tagOf = ({ operationId }: Route) => SECTIONS.find((section) => operationId in section.operations)?.name

const parameter = (name: string): Json => ({ $ref: `#/components/parameters/${name}` })

const requiredScope = ({ scope }: Route): string => {
  const scopes = [scope ?? []].flat()
  const names = scopes.map((scope) => `\`${scope}\``).join(' and ')
  return names && `\n\nRequired scope${scopes.length > 1 ? 's' : ''}: ${names}.`
}

const operationOf = (route: Route): Json => ({
  operationId: route.operationId,
  summary: route.summary,
  description: `${route.reference.description}${requiredScope(route)}`,
  tags: [tagOf(route)],
  parameters: [
    ...pathParameters(route),
    ...queryParameters(route),
    ...(route.takesKey ? [parameter('IdempotencyKey')] : []),
    ...(isTagged(route) ? [parameter('IfNoneMatch')] : []),
    ...(route.problems.includes('precondition_failed') ? [parameter('IfMatch')] : []),
  ],
  ...(route.body && {
    requestBody: {
      description: route.bodyOptional ? 'Optional. No body means `{}`.' : 'A JSON object in UTF-8.',
      required: !route.bodyOptional,
      content: {
        'application/json': {
          schema: referenceTo(route.body),
          examples: route.reference.requests,
        },
      },
    },
  }),
  responses: {
    [route.status]: answerOf(route, route.reference),
    ...alsoDone(route),
    ...(isTagged(route) && NOT_MODIFIED),
    ...problemResponses(route),
  },
})

const answerOf = (route: Route, { done, answers }: Pick<Reference, 'done' | 'answers'>): Json => {
  const { item, answer } = route
  return {
    description: done,
    headers: headersFor([
      'X-Request-Id',
      ...(isTagged(route) ? ['ETag', 'Cache-Control'] : hasRevision(answer) ? ['ETag'] : []),
      ...(item ? ['Items-Refused'] : route.takesKey ? ['Idempotent-Replayed'] : []),
      ...LIMITS,
    ]),
    ...(answer && { content: contentOf(route, answer, answers) }),
  }
}
/** A read that is answered as a whole. */
const isTagged = ({ method, lines }: Route): boolean => method === 'GET' && !lines
/** Lines are one text for OpenAPI: the schema of a line stands beside it. */
const contentOf = ({ lines }: Route, answer: v.GenericSchema, examples: Reference['answers']): Json => {
  const schema = referenceTo(answer)
  if (!lines) return { 'application/json': { schema, examples } }
  const description = `JSON lines. Each is a [${String(schema['$ref']).split('/').at(-1)}](${schema['$ref']}).`
  const lineSchema = { contentMediaType: 'application/json', contentSchema: schema }
  return { 'application/x-ndjson': { schema: { type: 'string', description, ...lineSchema }, examples } }
}
const hasRevision = (answer: v.GenericSchema | undefined): boolean =>
  answer === PageGroup || answer === PageWithVersion
const NOT_MODIFIED: Json = {
  304: {
    description: 'The caller already has this answer: its tag is among those of `If-None-Match`.',
    headers: headersFor(['X-Request-Id', 'ETag', 'Cache-Control', ...LIMITS]),
  },
}
const alsoDone = (route: Route): Json => {
  const { also } = route.reference
  return also === undefined ? {} : { [also.status]: answerOf(route, also) }
}

const FAULT: Json = {
  type: 'object',
  description: 'One fault of a request.',
  required: ['detail'],
  properties: {
    detail: { type: 'string', description: 'The fault, for people.' },
    pointer: { type: 'string', description: 'A JSON pointer into the body.' },
    parameter: { type: 'string', description: 'The name of the query parameter or header.' },
  },
}

const PROBLEM: Json = {
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

const SHARED_RESPONSES = sharedResponses()

export const createOpenApi = (): Json => ({
  openapi: '3.1.0',
  info: {
    title: 'prospect-pages',
    version: JSON.parse(readFileSync(PACKAGE, 'utf8')).version,
    summary: DESCRIPTION,
    description: ABOUT,
    contact: { name: 'the prospect-pages authors' },
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'This server.' }],
  security: [{ apiKey: [] }],
  tags: SECTIONS.map(({ name, about }) => ({ name, description: about })),
  paths: Object.fromEntries(
    [...Map.groupBy(ROUTES, ({ path }) => path)].map(([path, routes]) => [
      path,
      Object.fromEntries(routes.map((route) => [route.method.toLowerCase(), operationOf(route)])),
    ]),
  ),
  webhooks: webhooks(),
  components: {
    securitySchemes: {
      apiKey: {
        type: 'apiKey',
        in: 'header',
        name: 'x-api-key',
        description: 'Issued by `prospect-pages keys create`: `pp_` followed by 36 letters and digits.',
      },
    },
    parameters: {
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
    },
    headers: {
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
    },
    responses: SHARED_RESPONSES,
    schemas: { ...namedSchemas(), ...webhookSchemas(), Problem: PROBLEM, Fault: FAULT, ...kindsOfProblem() },
  },
})

export const openApiText = (): string => `${JSON.stringify(createOpenApi(), null, 2)}\n`

if (process.argv.includes('--write')) writeFileSync(FILE, openApiText())
