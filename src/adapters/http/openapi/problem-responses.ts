/** The responses of the OpenAPI document that are problems. */

import type { ProblemCode } from '../../../core/engine/failures.ts'
import { PROBLEMS } from '../problems.ts'
import type { Route } from '../route.ts'
import { ROUTES } from '../routes.ts'
import type { Json } from './schemas.ts'
import { problemTexts } from './texts.ts'

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

/** The responses of a route for its problems, by status. */
export const problemResponses = (route: Route): Json => {
  const responses: Json = {}
  for (const [status, codes] of codesByStatus(route)) {
    const name = nameOfResponse(codes)
    const isShared = name in SHARED_RESPONSES
    responses[status] = isShared
      ? { $ref: `#/components/responses/${name}` }
      : problemResponse(route, status, codes)
  }
  return responses
}

/** Not on 401 and 431: a rate limit applies only to a valid key. */
export const LIMITS = ['RateLimit-Policy', 'RateLimit']
const HEADERS_BY_STATUS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After', ...LIMITS],
  431: [],
  503: ['Retry-After', ...LIMITS],
}
export const headersFor = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** The schema of one kind of problem, named so that generated clients have readable types. */
const nameOfKind = (code: ProblemCode): string => `${inPascalCase(code)}Problem`
const nameOfResponse = (codes: readonly ProblemCode[]): string => codes.map(inPascalCase).join('Or')
const inPascalCase = (code: ProblemCode): string =>
  code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
const kindOf = (code: ProblemCode): Json => ({ $ref: `#/components/schemas/${nameOfKind(code)}` })
export const kindsOfProblem = (): Json =>
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

export const REQUEST_ID = '0b9e5a52-6c0f-4b0b-9d6f-2f2f6f1f9a11'
const exampleOf = (code: ProblemCode, route: Route): Json => ({
  type: `/problems/${code}`,
  title: PROBLEMS[code].title,
  status: PROBLEMS[code].status,
  detail: PROBLEMS[code].explanation,
  instance: REQUEST_ID,
  code,
  ...problemTexts(code, route),
})

/** Responses that are the same wherever they occur, and occur more than once. */
const sharedResponses = (): Json => {
  const responses = ROUTES.flatMap((route) =>
    codesByStatus(route).map(([status, codes]) => ({
      name: nameOfResponse(codes),
      response: problemResponse(route, status, codes),
    })),
  )
  const shared = [...Map.groupBy(responses, ({ name }) => name)].filter(
    ([, uses]) => uses.length > 1 && new Set(uses.map(({ response }) => JSON.stringify(response))).size === 1,
  )
  return Object.fromEntries(shared.map(([name, uses]) => [name, uses[0]?.response]))
}

export const SHARED_RESPONSES = sharedResponses()
