/**
 * A client of the prospect-pages API in one file without imports: copy it, or import `prospect-pages/client`.
 * It runs wherever there is `fetch` and Web Crypto: Node 20 or newer, Bun, Deno, workers. MIT license.
 */

const ITEMS_MAX = 1_000
const BYTES_MAX = 8 * 1_024 * 1_024
const HMAC = { name: 'HMAC', hash: 'SHA-256' }
const UNREADABLE = { code: 'no_answer', detail: 'The answer has not one result for each activity.' }
const BACKOFF_MS = 200
const BACKOFF_MS_MAX = 5_000
const RETRY_AFTER_MS_MAX = 60_000
const WEBHOOK_AGE_MS_MAX = 300_000
/** A POST to the former is sent with an idempotency key; one to the latter can be repeated. */
const KEYED = /\/(page_groups|pages|versions)$/
const REPEATABLE =
  /\/(page_groups|pages|versions|prospects|erasures|(un)?publish|unschedule|unblock|merge|try)$/
/** Where the server is, and how patient calls are: at most `tries` (5) of `timeoutMs` (10,000 milliseconds) each. */
export type ClientOptions = {
  /** The address of the server, such as `https://prospects.example.com`, with its base path if it has one. */
  readonly url: string
  readonly key: string
  readonly fetch?: typeof globalThis.fetch
  readonly timeoutMs?: number
  readonly tries?: number
}
type Person = Readonly<
  Partial<Record<'prospectId' | 'externalId' | 'email' | 'name', string | undefined>>
> & {
  /** Further fields of the prospect, up to 50. Each is set if the prospect has none of this name. */
  readonly attributes?: Readonly<Record<string, string | number | boolean | null>> | undefined
}
/** An activity of the prospect with this `prospectId`, `externalId` or `email`, or else of a new one. */
export type Activity = Person & {
  /** The system that sends the activity: 1 to 100 characters. */
  readonly source: string
  /** The kind of activity: 1 to 100 characters, `webhook` by default. */
  readonly type?: string | undefined
  /** Any JSON object. */
  readonly payload: object
  /** When it happened: a string needs an offset from UTC. By default, when it is stored. */
  readonly occurredAt?: string | Date | undefined
  /** An activity is stored once under its key: 1 to 255 characters, unique per source, random by default. */
  readonly idempotencyKey?: string | undefined
}
/** Returned for a stored activity. `createdAt` is when it was stored, in UTC. */
export type Receipt = {
  readonly createdProspect: boolean
  /** What is not stored of the activity: unknown members, and attributes beyond the fiftieth of the prospect. */
  readonly ignored?: readonly string[]
} & Readonly<Record<'prospectId' | 'prospectLogId' | 'createdAt' | 'source' | 'type', string>>
/** A stored activity. `replayed`: it had been stored before, perhaps by an earlier try. */
export type Logged = { readonly receipt: Receipt; readonly replayed: boolean }
/** The result for one of many activities. */
export type LogResult = (Logged & { problem?: undefined }) | { problem: ProblemError; receipt?: undefined }
/** An answer: its JSON as a value, and as the exact text, in which large numbers keep their digits. */
export type Answer<Body> = Pick<Response, 'status' | 'headers'> & { body: Body; text: string }
/** The parameters of a query. Undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>
/** A string as `body` is sent as it is, anything else as JSON. `signal` gives the call up. */
export type RequestOptions = {
  readonly query?: Query
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}
/** `cursor` is where to start, or `latest`. `wait` is in seconds, 1 to 25. `types` are separated by commas. */
export type EventOptions = Pick<RequestOptions, 'signal'> & {
  cursor?: string | undefined
  wait?: number
  types?: string
}
/** Something that happened to a resource of the tenant. Ignore types that you do not know. */
export type FeedEvent = Readonly<Record<'eventId' | 'type' | 'createdAt', string>> & {
  readonly sequence: number
  /** The resource as it is now, or only its ids if it no longer exists. */
  readonly data: Readonly<Record<string, unknown>>
  /** Where to continue once this event is handled. Null if more events of the same answer follow. */
  readonly cursor: string | null
}
/** A webhook as received. `secrets` are those of the endpoint, `whsec_…`: two while one replaces the other. */
export type ReceivedWebhook = {
  readonly secrets: string | readonly string[]
  readonly headers: Pick<Headers, 'get'> | Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string | Uint8Array | ArrayBuffer
}
/** A verified webhook. It has the same `eventId` when it is delivered again. */
export type WebhookEvent = Pick<FeedEvent, 'eventId' | 'type' | 'data'> & { readonly timestamp: string }
/** Why a call failed: the server refused it, or no answer could be read. Branch on `code`. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  /** The HTTP status; 0 without an answer. After 0 or 5xx a write may have happened all the same. */
  declare readonly status: number
  /** The code of the API, or `no_answer`, `buffer_full`, `buffer_closed` or `invalid_signature`. */
  declare readonly code: string
  /** Faults of the request: `pointer` is a place in the body, `parameter` a name. */
  declare readonly errors: readonly { detail: string; pointer?: string; parameter?: string }[]
  /** Finds the request in the log of the server; empty without an answer. */
  declare readonly requestId: string
  declare readonly retryAfterMs: number
  /** Every member of the problem, such as the `prospectId` of `email_taken`. */
  declare readonly problem: Readonly<Record<string, unknown>>
  /** The activity that was not logged, with its idempotency key: it is safe to log it again. */
  activity?: Activity
  constructor(status: number, problem: ProblemError['problem'], retryAfterMs = 0, options?: ErrorOptions) {
    super(String(problem['detail'] ?? `The server returned status ${status}.`), options)
    const code = String(problem['code'] ?? status)
    const requestId = String(problem['instance'] ?? '')
    Object.assign(this, { status, code, errors: problem['errors'] ?? [], requestId, retryAfterMs, problem })
  }
}
type Slice<Item> = { items: Item[]; hasMore: boolean; nextCursor?: string }
type Batch = { items: (Partial<ProblemError> & { prospectLog?: Receipt; replayed: boolean })[] }
/** `has` lists members by which an answer of the API is recognized. */
type Sent = RequestOptions & { has?: string[]; waitMs?: number; tries?: number; mayRepeat?: typeof mayPass }
/** The calls. Each rejects with a `ProblemError` if it is refused, or if its last try fails. */
export type Client = ReturnType<typeof createClient>
/** Creates a client. Throws a `TypeError` if `url` or `key` cannot be one. */
export const createClient = (options: ClientOptions) => {
  const { key, fetch = globalThis.fetch, timeoutMs = 10_000 } = options
  const { href, origin, pathname } = new URL(options.url)
  if (href !== origin + pathname) throw new TypeError('The url must not have credentials, a query or a hash.')
  if (!/^[!-~]+$/.test(key ?? '')) throw new TypeError('The key must be visible ASCII characters.')
  const base = href.replace(/\/+$/, '')
  /** One try. Every error is a `ProblemError`. */
  const attempt = async <Body>(method: string, path: string, sent: Sent): Promise<Answer<Body>> => {
    const { query = {}, body, has = [], waitMs = 0, signal } = sent
    const url = new URL(`${base}/${path.replace(/^\/+/, '')}`)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const headers = { 'content-type': 'application/json', ...sent.headers, 'x-api-key': key }
    // A redirect could hand the key to another server.
    const init = { method, headers, body: (body ?? null) as string | null, redirect: 'manual' } as const
    const exchange = async (cut: AbortSignal): Promise<Answer<Body>> => {
      const response = await fetch(url, { ...init, signal: cut })
      const { status, ok, headers } = response
      const text = await response.text()
      const value = await new Response(text || 'null').json().catch(() => undefined)
      const problem = { instance: headers.get('x-request-id'), ...(value as object) }
      if (!ok && status !== 304) throw new ProblemError(status, problem, retryAfterMsIn(headers))
      if (value === undefined || !has.every((name) => Object.hasOwn(Object(value), name)))
        throw new Error('it is not an answer of the API')
      return { status, headers, body: value as Body, text }
    }
    return within(bounded(timeoutMs, 10_000) + waitMs, exchange, signal).catch((error) => {
      if (error instanceof ProblemError) throw error
      const detail = `No answer could be read: ${error?.cause?.code ?? error?.message ?? error}.`
      throw new ProblemError(0, { code: 'no_answer', detail }, 0, { cause: error })
    })
  }
  /** Retries temporary failures (no answer, 408, 429, 5xx), with full jitter and not before the server asks for it. */
  const retrying = async <T>(once: () => Promise<T>, sent: Sent): Promise<T> => {
    const { tries = options.tries ?? 5, mayRepeat = mayPass, signal } = sent
    for (let tried = 1; ; tried++)
      try {
        return await once()
      } catch (error) {
        const isLast = !(tried < tries) || signal?.aborted
        if (isLast || !(error instanceof ProblemError && mayRepeat(error))) throw error
        const backoffMs = Math.random() * Math.min(BACKOFF_MS * 2 ** (tried - 1), BACKOFF_MS_MAX)
        await within(error.retryAfterMs + backoffMs, () => new Promise(() => {}), signal).catch(() => {})
      }
  }
  const send = <Body>(method: string, path: string, sent: Sent) =>
    retrying(() => attempt<Body>(method, path, sent), sent)
  /** Sends a batch, or its halves one after the other, and again those of its items that are answered 503. */
  const logTexts = async (texts: readonly string[], signal?: AbortSignal): Promise<LogResult[]> => {
    const half = texts.length >> 1
    const inHalves = async () =>
      (await logTexts(texts.slice(0, half), signal)).concat(await logTexts(texts.slice(half), signal))
    const bytes = texts.reduce((sum, text) => sum + utf8(text).length + 1, 12)
    if (half > 0 && (texts.length > ITEMS_MAX || bytes > BYTES_MAX)) return inHalves()
    const results: LogResult[] = []
    let left = [...texts.keys()]
    const once = async (): Promise<void> => {
      const sent = { body: `{"items":[${left.map((i) => texts[i])}]}`, has: ['accepted'], signal }
      const { body, headers } = await attempt<Batch>('POST', '/v0/prospect_logs/batch', sent)
      if (body.items?.length !== left.length) throw new ProblemError(0, UNREADABLE)
      for (const [i, { prospectLog: receipt, replayed, ...refused }] of body.items.entries())
        results[left[i] ?? 0] = receipt ? { receipt, replayed } : failed(texts[left[i] ?? 0], refused)
      left = left.filter((_, i) => body.items[i]?.status === 503)
      if (left.length > 0) throw new ProblemError(503, {}, retryAfterMsIn(headers))
    }
    const cause = left.length > 0 && (await retrying(once, { signal }).catch((error) => error))
    // One of the items may be to blame, or their number.
    if (half > 0 && results.length === 0 && [400, 413].includes(cause?.status)) return inHalves()
    return Array.from(texts, (text, i) => results[i] ?? failed(text, cause, cause))
  }
  return {
    /** Logs an activity. The same bytes are sent on each try, and it is stored once. */
    logActivity: async (activity: Activity): Promise<Logged> => {
      const body = textOf(activity)
      const sent = { body, has: ['prospectLogId'] }
      const answer = await send<Receipt>('POST', '/v0/prospect_logs', sent).catch((error) => {
        throw Object.assign(error, { activity: JSON.parse(body) })
      })
      return { receipt: answer.body, replayed: answer.headers.get('idempotent-replayed') === 'true' }
    },
    /** Logs many activities: one result each, in order. Rejects, before it sends any, only if one cannot be written as JSON. */
    logActivities: async (activities: Iterable<Activity>) => logTexts(Array.from(activities, textOf)),
    /**
     * Collects activities, and sends them once `max` of them (at most 1,000) wait, or the first has waited for `ms`.
     * Holds `waitingMax` of them, and rejects any more. The process stays alive until the waiting ones are sent.
     */
    buffer: ({ max = 100, ms = 500, waitingMax = 10_000 } = {}) => {
      const waiting: { text: string; settle: (result: LogResult) => void }[] = []
      const unsettled = new Set<Promise<Logged>>()
      const deadline = new AbortController()
      let timer: ReturnType<typeof setTimeout> | undefined
      let [isSending, isClosed] = [false, false]
      const sendAll = async (): Promise<void> => {
        timer = void clearTimeout(timer)
        if (isSending) return
        isSending = true
        while (waiting.length > 0) {
          const batch = waiting.splice(0, max >= 1 ? max : 1)
          const texts = batch.map(({ text }) => text)
          const results = await logTexts(texts, deadline.signal).catch(() => [])
          for (const [i, { text, settle }] of batch.entries()) settle(results[i] ?? failed(text, {}))
        }
        isSending = false
      }
      return {
        /** Resolves once the activity is stored; rejects if it is refused, or at once if the buffer is full or closed. */
        log: async (activity: Activity): Promise<Logged> => {
          const why = isClosed ? 'closed' : !(unsettled.size < waitingMax) && 'full'
          if (why) throw new ProblemError(0, { code: `buffer_${why}`, detail: `The buffer is ${why}.` })
          const text = textOf(activity)
          const result = new Promise<LogResult>((settle) => waiting.push({ text, settle }))
          const logged = result.then((one) => (one.problem ? Promise.reject(one.problem) : one))
          unsettled.add(logged)
          if (waiting.length >= max) void sendAll()
          else timer ??= setTimeout(sendAll, bounded(ms, 500))
          return logged.finally(() => unsettled.delete(logged))
        },
        /** Sends at once. Resolves when every waiting activity is stored or refused. */
        flush: async (): Promise<void> => {
          void sendAll()
          await Promise.allSettled(unsettled)
        },
        /**
         * Sends the waiting activities, for at most `ms` (10,000), and takes no more. Resolves to those that may not be
         * stored: their promises reject. Log them again, with the same keys. Only refused activities are missing.
         */
        close: async ({ ms = 10_000 } = {}): Promise<Activity[]> => {
          isClosed = true
          const stop = setTimeout(
            () => deadline.abort(new Error('the buffer is closed')),
            bounded(ms, 10_000),
          )
          void sendAll()
          const outcomes = await Promise.allSettled(unsettled)
          clearTimeout(stop)
          const rejected = outcomes.filter((one) => one.status === 'rejected').map(({ reason }) => reason)
          return rejected.filter((one) => one.cause || mayPass(one)).map(({ activity }) => activity)
        },
      }
    },
    /**
     * Any operation: `request('GET', '/v0/prospects', { query: { email } })`. A POST that creates a page, a group or a version
     * gets an idempotency key unless you give one. A POST that might be done twice is not tried again once it may be done.
     */
    request: async <Body = unknown>(verb: string, path: string, { body, ...rest }: RequestOptions = {}) => {
      const method = verb.toUpperCase()
      const headers = new Headers(rest.headers)
      const hasKey = headers.has('idempotency-key')
      if (method === 'POST' && KEYED.test(path) && !hasKey)
        headers.set('idempotency-key', crypto.randomUUID())
      const isLogged = hasKey && path.endsWith('/prospect_logs')
      const mayRepeat = method !== 'POST' || isLogged || REPEATABLE.test(path) ? mayPass : isNotDone
      const sent = { ...rest, body: jsonOf(body), headers: Object.fromEntries(headers), mayRepeat }
      return send<Body>(method, path, sent)
    },
    /** The items of a list, slice by slice: `for await (const prospect of each('/v0/prospects'))`. */
    each: async function* <Item = Record<string, unknown>>(path: string, query: Query = {}) {
      for (let { cursor } = query, hasMore = true; hasMore; ) {
        const { body } = await send<Slice<Item>>('GET', path, { query: { ...query, cursor }, has: ['items'] })
        yield* body.items
        ;[cursor, hasMore] = [body.nextCursor, body.hasMore]
      }
    },
    /** The events of the tenant, oldest first, without end and despite errors, until it is refused or `signal` is aborted. */
    events: async function* (from: EventOptions = {}): AsyncGenerator<FeedEvent, void> {
      const { wait = 25, types, signal } = from
      for (let { cursor } = from; !signal?.aborted; ) {
        // Without waiting, because `latest` is another place in each request.
        const query = { cursor, types, limit: 100, wait: cursor === 'latest' ? undefined : Math.max(wait, 1) }
        const endless = { waitMs: 25_000, tries: Infinity, mayRepeat: isNotRefused, signal }
        const sent = { ...endless, query, has: ['items', 'nextCursor'] }
        const answer = await send<Slice<FeedEvent>>('GET', '/v0/events', sent).catch((error) => error)
        if (answer instanceof Error && !signal?.aborted) throw answer
        const { items = [], nextCursor = '' }: Partial<Slice<FeedEvent>> = answer.body ?? {}
        for (const event of items)
          if (!signal?.aborted) yield { ...event, cursor: event === items.at(-1) ? nextCursor : null }
        cursor = nextCursor
      }
    },
    verifyWebhook,
  }
}
/** Verifies a webhook on its bytes as received. Rejects unless one of the secrets signed it within five minutes of now. */
export const verifyWebhook = async ({ secrets, headers, body }: ReceivedWebhook): Promise<WebhookEvent> => {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const byName = typeof headers.get === 'function' ? (headers as Pick<Headers, 'get'>) : lower
  const header = (name: string) => String(byName.get(name) ?? '')
  const eventId = header('webhook-id')
  const timestamp = header('webhook-timestamp')
  const bytes = typeof body === 'string' ? utf8(body) : new Uint8Array(body)
  const signed = new Uint8Array([...utf8(`${eventId}.${timestamp}.`), ...bytes])
  const fits = async (secret: string, signature: string): Promise<boolean> => {
    const raw = bytesOf(secret.replace('whsec_', ''))
    const key = await crypto.subtle.importKey('raw', raw, HMAC, false, ['verify'])
    // Compares in constant time. Anyone can sign with an empty secret.
    return raw.length > 0 && crypto.subtle.verify('HMAC', key, bytesOf(signature), signed)
  }
  const isRecent = Math.abs(Date.now() - Number(timestamp) * 1_000) <= WEBHOOK_AGE_MS_MAX
  for (const secret of isRecent ? [secrets].flat() : [])
    for (const [, signature = ''] of header('webhook-signature').matchAll(/\bv1,([A-Za-z0-9+/]{43}=)/g))
      if (await fits(secret, signature).catch(() => false))
        return { eventId, ...JSON.parse(new TextDecoder().decode(bytes)) }
  const detail = isRecent ? 'No secret fits a signature.' : 'It was not signed within five minutes of now.'
  throw new ProblemError(0, { code: 'invalid_signature', detail })
}
const utf8 = (text: string) => new TextEncoder().encode(text)
const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
/** At most 12 days, because timers do not reach much further. */
const bounded = (ms: number, otherwise: number) => Math.min(ms >= 0 ? ms : otherwise, 2 ** 30)
const jsonOf = (value: unknown): string => {
  try {
    return typeof value === 'string' ? value : JSON.stringify(value)
  } catch (cause) {
    throw new TypeError('It cannot be written as JSON.', { cause })
  }
}
const textOf = (activity: Activity): string => {
  const text = jsonOf({ ...activity, idempotencyKey: activity.idempotencyKey ?? crypto.randomUUID() })
  if (text?.startsWith('{')) return text
  throw new TypeError('An activity must be an object.')
}
const failed = (text = '', { status = 0, problem = UNREADABLE }: Partial<ProblemError>, cause?: unknown) => ({
  problem: Object.assign(new ProblemError(status, problem, 0, { cause }), { activity: JSON.parse(text) }),
})
const isNotDone = ({ status }: ProblemError): boolean => status === 408 || status === 429
const mayPass = (one: ProblemError) => one.status === 0 || one.status >= 500 || isNotDone(one)
const isNotRefused = (error: ProblemError): boolean => mayPass(error) || !error.problem['code']
const retryAfterMsIn = (headers: Headers): number => {
  const after = headers.get('retry-after') ?? ''
  const ms = /^\d+$/.test(after) ? Number(after) * 1_000 : Date.parse(after) - Date.now()
  return Math.min(Math.max(ms || 0, 0), RETRY_AFTER_MS_MAX)
}
/** Runs until it ends, `ms` are over, or `signal` is aborted. */
const within = async <T>(ms: number, run: (cut: AbortSignal) => Promise<T>, signal?: AbortSignal) => {
  signal?.throwIfAborted()
  const cut = new AbortController()
  const stop = () => cut.abort(signal?.reason)
  const timer = setTimeout(() => cut.abort(new Error(`${ms} ms are over`)), ms)
  signal?.addEventListener('abort', stop)
  const end = new Promise<never>((_, no) => cut.signal.addEventListener('abort', () => no(cut.signal.reason)))
  return Promise.race([run(cut.signal), end]).finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  })
}
