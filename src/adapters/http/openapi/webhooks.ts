/** The section `webhooks` of the OpenAPI document: the request that each type of event leads to. */

import { EVENT, EVENT_DATA } from '../../../service/operations/examples.ts'
import { EVENT_TYPES } from '../../../shapes/event.ts'

type Json = Record<string, unknown>

/** The schema of the data of an event, by the resource that it is about. */
const SCHEMAS: Readonly<Record<string, string>> = {
  prospect: 'Prospect',
  prospect_log: 'ProspectLog',
  page_group: 'PageGroup',
  page: 'PageWithVersion',
  page_version: 'VersionWithContent',
  webhook_endpoint: 'WebhookEndpoint',
}
/** Events of things that are gone: only ids are left to show. */
const ONLY_IDS: Readonly<Record<string, readonly string[]>> = {
  'prospect.erased': ['prospectId'],
  'page.deleted': ['pageGroupId', 'pageId'],
  'webhook_endpoint.test': ['webhookEndpointId'],
}

const SUMMARIES: Readonly<Record<string, string>> = {
  'prospect.created': 'A prospect was created',
  'prospect.updated': 'The email, the external id or the name of a prospect changed',
  'prospect.merged': 'All activities of a prospect have moved to the one that it was merged into',
  'prospect.erased': 'A prospect was erased',
  'prospect_log.created': 'An activity was logged',
  'page_group.created': 'A page group was created',
  'page_group.updated': 'A page group was changed or archived',
  'page_group.deleted': 'A page group was deleted, and each of its published pages was unpublished',
  'page.created': 'A page was created',
  'page.updated': 'A page was renamed, or is to be unpublished at another time',
  'page.deleted': 'A page was deleted',
  'page_version.ready': 'A version is ready, or no longer scheduled',
  'page_version.scheduled': 'A version will be published at `publishAt`',
  'page_version.published': 'A version was published',
  'page_version.skipped':
    'A version was not published, because the time at which its page was to be unpublished again had passed',
  'page_version.failed': 'A version failed',
  'page.unpublished': 'The published version of a page was withdrawn',
  'webhook_endpoint.disabled': 'The service disabled a webhook endpoint',
  'webhook_endpoint.test': 'A test was requested',
}

const TYPES = [...EVENT_TYPES, 'webhook_endpoint.test']
export const webhooks = (): Json => Object.fromEntries(TYPES.map((type) => [type, { post: requestOf(type) }]))

const requestOf = (type: string): Json => ({
  operationId: `receive${nameOf(type)}`,
  summary: SUMMARIES[type],
  description: DESCRIPTION,
  tags: [type === 'webhook_endpoint.test' ? 'Webhook endpoints' : 'Events'],
  security: [],
  parameters: HEADERS,
  requestBody: {
    description: 'A JSON object in UTF-8.',
    required: true,
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${nameOf(type)}` },
        examples: { example: { summary: SUMMARIES[type], value: exampleOf(type) } },
      },
    },
  },
  responses: {
    '2XX': { description: 'Received. Any other answer is a failure: the webhook is sent again.' },
    410: { description: 'Gone. The endpoint is disabled: nothing more is sent.' },
  },
})

/** `page_version.ready` is `PageVersionReadyWebhook`. */
const nameOf = (type: string): string =>
  `${type.replaceAll(/(?:^|[_.])(\w)/g, (_, letter: string) => letter.toUpperCase())}Webhook`

export const webhookSchemas = (): Json => ({
  EventIds: EVENT_IDS,
  WithProspect: WITH_PROSPECT,
  ProspectOfActivity: PROSPECT,
  ...Object.fromEntries(TYPES.map((type) => [nameOf(type), bodyOf(type)])),
})

const bodyOf = (type: string): Json => ({
  type: 'object',
  description: `${SUMMARIES[type]}.`,
  required: ['type', 'timestamp', 'data'],
  properties: {
    type: { type: 'string', const: type, description: 'The type of the event.' },
    timestamp: { type: 'string', format: 'date-time', description: 'When it happened, in UTC.' },
    data: { description: 'The resource, or its ids and what is left of it.', ...dataOf(type) },
  },
})

const IDS_REF = { $ref: '#/components/schemas/EventIds' }
const dataOf = (type: string): Json => {
  if (ONLY_IDS[type]) return IDS_REF
  const [resource = ''] = type.split('.')
  const ref = { $ref: `#/components/schemas/${SCHEMAS[resource]}` }
  if (resource === 'prospect_log')
    return { anyOf: [{ allOf: [ref, { $ref: '#/components/schemas/WithProspect' }] }, IDS_REF] }
  return { anyOf: [resource === 'page_version' ? { allOf: [ref, IDS_REF] } : ref, IDS_REF] }
}

const WITH_PROSPECT: Json = {
  type: 'object',
  description: 'Members that only webhooks of activities have.',
  required: ['prospect'],
  properties: {
    prospect: {
      $ref: '#/components/schemas/ProspectOfActivity',
      description: 'The person behind the activity, as known when the webhook is sent.',
    },
  },
}
const PROSPECT: Json = {
  type: 'object',
  description: 'The person behind an activity.',
  required: ['prospectId', 'email', 'externalId', 'name'],
  properties: {
    prospectId: { type: 'string', description: 'The id of the prospect.' },
    email: { type: ['string', 'null'], description: 'The email; null if it is not known.' },
    externalId: { type: ['string', 'null'], description: 'The id in another system, or null.' },
    name: { type: ['string', 'null'], description: 'The name; null if it is not known.' },
  },
}

const ids = Object.entries({
  prospectId: 'prospect',
  prospectLogId: 'activity',
  pageGroupId: 'page group',
  pageId: 'page',
  versionId: 'version',
  webhookEndpointId: 'webhook endpoint',
}).map(([name, what]) => [name, { type: 'string', description: `The id of the ${what}.` }])
const EVENT_IDS: Json = {
  type: 'object',
  description: 'The ids of the resource that an event is about, and of what it belongs to.',
  properties: {
    ...Object.fromEntries(ids),
    payloadOmitted: {
      type: 'boolean',
      const: true,
      description: 'Present if `data` would be larger than 20 KiB with its payload or content.',
    },
  },
}

const exampleOf = (type: string): Json => {
  const [resource = ''] = type.split('.')
  const data: Json = { ...EVENT_DATA[resource] }
  const { prospectId, email, externalId, name } = EVENT_DATA['prospect'] as Json
  if (resource === 'prospect_log') data['prospect'] = { prospectId, email, externalId, name }
  const only = ONLY_IDS[type]?.map((name) => [name, data[name]])
  return { type, timestamp: EVENT.createdAt, data: only ? Object.fromEntries(only) : data }
}

const DESCRIPTION =
  '`data` is the resource as it is when the webhook is sent, or only its ids if it no longer exists. Over 20 KiB, its payload or content is omitted and `payloadOmitted` is true. An endpoint with a `body` gets that in place of this one, filled in.'

const header = (name: string, description: string, schema: Json): Json => ({
  name,
  in: 'header',
  required: true,
  description,
  schema,
})
const HEADERS = [
  header('webhook-id', 'The id of the event, the same with every attempt.', {
    type: 'string',
    examples: [EVENT.eventId],
  }),
  header('webhook-timestamp', 'When this attempt was made, in seconds since 1970.', {
    type: 'integer',
    examples: [1_795_333_689],
  }),
  header(
    'webhook-signature',
    'One or more signatures, separated by spaces: `v1,` and the HMAC-SHA256 of id, timestamp and body in base64.',
    { type: 'string', examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='] },
  ),
  header(
    'webhook-hops',
    'How many webhooks, one after another, led to this one, which counts too: 1, unless the activity came by a hook to which a webhook was delivered. Pass it on if you relay webhooks to a hook. Not signed.',
    { type: 'integer', minimum: 1, examples: [1] },
  ),
]
