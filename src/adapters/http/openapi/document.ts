/** Makes `src/adapters/http/openapi.json` from the routes, the shapes and the problems; `--write` saves it. */
import { readFileSync, writeFileSync } from 'node:fs'
import type * as v from 'valibot'
import { DESCRIPTION } from '../../../config/version.ts'
import { READERS_SCOPE } from '../../../core/ports/api-keys.ts'
import { IDS } from '../../../service/operations/ids.ts'
import type { Reference } from '../../../service/operations/operation.ts'
import { SECTIONS } from '../../../service/operations/operations.ts'
import { PageWithVersion, PublicationResult } from '../../../shapes/page.ts'
import { PageGroup } from '../../../shapes/page-group.ts'
import { locationsAmong } from '../locations.ts'
import type { Route } from '../route.ts'
import { ROUTES } from '../routes.ts'
import { FAULT, HEADERS, PARAMETERS, PROBLEM } from './components.ts'
import {
  headersFor,
  kindsOfProblem,
  LIMITS,
  problemResponses,
  SHARED_RESPONSES,
} from './problem-responses.ts'
import { type Json, namedSchemas, parametersOf, referenceTo } from './schemas.ts'
import { ABOUT, MAY_HAVE_PLUS, QUERY_EXAMPLES } from './texts.ts'
import { webhookSchemas, webhooks } from './webhooks.ts'

const FILE = new URL('../openapi.json', import.meta.url)
const PACKAGE = new URL('../../../../package.json', import.meta.url)

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
  return Object.entries(parametersOf(route.query)).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: false,
    description: MAY_HAVE_PLUS.includes(name) ? `${description} Send \`+\` as \`%2B\`.` : description,
    schema: withExample({ ...schema, ...defaultOf(name, schema) }, exampleFor(name, schema)),
  }))
}

/** The default of a query is text, even for a number: the document shows it in the type of the parameter. */
const defaultOf = (name: string, { type, default: text }: Json): Json => {
  if (name === 'limit') return { default: 20 }
  return type === 'integer' && text !== undefined ? { default: Number(text) } : {}
}

const exampleFor = (name: string, { enum: values = [] }: { readonly enum?: readonly unknown[] }): unknown => {
  const example = QUERY_EXAMPLES[name]
  return values.length === 0 || values.includes(example) ? example : values[0]
}

const tagOf = ({ operationId }: Route) => SECTIONS.find((section) => operationId in section.operations)?.name

const parameter = (name: string): Json => ({ $ref: `#/components/parameters/${name}` })

const requiredScope = ({ scope, readersToo }: Route): string => {
  const scopes = [scope ?? []].flat()
  const names = scopes.map((scope) => `\`${scope}\``).join(' and ')
  const orReaders = readersToo ? `, or \`${READERS_SCOPE}\` for what is published` : ''
  return names && `\n\nRequired scope${scopes.length > 1 ? 's' : ''}: ${names}${orReaders}.`
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
    [route.status]: answerOf(route, route.reference, locationHeaders(route)),
    ...alsoDone(route),
    ...(isTagged(route) && NOT_MODIFIED),
    ...problemResponses(route),
  },
})

const answerOf = (
  route: Route,
  { done, answers }: Pick<Reference, 'done' | 'answers'>,
  moreHeaders: readonly string[] = [],
): Json => {
  const { answer } = route
  return {
    description: done,
    headers: headersFor([
      'X-Request-Id',
      ...moreHeaders,
      ...tagHeaders(route),
      ...resultHeaders(route),
      ...LIMITS,
    ]),
    ...(answer && { content: contentOf(route, answer, answers) }),
  }
}
const tagHeaders = (route: Route): readonly string[] => {
  if (isTagged(route)) return ['ETag', 'Cache-Control']
  return hasRevision(route.answer) ? ['ETag'] : []
}
const resultHeaders = (route: Route): readonly string[] => {
  if (route.item) return ['Items-Refused']
  return route.takesKey ? ['Idempotent-Replayed'] : []
}
const locationHeaders = (route: Route): readonly string[] =>
  locationOf(route, {}) === undefined ? [] : ['Location']
const locationOf = locationsAmong(ROUTES)

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
  answer === PageGroup || answer === PageWithVersion || answer === PublicationResult
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
    parameters: PARAMETERS,
    headers: HEADERS,
    responses: SHARED_RESPONSES,
    schemas: { ...namedSchemas(), ...webhookSchemas(), Problem: PROBLEM, Fault: FAULT, ...kindsOfProblem() },
  },
})

export const openApiText = (): string => `${JSON.stringify(createOpenApi(), null, 2)}\n`

if (process.argv.includes('--write')) writeFileSync(FILE, openApiText())
