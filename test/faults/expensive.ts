import { gzipSync } from 'node:zlib'
import openapi from '../../src/adapters/http/openapi.json' with { type: 'json' }
import type { Route } from '../../src/adapters/http/route.ts'
import { ROUTES } from '../../src/adapters/http/routes.ts'
import type { Needs, Store } from '../../src/core/ports/store.ts'
import { mergeProspect } from '../../src/core/prospects/merge-prospect.ts'
import { caller, until } from '../support/program.ts'
import { recordAll, someProspect } from '../support/rows.ts'
import { requestText } from './crowd.ts'

const MEBIBYTE = 1_048_576
const GROUPS = 4
const text = (characters: number) => 'x'.repeat(characters)
const times = <Item>(count: number, of: (i: number) => Item) => Array.from({ length: count }, (_, i) => of(i))
const HOUR_MS = 3_600_000
/** A text as long as a source or a type may be. */
const nameOf = (letter: string, i: number) => letter.repeat(95) + `${i}`.padStart(5, '0')
const LEVELS = times(16, (i) => `level${i}`)
/** An object of so many levels, with so many small values in each. */
const nested = (levels: number, values: number): object =>
  levels === 0 ? {} : { values: times(values, () => 0), [`level${16 - levels}`]: nested(levels - 1, values) }
type Loud = { readonly apiKey: string; readonly pageGroupId: string; readonly survivorId: string }

/**
 * Adds rows that would take hours to make by requests: 49,000 counts in two days, and a prospect with a hundred merged ones.
 * Call it before the service starts.
 */
export const furnishStore = async (world: Needs<keyof Store>, tenantId: string) => {
  const { store, clock, newId } = world
  const now = new Date(clock()).toISOString()
  await store.counts.markRead(tenantId, now)
  for (let hour = 0; hour < 49; hour++) {
    const at = new Date(clock() - (clock() % HOUR_MS) - hour * HOUR_MS).toISOString()
    const one = (i: number) =>
      ({ unit: 'hour', at, source: nameOf('s', i), type: nameOf('t', i), count: 1, newProspects: 0 }) as const
    await store.counts.record({ tenantId, from: '', to: '', removeFrom: null, add: times(1_000, one) })
  }
  const added = async (i: number) => {
    const prospectId = newId('prospect')
    const fields = { name: text(255), email: `${i}${text(980)}@example.com`, createdAt: now, updatedAt: now }
    const prospect = someProspect(tenantId, { prospectId, ...fields })
    await recordAll(store.activities, [prospect])
    return prospectId
  }
  const into = await added(0)
  for (let i = 1; i <= 100; i++) {
    const prospectId = await added(i)
    await mergeProspect(world)({ tenantId, prospectId, into })
  }
  return into
}

/**
 * A tenant that has as much as its limits allow of what requests can ask for: page groups of 4 MiB with a hundred events
 * each, a page with 1 MiB of content and many versions, long names, long payloads, large emails, endpoints with long filters,
 * hooks with deep pointers, and 10,000 events.
 */
export const furnish = async (url: string, { apiKey, pageGroupId, survivorId }: Loud) => {
  const call = caller(url, apiKey)
  const done = async (method: string, path: string, body?: unknown) => {
    const answer = await call(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text.slice(0, 300)}`)
    return answer.body
  }
  const endpoint = await done('POST', '/v0/webhook_endpoints', { url: 'https://nowhere.invalid/hooks' })
  const filter = { sources: times(50, (i) => nameOf('s', i)), logTypes: times(50, (i) => nameOf('t', i)) }
  const filtered = { types: ['prospect_log.created'], ...filter }
  for (let i = 1; i < 20; i++)
    await done('POST', '/v0/webhook_endpoints', { url: `https://nowhere.invalid/${i}`, ...filtered })
  const heavy = [pageGroupId]
  while (heavy.length < GROUPS)
    heavy.push((await done('POST', '/v0/page_groups', { name: 'n', title: 't' })).pageGroupId)
  for (const id of heavy) {
    for (const name of ['actions', 'footerLinks', 'scripts'])
      await done('PATCH', `/v0/page_groups/${id}`, { [name]: [text(MEBIBYTE - 100)] })
    await done('PATCH', `/v0/page_groups/${id}`, { pageContext: text(MEBIBYTE - 100) })
  }
  for (let i = 0; i < 100; i++) await done('PATCH', `/v0/page_groups/${pageGroupId}`, { name: `n${i}` })
  const pages = `/v0/page_groups/${pageGroupId}/pages`
  const content = { text: text(MEBIBYTE - 200) }
  const { pageId } = await done('POST', pages, { content })
  for (let i = 0; i < 20; i++)
    await done('POST', `${pages}/${pageId}/versions`, { supplementaryContext: text(50_000) })
  for (let i = 0; i < 100; i++) await done('POST', pages, { customName: text(10_000) })
  const log = { source: 's', email: 'ada@example.com', payload: { text: text(10_000) } }
  const long = await done('POST', '/v0/prospect_logs/batch', { items: times(200, () => log) })
  const { prospectId, prospectLogId } = long.items[0].prospectLog
  for (let i = 0; i < 5; i++)
    await done('POST', '/v0/prospect_logs', { source: 's', email: text(MEBIBYTE - 200), payload: {} })
  const large = { source: 's', prospectId: survivorId, payload: { text: text(MEBIBYTE - 300) } }
  for (let i = 0; i < 20; i++) await done('POST', '/v0/prospect_logs', large)
  for (let batch = 0; batch < 10; batch++)
    await done('POST', '/v0/prospect_logs/batch', {
      items: times(1_000, () => ({ source: 's', payload: {}, name: 'n' })),
    })
  for (let i = 0; i < 100; i++) await done('POST', '/v0/erasures', { email: `nobody${i}@example.com` })
  const { erasureId } = await done('POST', '/v0/erasures', { email: 'nobody@example.com' })
  const { versionId } = await until('it is published', async () => {
    return (await done('GET', `${pages}/${pageId}`)).publishedVersion
  })
  await until('all events have their numbers', async () => {
    const { items } = await done('GET', '/v0/events?cursor=latest')
    return items.length === 0
  })
  const { eventId } = (await done('GET', '/v0/events?limit=1')).items[0]
  const places = (member: string) => times(10, (i) => `/${LEVELS.slice(1).join('/')}/${member}${i}`)
  const map = { type: places('type'), email: places('email'), name: places('name'), occurredAt: ['/at'] }
  const hook = { source: 's', verify: { token: true }, each: '/items', map }
  const byToken = await done('POST', '/v0/hooks', hook)
  const whole = { ...hook, each: null }
  const deep = await done('POST', '/v0/hooks', whole)
  const signed = await done('POST', '/v0/hooks', { ...hook, verify: { preset: 'stripe', secret: 's' } })
  const form = await done('POST', '/v0/hooks', { ...hook, each: '', map: FORM_MAP })
  for (let i = 0; i < 88; i++) await done('POST', '/v0/hooks', hook)
  const ids = {
    page_group_id: pageGroupId,
    page_id: pageId,
    version_id: versionId,
    prospect_id: prospectId,
    prospect_log_id: prospectLogId,
    erasure_id: erasureId,
    event_id: eventId,
    webhook_endpoint_id: endpoint.webhookEndpointId,
    hook_id: deep.hookId,
  }
  const paths = { byToken, deep, signed, form }
  const hooks = Object.fromEntries(Object.entries(paths).map(([name, { path }]) => [name, String(path)])) as {
    readonly [Name in keyof typeof paths]: string
  }
  return { ids, heavy, apiKey, survivorId, hooks }
}
type Furnished = Awaited<ReturnType<typeof furnish>>

/** Beyond the examples of the document: the most expensive body or query of an operation. */
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
const hoursAgo = (hours: number) => `since=${new Date(Date.now() - hours * HOUR_MS).toISOString()}`
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  listProspectLogCounts: [
    ...times(50, (i) => `${hoursAgo(60)}&type=nothing${i}`),
    ...times(5, (i) => `${hoursAgo(i + 3)}`),
  ],
  listEvents: ['limit=100', 'limit=100&types=page.unpublished', 'limit=99&types=page_group.updated'],
  listProspectLogs: ['limit=100', 'limit=100&type=rare', 'limit=99'],
  listTimeline: ['limit=100', 'limit=100&type=rare', 'limit=99'],
  listDeliveries: ['limit=100', 'limit=100&status=delivered', 'limit=99&status=failed'],
}

/** The texts of the most expensive requests of an operation. */
const requestsOf = (
  { operationId, method, path, query, body }: Route,
  { ids, heavy, apiKey, survivorId }: Furnished,
): string[] => {
  const operation = (openapi.paths as Record<string, Record<string, unknown>>)[path]?.[method.toLowerCase()]
  const examples = Object.values(
    (operation as { requestBody?: { content: { 'application/json': { examples?: object } } } }).requestBody
      ?.content['application/json'].examples ?? {},
  ) as { value: unknown }[]
  const bodies = body ? (BODIES[operationId]?.() ?? examples.map(({ value }) => value)) : [undefined]
  const limits = query && 'limit' in query.entries ? ['limit=100', 'limit=99', 'limit=98'] : ['']
  const groups = /GroupId|page_group_id\}$/.test(path) ? heavy : heavy.slice(0, 1)
  return groups.flatMap((page_group_id) =>
    bodies.flatMap((body) =>
      (QUERIES[operationId] ?? limits).map((query) => {
        const isExport = operationId === 'exportProspect'
        const values: Record<string, string> = {
          ...ids,
          page_group_id,
          ...(isExport && { prospect_id: survivorId }),
        }
        const target = path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'none')
        const json = body === undefined ? '' : JSON.stringify(body)
        return requestText(method, query ? `${target}?${query}` : target, apiKey, json)
      }),
    ),
  )
}

/** The operations that cost most, of the kinds that there are: reading much, writing much, looking through much, refusing much. */
const COSTLIEST = [
  'logProspectActivities',
  'updatePageGroup',
  'getPageGroup',
  'listEvents',
  'exportProspect',
  'listProspectLogCounts',
  'replayDeliveries',
  'receiveDeep',
  'refuseDelivery',
]
type Flood = { readonly name: string; readonly textsOf: (furnished: Furnished) => readonly string[] }

/** Deliveries from vendors, without a key: much to map, as many activities as a delivery may be, and a wrong signature. */
const DELIVERIES: Readonly<
  Record<string, readonly [hook: keyof Furnished['hooks'], bodies: () => unknown[]]>
> = {
  receiveHook: [
    'byToken',
    () => [
      { values: times(300_000, () => ({})) },
      { items: times(1_000, () => ({ text: text(1_000) })) },
      { email0: { [text(230)]: text(MEBIBYTE - 300) } },
    ],
  ],
  receiveDeep: ['deep', () => [nested(15, 30_000), times(500_000, () => 0)]],
  refuseDelivery: ['signed', () => [{ text: text(MEBIBYTE - 100) }, {}]],
}
/** Sums of ten parts, and selectors. */
const FORM_MAP = {
  name: times(10, (i) => times(10, (k) => `/${i}${k}`).join(' + ')),
  email: times(10, (i) => `/payload/values[t=${i}]/email`),
}
/** Forms as their limits allow them: many fields, all of them encoded, JSON within, without an end, in other encodings. */
const FORMS: readonly (() => readonly [type: string, body: string | Uint8Array, header?: string])[] = [
  () => [URL_ENCODED, times(1_000, (i) => `${i}=${'%E4+%'.repeat(200)}`).join('&')],
  () => [URL_ENCODED, '&=%'.repeat(349_000)],
  () => [URL_ENCODED, `payload={"values":[${times(130_000, () => '{"t":0}').join()}]}`],
  () => [
    'multipart/form-data; boundary=X',
    `${times(1_000, (i) => `--X\r\nContent-Disposition: form-data; name="${i}"\r\n\r\n${text(900)}\r\n`).join('')}--X--`,
  ],
  () => [`multipart/form-data; boundary=${text(199)}y`, `\n--${text(198)}`.repeat(MEBIBYTE / 201 - 1)],
  () => ['application/json', Buffer.from(`{"text":"${'\xe4'.repeat(MEBIBYTE - 100)}"}`, 'latin1')],
  () => ['application/x-ndjson', `{"text":"${text(1_000)}"}\n`.repeat(1_000)],
  () => [
    'application/json',
    gzipSync(JSON.stringify({ values: times(500_000, () => 0) })),
    'Content-Encoding: gzip',
  ],
]
const URL_ENCODED = 'application/x-www-form-urlencoded'

const FORGED = `Stripe-Signature: t=1,${times(16, () => `v1=${'0'.repeat(64)}`)}`

export const floodsOf = (all: boolean): readonly Flood[] => [
  ...Object.entries(DELIVERIES)
    .filter(([name]) => all || COSTLIEST.includes(name))
    .map(([name, [hook, bodies]]) => ({
      name,
      textsOf: ({ hooks }: Furnished) =>
        bodies().map((body) => requestText('POST', hooks[hook], 'none', JSON.stringify(body), FORGED)),
    })),
  ...['receiveForms']
    .filter((name) => all || COSTLIEST.includes(name))
    .map((name) => ({
      name,
      textsOf: ({ hooks }: Furnished) => [
        ...FORMS.map((form) => {
          const [type, body, header] = form()
          return requestText('POST', hooks.form, 'none', body, header, type)
        }),
        requestText(
          'POST',
          hooks.signed,
          'none',
          gzipSync(text(MEBIBYTE)),
          `${FORGED}\r\nContent-Encoding: gzip`,
        ),
      ],
    })),
  // Deleting comes last: it takes away what the others ask for.
  ...ROUTES.filter(({ operationId }) => all || COSTLIEST.includes(operationId))
    .toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))
    .map((route) => ({ name: route.operationId, textsOf: (given: Furnished) => requestsOf(route, given) })),
]
