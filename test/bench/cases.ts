import type { Filled } from './fill.ts'

/** A request as the load generator sends it; `{n}` in the body becomes a number of ten digits, new each time. */
export type Request = { readonly method: 'GET' | 'POST'; readonly path: string; readonly body: string | null }

export type CaseName =
  | 'log-known'
  | 'log-new'
  | 'log-key'
  | 'batch-100'
  | 'batch-1000'
  | 'groups'
  | 'pages-first'
  | 'pages-deep'
  | 'page'
  | 'create-one'
  | 'create-many'
  | ReadName
/** The cases of reading back; see measure-reads.ts. */
export type ReadName = 'timeline' | 'timeline-deep' | 'timeline-rare' | 'logs' | 'logs-rare' | 'log'
export type Case = {
  readonly name: CaseName
  readonly title: string
  readonly writes: boolean
  /** Activities in one request. Rates count them, not requests. */
  readonly items?: number
  /** Pages are created, which some contestants go on with after the answer. */
  readonly creates: boolean
  /**
   * The requests that callers send in turn. `cursorOf` turns an id into the cursor after it, in the words of one
   * service; `tag` makes what must be new differ from every other measurement.
   */
  readonly requests: (filled: Filled, tag: string, cursorOf: CursorOf) => readonly Request[]
}
export type CursorOf = (pageGroupId: string, pageId: string) => string

export const get = (path: string): Request => ({ method: 'GET', path, body: null })
const post = (path: string, body: object): Request => ({ method: 'POST', path, body: JSON.stringify(body) })
const pagesOf = (pageGroupId: string) => `/v0/page_groups/${pageGroupId}/pages`

const PAYLOAD = {
  form: 'contact',
  fields: { company: 'Example & Sons', topic: 'prices', message: 'Please call me back on Monday.' },
  consent: true,
}
const activity = (fields: object): Request =>
  post('/v0/prospect_logs', { source: 'bench', type: 'form_submitted', ...fields, payload: PAYLOAD })
const newPage = (pageGroupId: string): Request =>
  post(pagesOf(pageGroupId), { supplementaryContext: 'A page about the spring sale in our oldest shop' })

/** Known emails, as many as a batch has items. */
const batchesOf = (items: number): Case => ({
  name: `batch-${items}` as CaseName,
  title: `log activities, known emails, in batches of ${items}: activities`,
  writes: true,
  creates: false,
  items,
  requests: ({ knownEmails }) =>
    Array.from({ length: Math.floor(knownEmails.length / items) }, (_, i) => {
      const emails = knownEmails.slice(i * items, (i + 1) * items)
      return post('/v0/prospect_logs/batch', {
        items: emails.map((email) => JSON.parse(activity({ email }).body ?? '')),
      })
    }),
})

export const CASES: readonly Case[] = [
  {
    name: 'log-known',
    title: 'log an activity, known email',
    writes: true,
    creates: false,
    requests: ({ knownEmails }) => knownEmails.map((email) => activity({ email })),
  },
  {
    name: 'log-new',
    title: 'log an activity, new email',
    writes: true,
    creates: false,
    requests: (_filled, tag) => [activity({ email: `new-${tag}-{n}@example.com` })],
  },
  {
    name: 'log-key',
    title: 'log an activity, known email, idempotency key',
    writes: true,
    creates: false,
    requests: ({ knownEmails }, tag) =>
      knownEmails.map((email) => activity({ email, idempotencyKey: `${tag}-{n}` })),
  },
  batchesOf(100),
  batchesOf(1_000),
  {
    name: 'groups',
    title: 'list page groups (20)',
    writes: false,
    creates: false,
    requests: () => [get('/v0/page_groups')],
  },
  {
    name: 'pages-first',
    title: 'list pages (20), first slice',
    writes: false,
    creates: false,
    requests: ({ bigGroupId }) => [get(pagesOf(bigGroupId))],
  },
  {
    name: 'pages-deep',
    title: 'list pages (20), at depth 100,000',
    writes: false,
    creates: false,
    requests: ({ bigGroupId, deepPageId }, _tag, cursorOf) => [
      get(`${pagesOf(bigGroupId)}?cursor=${cursorOf(bigGroupId, deepPageId)}`),
    ],
  },
  {
    name: 'page',
    title: 'read a page',
    writes: false,
    creates: false,
    requests: ({ bigGroupId, pageIds }) => pageIds.map((pageId) => get(`${pagesOf(bigGroupId)}/${pageId}`)),
  },
  {
    name: 'create-one',
    title: 'create a page, all in one group',
    writes: true,
    creates: true,
    requests: ({ oneGroupId }) => [newPage(oneGroupId)],
  },
  {
    name: 'create-many',
    title: 'create a page, over 100 groups',
    writes: true,
    creates: true,
    requests: ({ manyGroupIds }) => manyGroupIds.map(newPage),
  },
]

/** A number for each measurement: what it makes is new. */
let measurements = 0
export const newTag = (): string =>
  `${Date.now().toString(36)}${(measurements++).toString(36).padStart(4, '0')}`
