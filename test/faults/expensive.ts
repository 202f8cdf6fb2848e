import { gzipSync } from 'node:zlib'
import openapi from '../../src/adapters/http/openapi.json' with { type: 'json' }
import type { Route } from '../../src/adapters/http/route.ts'
import { ROUTES } from '../../src/adapters/http/routes.ts'
import { requestText } from './crowd.ts'
import { type FullTenant, MEBIBYTE, nested, text, times } from './full-tenant.ts'

// The most expensive requests that the limits allow: of each operation, and of deliveries to hooks.

/** A name, and the texts of requests, which each caller of a crowd sends in turn. */
type Flood = { readonly name: string; readonly textsOf: (tenant: FullTenant) => readonly string[] }

/** Those that cost most, of each kind: reading much, writing much, looking through much, refusing much. */
const COSTLIEST = new Set([
  'logProspectActivities',
  'updatePageGroup',
  'getPageGroup',
  'getDelivery',
  'listEvents',
  'exportProspect',
  'listProspectLogCounts',
  'replayDeliveries',
  'receiveDeep',
  'receiveForms',
  'refuseDelivery',
])

/** All floods, or only the costliest. */
export const floodsOf = (all: boolean): readonly Flood[] =>
  [...hookFloods(), ...operationFloods()].filter(({ name }) => all || COSTLIEST.has(name))

// Deliveries to hooks. They need no key.

const URL_ENCODED = 'application/x-www-form-urlencoded'
/** As many signatures as a header may have, all of them wrong. */
const FORGED = `Stripe-Signature: t=1,${times(16, () => `v1=${'0'.repeat(64)}`)}`

const hookFloods = (): Flood[] => [
  {
    name: 'receiveHook',
    textsOf: ({ hookPaths }) => [
      jsonDelivery(hookPaths.byToken, { values: times(300_000, () => ({})) }),
      jsonDelivery(hookPaths.byToken, { items: times(1_000, () => ({ text: text(1_000) })) }),
      jsonDelivery(hookPaths.byToken, { email0: { [text(230)]: text(MEBIBYTE - 300) } }),
    ],
  },
  {
    name: 'receiveDeep',
    textsOf: ({ hookPaths }) => [
      jsonDelivery(hookPaths.deep, nested(15, 30_000)),
      jsonDelivery(
        hookPaths.deep,
        times(500_000, () => 0),
      ),
    ],
  },
  {
    name: 'refuseDelivery',
    textsOf: ({ hookPaths }) => [
      jsonDelivery(hookPaths.signed, { text: text(MEBIBYTE - 100) }),
      jsonDelivery(hookPaths.signed, {}),
    ],
  },
  { name: 'receiveForms', textsOf: formDeliveries },
]

const jsonDelivery = (path: string, body: unknown): string =>
  requestText('POST', path, 'none', JSON.stringify(body), FORGED)

/** Forms as their limits allow them: many fields, all encoded, JSON in them, without an end, in other encodings. */
const formDeliveries = ({ hookPaths }: FullTenant): readonly string[] => {
  const send = (type: string, body: string | Uint8Array, header = '') =>
    requestText('POST', hookPaths.form, 'none', body, header, type)
  const deep = '['.repeat(500) + ']'.repeat(500)
  const part = (i: number) => `--X\r\nContent-Disposition: form-data; name="${i}"\r\n\r\n${text(900)}\r\n`
  return [
    send(URL_ENCODED, times(1_000, (i) => `${i}=${'%E4+%'.repeat(200)}`).join('&')),
    send(URL_ENCODED, times(999, (i) => `f${i}=${deep}`).join('&')),
    send(URL_ENCODED, '&=%'.repeat(349_000)),
    send(URL_ENCODED, `payload={"values":[${times(130_000, () => '{"t":0}').join()}]}`),
    send('multipart/form-data; boundary=X', `${times(1_000, part).join('')}--X--`),
    send(
      `multipart/form-data; boundary=${text(199)}y`,
      `\n--${text(198)}`.repeat(Math.floor(MEBIBYTE / 201) - 1),
    ),
    send('application/json', Buffer.from(`{"text":"${'\xe4'.repeat(MEBIBYTE - 100)}"}`, 'latin1')),
    send('application/x-ndjson', `{"text":"${text(1_000)}"}\n`.repeat(1_000)),
    send(
      'application/json',
      gzipSync(JSON.stringify({ values: times(500_000, () => 0) })),
      'Content-Encoding: gzip',
    ),
    // Signed: whether it is right shows only after it was inflated.
    requestText(
      'POST',
      hookPaths.signed,
      'none',
      gzipSync(text(MEBIBYTE)),
      `${FORGED}\r\nContent-Encoding: gzip`,
    ),
  ]
}

// Operations, with a key.

const operationFloods = (): Flood[] =>
  ROUTES
    // Deleting comes last: it removes what the others ask for.
    .toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))
    .map((route) => ({
      name: route.operationId,
      textsOf: (tenant) => requestsTo(route, tenant),
    }))

/** Requests to an operation: each path with each of its bodies and each of its queries. */
const requestsTo = (route: Route, tenant: FullTenant): readonly string[] =>
  pathsOf(route, tenant).flatMap((path) =>
    bodiesOf(route).flatMap((body) =>
      queriesOf(route).map((query) => {
        const target = query === '' ? path : `${path}?${query}`
        return requestText(route.method, target, tenant.apiKey, body)
      }),
    ),
  )

/** The path of an operation with the ids of what is most expensive to ask for. */
const pathsOf = ({ operationId, path }: Route, tenant: FullTenant): string[] => {
  const withIds = (ids: Readonly<Record<string, string>>) =>
    path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? tenant.ids[name] ?? 'none')
  if (operationId === 'exportProspect') return [withIds({ prospect_id: tenant.survivorId })]
  if (operationId === 'getDelivery') return tenant.deliveries.map(withIds)
  if (path.endsWith('{page_group_id}'))
    return tenant.pageGroupIds.map((page_group_id) => withIds({ page_group_id }))
  return [withIds({})]
}

/** The most expensive bodies of an operation, as JSON. By default the examples of the OpenAPI document. */
const bodiesOf = (route: Route): readonly string[] => {
  if (!route.body) return ['']
  const bodies = BODIES[route.operationId]?.() ?? examplesOf(route)
  return bodies.map((body) => JSON.stringify(body))
}

const BODIES: Readonly<Record<string, () => readonly unknown[]>> = {
  logProspectActivity: () => [
    { source: 's', payload: { values: times(300_000, () => ({})) } },
    { source: 's', payload: { values: times(500_000, () => 0) } },
    { source: 's', payload: {}, ...Object.fromEntries(times(4_990, (i) => [`m${i}`, text(190)])) },
    { source: 's', payload: {}, ...Object.fromEntries(times(90_000, (i) => [`m${i}`, 0])) },
    { source: 's', email: text(MEBIBYTE - 200), payload: {} },
    { source: 's', email: 'ada@example.com', payload: { text: text(MEBIBYTE - 200) } },
  ],
  logProspectActivities: () => [
    { items: times(2_700_000, () => ({})) },
    { items: times(8, () => ({ source: 's', payload: { values: times(300_000, () => ({})) } })) },
    { items: times(1_000, () => ({ source: 's', payload: { text: text(8_000) } })) },
  ],
  createPageGroup: () => [{ name: 'n', title: 't', scripts: [text(MEBIBYTE - 100)] }],
  updatePageGroup: () => [{ scripts: [text(MEBIBYTE - 100)] }, { title: 't' }, {}],
  createPageWithVersion: () => [{ content: { text: text(MEBIBYTE - 100) } }],
  createVersion: () => [{ content: { text: text(MEBIBYTE - 100) } }],
  updatePage: () => [{ customName: text(10_000) }, { customName: null }, {}],
  tryHook: () => [{ headers: {}, body: JSON.stringify(nested(15, 30_000)) }],
  replayDeliveries: () => [{ since: '1970-01-01T00:00:00Z', onlyUndelivered: false }],
}

type Documented = {
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': {
        readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
      }
    }
  }
}
const examplesOf = ({ path, method }: Route): readonly unknown[] => {
  const paths: Readonly<Record<string, Readonly<Record<string, unknown>>>> = openapi.paths
  const documented = paths[path]?.[method.toLowerCase()] as Documented | undefined
  const examples = documented?.requestBody?.content['application/json'].examples ?? {}
  return Object.values(examples).map(({ value }) => value)
}

/** The most expensive queries of an operation. They differ, so that few requests share an answer. */
const queriesOf = ({ operationId, query }: Route): readonly string[] =>
  QUERIES[operationId] ?? (query && 'limit' in query.entries ? ['limit=100', 'limit=99', 'limit=98'] : [''])

const HOUR_MS = 3_600_000
const hoursAgo = (hours: number): string => `since=${new Date(Date.now() - hours * HOUR_MS).toISOString()}`
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  listProspectLogCounts: [
    ...times(50, (i) => `${hoursAgo(60)}&type=nothing${i}`),
    ...times(5, (i) => hoursAgo(i + 3)),
  ],
  listEvents: ['limit=100', 'limit=100&types=page.unpublished', 'limit=99&types=page_group.updated'],
  listProspectLogs: ['limit=100', 'limit=100&type=rare', 'limit=99'],
  listTimeline: ['limit=100', 'limit=100&type=rare', 'limit=99'],
  listDeliveries: ['limit=100', 'limit=100&status=delivered', 'limit=99&status=failed'],
}
