import type { ApiKey } from '../shapes/api-key.ts'

const KEPT_AS = 'prospect-pages key'
/** Kept in memory only, unless the reader chooses to keep it in the tab. */
let apiKey = sessionStorage.getItem(KEPT_AS) ?? ''
let self: ApiKey | null = null
let onRefusedKey = (_why: Problem): void => {}

export const session = {
  get key(): string {
    return apiKey
  },
  get self(): ApiKey | null {
    return self
  },
  /** Refuses a key that the server does not know. */
  open: async (key: string, isKept: boolean): Promise<void> => {
    if (!/^[\x21-\x7e]+$/.test(key)) throw new Error('This is not an API key. Keys begin with pp_.')
    apiKey = key
    self = (await call<ApiKey>('GET', '/api_keys/self')).value
    if (isKept) sessionStorage.setItem(KEPT_AS, key)
    else if (sessionStorage.getItem(KEPT_AS) !== key) sessionStorage.removeItem(KEPT_AS)
  },
  close: (): void => {
    apiKey = ''
    self = null
    sessionStorage.removeItem(KEPT_AS)
  },
  /** The command that opens a console with every scope. */
  command: () => `prospect-pages console --tenant ${self?.tenantId ?? 'T'} --write`,
  /** Calls `listener` when the server refuses the key that is in use. */
  setRefusalListener: (listener: (why: Problem) => void): void => {
    onRefusedKey = listener
  },
}

export const can = (scope: string): boolean => session.self?.scopes.includes(scope) ?? false

type Fault = { readonly detail: string; readonly pointer?: string; readonly parameter?: string }
type ProblemFacts = {
  readonly detail: string
  readonly code: string
  readonly instance: string
  readonly errors: readonly Fault[]
  readonly prospectId: string
  readonly versionId: string
}

/** A refusal, in the words of the server. */
export class Problem extends Error {
  declare readonly code: string
  declare readonly requestId: string
  declare readonly errors: readonly Fault[]
  /** How long to wait before a retry: 0 unless the server says so. */
  declare readonly retryAfterMs: number
  /** The person who already has the email or external id. */
  declare readonly prospectId: string | undefined
  /** The version that is already scheduled for that minute. */
  declare readonly versionId: string | undefined
  declare readonly status: number
  constructor(status: number, headers: Headers, text: string) {
    const facts = factsIn(text)
    super(facts.detail ?? `The server returned status ${status}.`)
    this.status = status
    this.code = facts.code ?? `${status}`
    this.requestId = facts.instance ?? headers.get('x-request-id') ?? ''
    this.errors = facts.errors ?? []
    this.prospectId = facts.prospectId
    this.versionId = facts.versionId
    this.retryAfterMs = Number(headers.get('retry-after') ?? 0) * 1_000
  }
}

/** A proxy may answer with a page instead of a problem document. */
const factsIn = (text: string): Partial<ProblemFacts> => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** The address of the API: the page is at `console/` beside `v0/`, under any prefix. */
export const baseUrl = (): string => new URL('..', location.href.replace(/#.*$/, '')).href.replace(/\/$/, '')

export type Query = Readonly<Record<string, string | number | undefined>>
type Options = {
  readonly query?: Query | undefined
  /** A value, or JSON text sent unchanged. */
  readonly body?: object | string | undefined
  /** The ETag of the known answer: while it is current, the server returns only status 304. */
  readonly etag?: string | null
  /** The ETag of the resource to change. */
  readonly ifMatch?: string | null
  readonly signal?: AbortSignal | undefined
}

/** The answer as a value and as its exact text. */
export type Answer<T> = {
  readonly status: number
  readonly value: T
  readonly text: string
  readonly etag: string | null
}

const TIMEOUT_MS = 20_000
const sendRequest = async (method: string, path: string, options: Options): Promise<Response> => {
  const { query = {}, body, etag, ifMatch, signal = null } = options
  const chosen = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(chosen.map(([name, value]) => [name, String(value)])).toString()
  const keySent = apiKey
  const response = await fetch(`${baseUrl()}/v0${path}${search && `?${search}`}`, {
    method,
    headers: {
      'x-api-key': keySent,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(etag && { 'if-none-match': etag }),
      ...(ifMatch && { 'if-match': ifMatch }),
    },
    body: typeof body === 'string' ? body : (JSON.stringify(body) ?? null),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    signal,
  }).catch((cause) => {
    throw cause.name === 'AbortError' ? cause : new Error('The server cannot be reached.', { cause })
  })
  if (!response.ok && response.status !== 304) {
    const problem = new Problem(response.status, response.headers, await response.text())
    if (problem.status === 401 && self !== null && keySent === apiKey) onRefusedKey(problem)
    throw problem
  }
  return response
}

/** Calls an operation of `/v0`. Throws a `Problem` if it is refused. */
export const call = async <T>(method: string, path: string, options: Options = {}): Promise<Answer<T>> => {
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout
  const response = await sendRequest(method, path, { ...options, signal })
  const text = await response.text()
  const value = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, value: value as T, text, etag: response.headers.get('etag') }
}

export const get = async <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
  (await call<T>('GET', path, { query, signal })).value

/** Reads an answer of any length as a file, without a time limit. */
export const download = async (path: string): Promise<Blob> => (await sendRequest('GET', path, {})).blob()

/** Returns a function that reads a resource: null if the answer is the same as the time before. */
export const pollOf = <T>(path: string) => {
  let known: { readonly search: string; readonly etag: string | null } | undefined
  return async (query: Query, signal: AbortSignal): Promise<Answer<T> | null> => {
    const search = JSON.stringify(query)
    const etag = known?.search === search ? known.etag : null
    const answer = await call<T>('GET', path, { query, etag, signal })
    if (answer.status === 304) return null
    known = { search, etag: answer.etag }
    return answer
  }
}

/** One slice of a list. */
export type Slice<T> = {
  readonly items: readonly T[]
  readonly hasMore: boolean
  readonly nextCursor?: string
}
/** The path of an operation, such as `/page_groups/…/pages`, with its ids escaped. */
export const path = (texts: TemplateStringsArray, ...ids: readonly string[]): string =>
  String.raw(texts, ...ids.map(safeSegment))

/** Escapes an id. One made only of dots would change the path. */
const safeSegment = (id: string): string => (/^\.+$/.test(id) ? '-' : encodeURIComponent(id))
