import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import * as v from 'valibot'
import { openApiText } from '../../../src/adapters/http/openapi/document.ts'
import openapi from '../../../src/adapters/http/openapi.json' with { type: 'json' }
import { ROUTES } from '../../../src/adapters/http/routes.ts'
import { NewPage } from '../../../src/shapes/page.ts'
import { NewProspectLog } from '../../../src/shapes/prospect-log.ts'
import { faultOfValue } from '../../support/answers.ts'
import { openScene } from '../../support/api.ts'

const { paths, components } = openapi
type Shape = { properties: Record<string, object>; required: string[] }
const named = ({ $ref }: { $ref: string }): Shape => {
  const name = $ref.replace('#/components/schemas/', '') as keyof typeof components.schemas
  return components.schemas[name] as unknown as Shape
}
const PROSPECT_ID = '^prospect_[a-z0-9]{26}$'
/** The headers of the operation itself; the headers that others take as well are named elsewhere. */
const parametersOf = (operation: { parameters: object[] }) =>
  operation.parameters.flatMap((parameter) => {
    if ('$ref' in parameter) return []
    const { name, in: place, required, schema } = parameter as Record<string, unknown>
    const { examples, ...bounds } = schema as Record<string, unknown>
    return [{ name, in: place, required, schema: bounds }]
  })
const shapeOf = (operation: { responses: object }, status: number) => {
  const responses = operation.responses as Record<string, { content: Record<string, { schema: object }> }>
  return named(responses[status]?.content['application/json']?.schema as { $ref: string })
}

t.test('the committed document is the one that the routes and shapes make', async (t) => {
  const committed = readFileSync(new URL('../../../src/adapters/http/openapi.json', import.meta.url), 'utf8')
  t.ok(committed === openApiText(), 'run `npm run openapi`')
})

t.test('the schemas of the document are valid schemas', async (t) => {
  const ajv = new Ajv2020({ strict: false })
  for (const [name, schema] of Object.entries(components.schemas)) t.ok(ajv.validateSchema(schema), name)
})

t.test('the service returns the committed document', async (t) => {
  const { call } = await openScene()
  const answer = await call('GET /openapi.json', { key: null })
  t.equal(answer.status, 200)
  t.equal(answer.headers['content-type'], 'application/json')
  t.strictSame(answer.json, openapi)
})

/** Each operation of the specification with its scope. */
const SCOPED_OPERATIONS = [
  'delete /v0/hooks/{hook_id} deleteHook hooks:write',
  'delete /v0/page_groups/{page_group_id} deletePageGroup page_groups:write',
  'delete /v0/page_groups/{page_group_id}/pages/{page_id} deletePage pages:write',
  'delete /v0/webhook_endpoints/{webhook_endpoint_id} deleteWebhookEndpoint webhooks:write',
  'get /v0/api_keys/self getApiKey any key',
  'get /v0/erasures listErasures prospects:erase',
  'get /v0/erasures/{erasure_id} getErasure prospects:erase',
  'get /v0/events listEvents events:read',
  'get /v0/events/{event_id} getEvent events:read',
  'get /v0/hooks listHooks hooks:write',
  'get /v0/hooks/{hook_id} getHook hooks:write',
  'get /v0/page_groups listPageGroups page_groups:read',
  'get /v0/page_groups/{page_group_id} getPageGroup page_groups:read',
  'get /v0/page_groups/{page_group_id}/pages listPages pages:read',
  'get /v0/page_groups/{page_group_id}/pages/{page_id} getPage pages:read',
  'get /v0/page_groups/{page_group_id}/pages/{page_id}/versions listVersions pages:read',
  'get /v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id} getVersion pages:read',
  'get /v0/prospect_conflicts listProspectConflicts prospects:read',
  'get /v0/prospect_log_counts listProspectLogCounts prospect_logs:read',
  'get /v0/prospect_logs listProspectLogs prospect_logs:read',
  'get /v0/prospect_logs/{prospect_log_id} getProspectLog prospect_logs:read',
  'get /v0/prospects listProspects prospects:read',
  'get /v0/prospects/{prospect_id} getProspect prospects:read',
  'get /v0/prospects/{prospect_id}/export exportProspect prospects:read+prospect_logs:read',
  'get /v0/prospects/{prospect_id}/prospect_logs listTimeline prospect_logs:read',
  'get /v0/published_pages listPublishedPages pages:read',
  'get /v0/webhook_endpoints listWebhookEndpoints webhooks:write',
  'get /v0/webhook_endpoints/{webhook_endpoint_id} getWebhookEndpoint webhooks:write',
  'get /v0/webhook_endpoints/{webhook_endpoint_id}/deliveries listDeliveries webhooks:write',
  'get /v0/webhook_endpoints/{webhook_endpoint_id}/deliveries/{event_id} getDelivery webhooks:write',
  'patch /v0/hooks/{hook_id} updateHook hooks:write',
  'patch /v0/page_groups/{page_group_id} updatePageGroup page_groups:write',
  'patch /v0/page_groups/{page_group_id}/pages/{page_id} updatePage pages:write',
  'patch /v0/prospects/{prospect_id} updateProspect prospects:write',
  'patch /v0/webhook_endpoints/{webhook_endpoint_id} updateWebhookEndpoint webhooks:write',
  'post /v0/erasures eraseProspect prospects:erase',
  'post /v0/erasures/{erasure_id}/unblock unblockErasure prospects:erase',
  'post /v0/hooks createHook hooks:write',
  'post /v0/hooks/{hook_id}/try tryHook hooks:write',
  'post /v0/page_groups createPageGroup page_groups:write',
  'post /v0/page_groups/{page_group_id}/pages createPageWithVersion pages:write',
  'post /v0/page_groups/{page_group_id}/pages/{page_id}/unpublish unpublishPage pages:write',
  'post /v0/page_groups/{page_group_id}/pages/{page_id}/versions createVersion pages:write',
  'post /v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}/publish publishVersion pages:write',
  'post /v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}/unschedule unscheduleVersion pages:write',
  'post /v0/prospect_logs logProspectActivity prospect_logs:write',
  'post /v0/prospect_logs/batch logProspectActivities prospect_logs:write',
  'post /v0/prospects createProspect prospects:write',
  'post /v0/prospects/batch createProspects prospects:write',
  'post /v0/prospects/{prospect_id}/merge mergeProspect prospects:write',
  'post /v0/webhook_endpoints createWebhookEndpoint webhooks:write',
  'post /v0/webhook_endpoints/{webhook_endpoint_id}/deliveries/{event_id}/retry retryDelivery webhooks:write',
  'post /v0/webhook_endpoints/{webhook_endpoint_id}/replay replayDeliveries webhooks:write',
  'post /v0/webhook_endpoints/{webhook_endpoint_id}/rotate_secret rotateWebhookSecret webhooks:write',
  'post /v0/webhook_endpoints/{webhook_endpoint_id}/test testWebhookEndpoint webhooks:write',
]

t.test('the document has exactly the operations of the specification, with their scopes', async (t) => {
  const routes = ROUTES.map(
    ({ method, path, operationId }) => `${method.toLowerCase()} ${path} ${operationId}`,
  )
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
  )
  t.strictSame(operations.sort(), routes.sort())
  const scopeOf = (operationId: string) => {
    const scope = ROUTES.find((route) => route.operationId === operationId)?.scope ?? 'any key'
    return [scope].flat().join('+')
  }
  const scoped = operations.map((operation) => `${operation} ${scopeOf(operation.split(' ')[2] ?? '')}`)
  t.strictSame(scoped, SCOPED_OPERATIONS)
})

t.test('every operation needs the key in the header x-api-key', async (t) => {
  t.strictSame(openapi.security, [{ apiKey: [] }])
  t.match(components.securitySchemes, {
    apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  })
})

t.test('the body of an activity has the bounds of the specification', async (t) => {
  const { requestBody } = paths['/v0/prospect_logs'].post
  const schema = named(requestBody.content['application/json'].schema)
  t.equal(requestBody.required, true)
  t.match(schema.properties, {
    source: { type: 'string', minLength: 1, maxLength: 100 },
    type: { type: 'string', minLength: 1, maxLength: 100, default: 'webhook' },
    payload: { type: 'object' },
    prospectId: { type: 'string', minLength: 1, pattern: PROSPECT_ID },
    email: { type: 'string' },
    externalId: { type: 'string', minLength: 1, maxLength: 255 },
    occurredAt: { type: 'string', format: 'date-time' },
    idempotencyKey: { type: 'string', minLength: 1, maxLength: 255 },
    name: { type: 'string', minLength: 1, maxLength: 255 },
  })
  t.strictSame(Object.keys(schema.properties).sort(), [
    'attributes',
    'email',
    'externalId',
    'idempotencyKey',
    'name',
    'occurredAt',
    'payload',
    'prospectId',
    'source',
    'type',
  ])
  t.strictSame(schema.required, ['source', 'payload'])
  t.notOk('additionalProperties' in schema, 'members that nobody knows are allowed')
})

t.test('the document refuses the texts that the service refuses', async (t) => {
  const valid = { source: 'crm', payload: {} }
  const agree = (name: string, shape: v.GenericSchema, body: object) =>
    (faultOfValue(`#/components/schemas/${name}`, body) === null) === v.is(shape, body)
  for (const text of ['a', 'a\n😀', '\u0001', '\0', 'a\0b', 'a\n\0']) {
    for (const field of ['source', 'type', 'email', 'idempotencyKey', 'name'])
      t.ok(
        agree('NewProspectLog', NewProspectLog, { ...valid, [field]: text }),
        JSON.stringify({ [field]: text }),
      )
    for (const field of ['supplementaryContext', 'customName'])
      t.ok(agree('NewPage', NewPage, { [field]: text }), JSON.stringify({ [field]: text }))
  }
  t.match(openapi.info.description, /unpaired surrogate/, 'which patterns cannot express alike everywhere')
})

t.test('every object in the document has a name, so that clients get readable types', async (t) => {
  walk(openapi, '#', (node, at) => {
    if ('properties' in node) t.match(at, /^#\/components\/schemas\/\w+(\/allOf\/1)?$/)
  })
  t.strictSame(components.schemas.PageWithVersion.properties.latestVersion, {
    $ref: '#/components/schemas/LatestVersion',
  })
})

t.test(
  'shared header parameters are components, and the headers of every request are described once',
  async (t) => {
    t.strictSame(Object.keys(components.parameters), ['IdempotencyKey', 'IfNoneMatch', 'IfMatch'])
    t.match(openapi.info.description, /`X-Request-Id`.*`traceparent`/s)
    t.match(openapi.info, { contact: { name: /./ }, license: { identifier: 'MIT' } })
  },
)

t.test(
  'the receipt has the fields of the specification, all required, and names ignored members',
  async (t) => {
    const { properties, required } = shapeOf(paths['/v0/prospect_logs'].post, 201)
    const { ignored, ...specified } = properties
    t.match(properties, {
      prospectId: { type: 'string', minLength: 1, pattern: PROSPECT_ID },
      prospectLogId: { type: 'string', pattern: '^prospectlog_[a-z0-9]{26}$' },
      createdAt: { type: 'string', format: 'date-time' },
      createdProspect: { type: 'boolean' },
      source: { type: 'string', minLength: 1, maxLength: 100 },
      type: { type: 'string', minLength: 1, maxLength: 100 },
    })
    t.match(ignored, { type: 'array', items: { type: 'string' } })
    t.strictSame(required, Object.keys(specified))
  },
)

t.test('limit is 1 to 100 and by default 20, in both lists', async (t) => {
  const limit = {
    name: 'limit',
    in: 'query',
    required: false,
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  }
  const cursor = { name: 'cursor', in: 'query', required: false, schema: { type: 'string' } }
  const group = { name: 'page_group_id', in: 'path', required: true, schema: { type: 'string' } }
  const groups = parametersOf(paths['/v0/page_groups'].get)
  t.match(groups, [cursor, limit, { name: 'status', in: 'query', required: false }])
  t.strictSame(groups[1], limit)
  t.strictSame(parametersOf(paths['/v0/page_groups/{page_group_id}/pages'].get), [group, cursor, limit])
})

t.test('the slices have the fields of the specification; that of the pages has no limit', async (t) => {
  const groups = shapeOf(paths['/v0/page_groups'].get, 200)
  const pages = shapeOf(paths['/v0/page_groups/{page_group_id}/pages'].get, 200)
  t.strictSame(Object.keys(groups.properties), ['items', 'hasMore', 'nextCursor', 'limit'])
  t.strictSame(groups.required, ['items', 'hasMore', 'limit'])
  t.strictSame(Object.keys(pages.properties), ['items', 'hasMore', 'nextCursor'])
  t.strictSame(pages.required, ['items', 'hasMore'])
})

t.test('the items and pages have every field of the specification', async (t) => {
  const fieldsOf = (path: '/v0/page_groups' | '/v0/page_groups/{page_group_id}/pages') => {
    const { items } = shapeOf(paths[path].get, 200).properties['items'] as { items: { $ref: string } }
    const { properties, required } = named(items)
    t.strictSame(required, Object.keys(properties))
    return required.join(' ')
  }
  t.equal(
    fieldsOf('/v0/page_groups'),
    'pageGroupId tenantId brandId name title pageContext status pagesCount actions footerLinks scripts ' +
      'createdAt updatedAt deletedAt headerActionId',
  )
  t.equal(
    fieldsOf('/v0/page_groups/{page_group_id}/pages'),
    'pageId pageGroupId tenantId createdAt updatedAt effectiveName customName computedName slug',
  )
  t.equal(
    shapeOf(paths['/v0/page_groups/{page_group_id}/pages/{page_id}'].get, 200).required.join(' '),
    'pageId pageGroupId tenantId createdAt effectiveName customName computedName slug supplementaryContext ' +
      'publishedVersion latestVersion unpublishAt',
  )
})

t.test('a page is created from a body that may be missing, and answered as processing', async (t) => {
  const { requestBody, ...operation } = paths['/v0/page_groups/{page_group_id}/pages'].post
  const schema = named(requestBody.content['application/json'].schema)
  t.equal(requestBody.required, false)
  t.match(schema.properties, { supplementaryContext: { type: 'string' }, customName: { type: 'string' } })
  t.strictSame(schema.required ?? [], [])
  const created = shapeOf(operation, 201)
  t.strictSame(created.required, ['pageId', 'pageGroupId', 'tenantId', 'createdAt', 'status'])
  t.match(created.properties['status'], { const: 'processing' })
})

type Response = { readonly $ref?: string; readonly content?: object }
const EVERYWHERE = ['400', '401', '403', '429', '500', '503']
type DocumentedRoute = (typeof ROUTES)[number]

/** The statuses of refusals that the operation of a route must document. */
const refusalsOf = ({ method, path, body, item }: DocumentedRoute): string[] => {
  if (body === undefined) return EVERYWHERE
  const refusals = [...EVERYWHERE, '413', '415']
  const isCreation = method === 'POST' && !/erasures|webhook|hooks|publish|merge|prospects$/.test(path)
  if (isCreation) refusals.push(item ? '207' : '422')
  return refusals
}
/** The content types of an answer with this status. */
const contentTypesOf = (status: string, { status: success, lines }: DocumentedRoute): string[] => {
  if (status === '204' || status === '304') return []
  const isSuccess = status === String(success) || status.startsWith('20')
  if (!isSuccess) return ['application/problem+json']
  return [lines ? 'application/x-ndjson' : 'application/json']
}

t.test('every operation documents its refusals, each as a problem document', async (t) => {
  const shared = openapi.components.responses as Record<string, Response>
  for (const route of ROUTES) {
    const { method, path, operationId, problems, item, lines } = route
    const operations = paths[path as keyof typeof paths] as Record<string, { responses: object }>
    const responses = (operations[method.toLowerCase()]?.responses ?? {}) as Record<string, Response>
    for (const status of refusalsOf(route)) t.ok(status in responses, `${status} of ${method} ${path}`)
    t.equal('304' in responses, method === 'GET' && !lines)
    for (const [status, response] of Object.entries(responses)) {
      const { content = {} } = shared[response.$ref?.split('/').at(-1) ?? ''] ?? response
      t.strictSame(Object.keys(content), contentTypesOf(status, route), `${status} of ${method} ${path}`)
    }
    t.ok(problems.length > 0 || item || ['listWebhookEndpoints', 'getApiKey'].includes(operationId))
  }
})

/** Visits every object in a document, with its JSON Pointer. */
const walk = (
  value: unknown,
  at: string,
  visit: (node: Record<string, unknown>, at: string) => void,
): void => {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) visit(value as Record<string, unknown>, at)
  for (const [key, child] of Object.entries(value)) walk(child, `${at}/${key.replaceAll('/', '~1')}`, visit)
}

t.test('every member, parameter, header, body and answer is described', async (t) => {
  let properties = 0
  walk(openapi, '#', (node, at) => {
    const isMember = /\/properties\/[^/]+$/.test(at) && !/\/allOf\/1\//.test(at) && !('$ref' in node)
    const isPart = /\/(parameters|headers|responses|requestBody|securitySchemes)(\/[^/]+)?$/.test(at)
    const isOne = 'schema' in node || 'content' in node || 'type' in node
    if (isMember) properties++
    if (isMember || (isPart && isOne)) t.type(node['description'], 'string', at)
    if (isMember || (isPart && isOne)) t.match(node['description'], /\.$/, `${at} ends like a sentence`)
  })
  t.ok(properties > 50)
})

t.test('every body and answer has examples, and each is of its shape', async (t) => {
  let examples = 0
  walk(openapi, '#', (node, at) => {
    if (!/\/content\/application~1(problem\+)?json$/.test(at)) return
    const named = Object.entries((node['examples'] ?? {}) as Record<string, { value: unknown }>)
    t.ok(named.length > 0, at)
    for (const [name, { value }] of named) {
      t.equal(faultOfValue(`${at}/schema`, value), null, `${at} ${name}`)
      examples++
    }
  })
  t.ok(examples > 60)
  for (const { body, operationId, method, path, item } of ROUTES) {
    // The items of a batch are checked as texts.
    if (body === undefined || item) continue
    const operations = paths[path as keyof typeof paths] as Record<string, object>
    const { requestBody } = operations[method.toLowerCase()] as {
      requestBody: { content: { 'application/json': { examples: Record<string, { value: unknown }> } } }
    }
    for (const { value } of Object.values(requestBody.content['application/json'].examples))
      t.ok(v.is(body, value), operationId)
  }
})

t.test(
  'an executed example does no harm: it changes no person of the first steps and names no real host',
  async (t) => {
    const read = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
    const firstSteps = read('README.md') + read('src/cli/first-run.ts')
    const textsIn = (value: unknown): string[] =>
      typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [String(value)]
    const examples: string[] = []
    walk(paths, '#', ({ requestBody, operationId }) => {
      const texts = textsIn(requestBody)
      examples.push(...texts)
      if (operationId !== 'eraseProspect' && operationId !== 'updateProspect') return
      const emails = texts.filter((text) => /^\S+@\S+$/.test(text))
      t.ok(emails.length > 0, operationId)
      for (const email of emails) t.notOk(firstSteps.includes(email), `${operationId}: ${email}`)
    })
    const urls = examples.filter((text) => /^https?:/.test(text))
    t.ok(urls.length > 0)
    for (const url of urls) t.match(new URL(url).hostname, /\.(example|test|invalid)$/)
  },
)

t.test('examples of parameters match their shapes, and are placed where no form fills them in', async (t) => {
  walk(openapi, '#', (node, at) => {
    if (!('in' in node) || !('name' in node) || at.includes('securitySchemes')) return
    t.notOk('example' in node || 'examples' in node, at)
    const { schema } = node as { schema: { examples?: unknown[] } }
    t.equal(schema.examples?.length, 1, at)
    for (const example of schema.examples ?? []) t.equal(faultOfValue(`${at}/schema`, example), null, at)
  })
})

t.test('every default, example and enumerated value is valid by the schema that it stands in', async (t) => {
  let values = 0
  walk(openapi, '#', (node, at) => {
    // Members of these names are data.
    if (/\/(examples|properties|default|enum|const)(\/|$)/.test(at.replaceAll(/\/properties\/[^/]+/g, '')))
      return
    const { default: fallback, examples = [], enum: enumerated = [], const: only } = node
    if (!Array.isArray(examples)) return
    const shown = [fallback, only, examples, enumerated].flat().filter((value) => value !== undefined)
    for (const value of shown) t.equal(faultOfValue(at, value), null, `${at} ${JSON.stringify(value)}`)
    values += shown.length
  })
  t.ok(values > 100)
})
