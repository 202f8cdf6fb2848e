import type { Needs, Store } from '../../src/core/ports/store.ts'
import { mergeProspect } from '../../src/core/prospects/merge-prospect.ts'
import { caller, until } from '../support/program.ts'
import { recordAll, someProspect } from '../support/rows.ts'

// A tenant that has as much as its limits allow of everything that requests can ask for.

export const MEBIBYTE = 1_048_576
const HOUR_MS = 3_600_000
const PAGE_GROUPS = 4

export const text = (characters: number): string => 'x'.repeat(characters)
export const times = <Item>(count: number, itemOf: (i: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => itemOf(i))
/** A text as long as a source or a type may be. */
const longName = (letter: string, i: number): string => letter.repeat(95) + `${i}`.padStart(5, '0')

/** The most levels of a JSON Pointer in a hook. */
const LEVELS = times(16, (i) => `level${i}`)
/** An object of so many levels, with so many small values in each. */
export const nested = (levels: number, values: number): object =>
  levels === 0 ? {} : { values: times(values, () => 0), [`level${16 - levels}`]: nested(levels - 1, values) }

/**
 * Adds rows that would take hours to make by requests: 49,000 counts in two days, and a prospect into which a hundred others
 * were merged. Call it before the service starts. Returns the id of that prospect.
 */
export const fillStore = async (world: Needs<keyof Store>, tenantId: string): Promise<string> => {
  await addCounts(world, tenantId)
  return addMergedProspects(world, tenantId)
}

const addCounts = async ({ store, clock }: Needs<keyof Store>, tenantId: string) => {
  const thisHourMs = clock() - (clock() % HOUR_MS)
  await store.counts.markRead(tenantId, new Date(clock()).toISOString())
  for (let hour = 0; hour < 49; hour++) {
    const at = new Date(thisHourMs - hour * HOUR_MS).toISOString()
    const add = times(1_000, (i) => ({
      unit: 'hour' as const,
      at,
      source: longName('s', i),
      type: longName('t', i),
      count: 1,
      newProspects: 0,
    }))
    await store.counts.record({
      tenantId,
      from: '',
      to: '',
      removeFrom: null,
      addProspects: [],
      addDays: [],
      add,
    })
  }
}

const addMergedProspects = async (world: Needs<keyof Store>, tenantId: string): Promise<string> => {
  const { store, clock, newId } = world
  const now = new Date(clock()).toISOString()
  const addProspect = async (i: number) => {
    const prospectId = newId('prospect')
    const prospect = someProspect(tenantId, {
      prospectId,
      name: text(255),
      email: `${i}${text(980)}@example.com`,
      createdAt: now,
      updatedAt: now,
    })
    await recordAll(store.activities, [prospect])
    return prospectId
  }
  const survivorId = await addProspect(0)
  for (let i = 1; i <= 100; i++) {
    const prospectId = await addProspect(i)
    await mergeProspect(world)({ tenantId, prospectId, into: survivorId })
  }
  return survivorId
}

type Started = { readonly apiKey: string; readonly pageGroupId: string; readonly survivorId: string }
/** Sends requests that must succeed, and returns the bodies of their answers. */
const senderTo = (url: string, apiKey: string) => {
  const call = caller(url, apiKey)
  return async (method: string, path: string, body?: unknown) => {
    const answer = await call(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text.slice(0, 300)}`)
    return answer.body
  }
}
type Send = ReturnType<typeof senderTo>

/** Adds everything else by requests to a service that runs. Returns the ids that the floods ask for. */
export const fillTenant = async (url: string, { apiKey, pageGroupId, survivorId }: Started) => {
  const send = senderTo(url, apiKey)
  const endpoints = await addEndpoints(send)
  const pageGroupIds = await addPageGroups(send, pageGroupId)
  const pageId = await addPages(send, pageGroupId)
  const { prospectId, prospectLogId } = await addActivities(send, survivorId)
  const erasureId = await addErasures(send)
  const versionId = await publishedVersion(send, pageGroupId, pageId)
  await untilAllEventsAreNumbered(send)
  const [event] = (await send('GET', '/v0/events?limit=1')).items
  const hooks = await addHooks(send)
  return {
    apiKey,
    pageGroupIds,
    survivorId,
    /** The paths of hooks that vendors may send to. */
    hookPaths: hooks.paths,
    /** The deliveries to the endpoint with a template, of activities as large as a body. */
    deliveries: await largeDeliveries(send, endpoints.withTemplate),
    /** One of each resource, by its name in a path. */
    ids: {
      page_group_id: pageGroupId,
      page_id: pageId,
      version_id: versionId,
      prospect_id: prospectId,
      prospect_log_id: prospectLogId,
      erasure_id: erasureId,
      event_id: event.eventId,
      webhook_endpoint_id: endpoints.first,
      hook_id: hooks.hookId,
    } as Readonly<Record<string, string>>,
  }
}
export type FullTenant = Awaited<ReturnType<typeof fillTenant>>

/** The source of activities that are as large as a body. */
const LARGE = 'large'

/** Twenty endpoints, as many as there may be: one for every event, one with a long template, and others with long filters. */
const addEndpoints = async (send: Send) => {
  const add = async (endpoint: object): Promise<string> =>
    (await send('POST', '/v0/webhook_endpoints', endpoint)).webhookEndpointId
  const first = await add({ url: 'https://nowhere.invalid/hooks' })
  const withTemplate = await add({
    url: 'https://nowhere.invalid/template',
    types: ['prospect_log.created'],
    sources: [LARGE],
    body: { all: '{{/data}}', texts: times(900, (i) => `{{/data/${i}}}`) },
  })
  for (let i = 2; i < 20; i++)
    await add({
      url: `https://nowhere.invalid/${i}`,
      types: ['prospect_log.created'],
      sources: times(50, (k) => longName('s', k)),
      logTypes: times(50, (k) => longName('t', k)),
    })
  return { first, withTemplate }
}

/** Page groups of 4 MiB each. The first has a hundred events. */
const addPageGroups = async (send: Send, firstId: string): Promise<readonly string[]> => {
  const ids = [firstId]
  while (ids.length < PAGE_GROUPS) {
    const group = await send('POST', '/v0/page_groups', { name: 'n', title: 't' })
    ids.push(group.pageGroupId)
  }
  for (const id of ids) {
    for (const list of ['actions', 'footerLinks', 'scripts'])
      await send('PATCH', `/v0/page_groups/${id}`, { [list]: [text(MEBIBYTE - 100)] })
    await send('PATCH', `/v0/page_groups/${id}`, { pageContext: text(MEBIBYTE - 100) })
  }
  for (let i = 0; i < 100; i++) await send('PATCH', `/v0/page_groups/${firstId}`, { name: `n${i}` })
  return ids
}

/** A page with 1 MiB of content and many versions, and a hundred pages with long names. Returns the id of the first. */
const addPages = async (send: Send, pageGroupId: string): Promise<string> => {
  const pages = `/v0/page_groups/${pageGroupId}/pages`
  const { pageId } = await send('POST', pages, { content: { text: text(MEBIBYTE - 200) } })
  for (let i = 0; i < 20; i++)
    await send('POST', `${pages}/${pageId}/versions`, { supplementaryContext: text(50_000) })
  for (let i = 0; i < 100; i++) await send('POST', pages, { customName: text(10_000) })
  return pageId
}

type LoggedIds = { readonly prospectId: string; readonly prospectLogId: string }
/** Activities with long payloads and long emails, and 10,000 small ones, which are as many events. */
const addActivities = async (send: Send, survivorId: string): Promise<LoggedIds> => {
  const log = { source: 's', email: 'ada@example.com', payload: { text: text(10_000) } }
  const logged = await send('POST', '/v0/prospect_logs/batch', { items: times(200, () => log) })
  for (let i = 0; i < 5; i++)
    await send('POST', '/v0/prospect_logs', { source: 's', email: text(MEBIBYTE - 200), payload: {} })
  const large = { source: LARGE, prospectId: survivorId, payload: { text: text(MEBIBYTE - 300) } }
  for (let i = 0; i < 20; i++) await send('POST', '/v0/prospect_logs', large)
  const small = { items: times(1_000, () => ({ source: 's', payload: {}, name: 'n' })) }
  for (let batch = 0; batch < 10; batch++) await send('POST', '/v0/prospect_logs/batch', small)
  return logged.items[0].prospectLog
}

const addErasures = async (send: Send): Promise<string> => {
  for (let i = 0; i < 100; i++) await send('POST', '/v0/erasures', { email: `nobody${i}@example.com` })
  return (await send('POST', '/v0/erasures', { email: 'nobody@example.com' })).erasureId
}

const publishedVersion = async (send: Send, pageGroupId: string, pageId: string): Promise<string> => {
  const path = `/v0/page_groups/${pageGroupId}/pages/${pageId}`
  const { versionId } = await until('it is published', async () => (await send('GET', path)).publishedVersion)
  return versionId
}

const untilAllEventsAreNumbered = (send: Send) =>
  until('all events have their numbers', async () => {
    const { items } = await send('GET', '/v0/events?cursor=latest')
    return items.length === 0
  })

const largeDeliveries = async (send: Send, webhookEndpointId: string) => {
  const { items } = await send('GET', `/v0/webhook_endpoints/${webhookEndpointId}/deliveries?limit=20`)
  return (items as readonly { readonly eventId: string }[]).map(({ eventId }) => ({
    webhook_endpoint_id: webhookEndpointId,
    event_id: eventId,
  }))
}

/** Ninety-two hooks: with places as deep as they may be, with a signature, and for forms. */
const addHooks = async (send: Send) => {
  const deepPlaces = (member: string) => times(10, (i) => `/${LEVELS.slice(1).join('/')}/${member}${i}`)
  const map = {
    type: deepPlaces('type'),
    email: deepPlaces('email'),
    name: deepPlaces('name'),
    occurredAt: ['/at'],
  }
  const hook = { source: 's', verify: { token: true }, each: '/items', map }
  const signature = { preset: 'stripe', secret: 's' }
  const add = (fields: object) => send('POST', '/v0/hooks', fields)
  const byToken = await add(hook)
  const deep = await add({ ...hook, each: null })
  const signed = await add({ ...hook, verify: signature })
  const form = await add({ ...hook, each: '', map: FORM_MAP })
  for (let i = 0; i < 88; i++) await add(hook)
  return {
    hookId: String(deep.hookId),
    paths: {
      byToken: String(byToken.path),
      deep: String(deep.path),
      signed: String(signed.path),
      form: String(form.path),
    },
  }
}

/** Sums of ten parts, and selectors. */
const FORM_MAP = {
  name: times(10, (i) => times(10, (k) => `/${i}${k}`).join(' + ')),
  email: times(10, (i) => `/payload/values[t=${i}]/email`),
}
