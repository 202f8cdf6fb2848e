import { eachChild, endOfValue, membersOf } from '../json/raw-json.ts'
import type { ApiKey } from '../shapes/api-key.ts'

/** The key is kept in memory. The reader may keep it in the tab. */
const KEPT_AS = 'prospect-pages key'
let apiKey = sessionStorage.getItem(KEPT_AS) ?? ''
let self: ApiKey | null = null
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
  /** Called if the key is refused. */
  onRefused: (_why: Problem): unknown => null,
}
export const can = (scope: string): boolean => session.self?.scopes.includes(scope) ?? false

type Fault = { readonly detail: string; readonly pointer?: string; readonly parameter?: string }
/** A refusal, in the words of the server. */
export class Problem extends Error {
  declare readonly code: string
  declare readonly requestId: string
  declare readonly errors: readonly Fault[]
  /** How long to wait, if the server says so. */
  declare readonly retryAfterMs: number
  /** The person who has the email or id that was given. */
  declare readonly prospectId: string | undefined
  declare readonly status: number
  constructor(status: number, headers: Headers, text: string) {
    let facts: { [name: string]: string | undefined; errors?: never } = {}
    try {
      facts = JSON.parse(text)
    } catch {}
    super(facts['detail'] ?? `The server returned status ${status}.`)
    this.status = status
    this.code = facts['code'] ?? `${status}`
    this.requestId = facts['instance'] ?? headers.get('x-request-id') ?? ''
    this.errors = facts.errors ?? []
    this.prospectId = facts['prospectId']
    this.retryAfterMs = Number(headers.get('retry-after') ?? 0) * 1_000
  }
}

/** The address of the API: the page is at `console/` beside `v0/`, under any prefix. */
export const baseUrl = (): string => new URL('..', location.href.replace(/#.*$/, '')).href.replace(/\/$/, '')

export type Query = Readonly<Record<string, string | number | undefined>>
type Options = {
  readonly query?: Query | undefined
  /** A value, or JSON text sent unchanged. */
  readonly body?: object | string | undefined
  /** The ETag of the known answer: if it is still current, no other is returned. */
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
const respond = async (method: string, path: string, options: Options): Promise<Response> => {
  const { query = {}, body, etag, ifMatch, signal = null } = options
  const chosen = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(chosen.map(([name, value]) => [name, String(value)])).toString()
  const used = apiKey
  const response = await fetch(`${baseUrl()}/v0${path}${search && `?${search}`}`, {
    method,
    headers: {
      'x-api-key': used,
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
    if (problem.status === 401 && self !== null && used === apiKey) session.onRefused(problem)
    throw problem
  }
  return response
}
/** Calls an operation of `/v0`. Throws a `Problem` if it is refused. */
export const call = async <T>(method: string, path: string, options: Options = {}): Promise<Answer<T>> => {
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout
  const response = await respond(method, path, { ...options, signal })
  const text = await response.text()
  const value = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, value: value as T, text, etag: response.headers.get('etag') }
}
export const get = async <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
  (await call<T>('GET', path, { query, signal })).value
/** An answer of any length, as a file. */
export const fileAt = async (path: string): Promise<Blob> => (await respond('GET', path, {})).blob()
/** A read that is repeated: null while the answer is the same as before. */
export const repeated = <T>(path: string) => {
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
/** The exact text of a member, such as a payload. */
export const memberOf = (text: string, name: string): string =>
  membersOf(text).members.get(name)?.rawJson ?? 'null'
/** The exact texts of the items of a slice. */
export const itemTexts = (text: string): readonly string[] => {
  const items = memberOf(text, 'items')
  const texts: string[] = []
  eachChild(items, 0, (_, begin) => {
    const { end } = endOfValue(items, begin)
    texts.push(items.slice(begin, end))
    return end
  })
  return texts
}
/** Members as JSON, with one more whose exact text is given. */
export const withExact = (members: object, name: string, text: string): string => {
  const others = JSON.stringify(members).slice(1, -1)
  return `{${others && `${others},`}"${name}":${text}}`
}
/** `/page_groups/…/pages`, with callers' values made safe: no id consists of dots. */
export const path = (texts: TemplateStringsArray, ...ids: readonly string[]): string =>
  texts.reduce((done, text, i) => done + encodeURIComponent(ids[i - 1] ?? '').replace(/^\.+$/, '-') + text)
