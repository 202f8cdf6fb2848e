import type { ProblemCode } from '../../core/engine/failures.ts'
import { orNull } from '../../core/engine/or-null.ts'
import { stopwatch } from '../stopwatch.ts'

/** A request without its socket. */
export type ApiRequest = {
  readonly method: string
  /** Path and query of the request line, not decoded. */
  readonly target: string
  /** The path at which the API is mounted, such as `/prospects`, for its links. It is not part of `target`. */
  readonly basePath?: string | undefined
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Names of headers that were sent more than once and must not be. */
  readonly repeatedHeaders?: readonly string[]
  /** The sender's IP address. */
  readonly address?: string | undefined
  /** Makes a signal that aborts when the sender is gone or should wait no longer. Only called by requests that wait. */
  readonly untilEnd?: (() => AbortSignal) | undefined
  readonly body?: RequestBody | undefined
}
export type RequestBody = {
  readonly bytesMax: number
  /** Limit of a batch; each of its items is limited by `bytesMax`, which is also the default. */
  readonly batchBytesMax?: number
  /** Reads the body to its end. Only called once everything before it is valid. Refuses `payload_too_large`. */
  readonly read: (bytesMax: number, sieve?: BodySieve | null) => Promise<Uint8Array>
}
/** Lets through a part of a body while it arrives; only that part counts for the limit of the body. */
export type BodySieve = {
  /** Limit of all bytes. */
  readonly bytesMax: number
  readonly keep: (bytes: Buffer) => Buffer
  readonly end: () => Buffer
}
/** The limit that a body exceeds, of which some bytes are kept; null if it exceeds none. */
export const limitExceeded = (
  keptBytes: number,
  bytes: number,
  bytesMax: number,
  sieve: BodySieve | null | undefined,
): number | null => {
  if (keptBytes > bytesMax) return bytesMax
  return sieve && bytes > sieve.bytesMax ? sieve.bytesMax : null
}
/** Describes a request once it is answered. Contains no key, and nothing that identifies a prospect. */
export type RequestLog = {
  readonly requestId: string
  readonly method: string
  /** The template of the path; null for an unknown path. */
  readonly route: string | null
  readonly status: number
  readonly code: ProblemCode | null
  readonly ms: number
  /** The part of `ms` in which the request waited for an event or a page. */
  readonly waitedMs?: number
  /** Set if the request belongs to a trace. */
  readonly traceId?: string
  /** The caller, once the key was identified, even if the request was refused after that. */
  readonly tenantId?: string
  readonly apiKeyId?: string | null
  /** Set if the request was delayed by others: it waited for its turn, or was refused for lack of room. */
  readonly admission?: 'waited' | 'refused'
  /** Set once the body was read; `activities` if any were logged, replays aside. */
  readonly bodyBytes?: number
  readonly activities?: number
  /** The hook of a delivery, and the outcome if it was not refused: logged, replayed, ignored, trapped or challenge. */
  readonly hookId?: string
  readonly outcome?: string
  /** Set if it was accepted with a warning, which the hook shows. */
  readonly warned?: true
}
/** The fields of a request's log line that are known so far. */
export type LogFields = { -readonly [Name in keyof RequestLog]?: RequestLog[Name] }
export type Headers = Record<string, string>
/** A request on the way to its answer. */
export type Exchange = {
  readonly request: ApiRequest
  readonly requestId: string
  /** The query of the target, not decoded. */
  readonly query: string
  /** Headers of the answer. What a step sets is part of every answer from then on, even of a problem. */
  readonly headers: Headers
  readonly logFields: LogFields
}
/** A body that is made while it is read. If making a part fails, the answer ends early. */
export type BodyInParts<Part extends string | Uint8Array> = {
  readonly parts: AsyncGenerator<Part>
  /** Call this if the reader leaves: it ends the part in progress early, and makes no more. */
  readonly cancel: () => Promise<void>
}
/** A response without its socket. */
export type ApiResponse = {
  readonly status: number
  readonly headers: Readonly<Headers>
  readonly body: string | Uint8Array | BodyInParts<string>
  /** The tenant of the caller; undefined for routes that need no key. */
  readonly tenantId?: string | undefined
}

/** The API as a function: a request in, a response out. It never rejects. */
export type Api = (request: ApiRequest) => Promise<ApiResponse>

/** Splits a target into path and query. `new URL` throws on some targets that are allowed. */
export const splitTarget = (target: string): { path: string; query: string } => {
  const local = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  const hash = local.indexOf('#')
  const whole = hash < 0 ? local : local.slice(0, hash)
  const mark = whole.indexOf('?')
  if (mark < 0) return { path: whole, query: '' }
  return { path: whole.slice(0, mark), query: whole.slice(mark + 1) }
}

/** Null if the percent-encoding is malformed. */
export const percentDecoded = (text: string) => orNull(() => decodeURIComponent(text))

/** Whether a look-up of a caller is out of date: it is valid for a second, however long the request takes or waits. */
export const isOld = (sinceMs: number): boolean => stopwatch() - sinceMs > 1_000

export const JSON_HEADERS: Headers = { 'content-type': 'application/json' }
/** JSON with a line end, so that the prompt of a shell does not follow on the same line. */
export const jsonLine = (value: object): string => `${JSON.stringify(value)}\n`
export const json = (status: number, body: string | Uint8Array, tenantId?: string): ApiResponse => ({
  status,
  headers: JSON_HEADERS,
  body,
  tenantId,
})

export const ALWAYS: Headers = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}

/** Whether a body exists as a whole: others are made in parts. */
export const isWhole = (body: ApiResponse['body']): body is string | Uint8Array =>
  typeof body === 'string' || body instanceof Uint8Array

/** The whole response. Completes `allHeaders` with those of the answer, which take precedence. */
export const responseOf = ({ status, headers, body, tenantId }: ApiResponse, allHeaders: Headers) => {
  Object.assign(allHeaders, headers)
  if (status !== 204 && status !== 304 && isWhole(body))
    allHeaders['content-length'] ??= String(Buffer.byteLength(body))
  return { status, headers: allHeaders, body, tenantId }
}
