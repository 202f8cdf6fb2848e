import { isUtf8 } from 'node:buffer'
import * as v from 'valibot'
import { type Fault, refuse } from '../../core/failures.ts'
import { membersOf, NESTING_MAX } from '../../core/raw-json.ts'
import type { RawJson } from '../../shapes/json.ts'
import { idempotencyKey } from '../../shapes/prospect-log.ts'

/** A request without its socket. */
export type ApiRequest = {
  readonly method: string
  /** As in the request line: path and query, not decoded. */
  readonly target: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Names of headers that came more than once and may not. */
  readonly repeatedHeaders?: readonly string[]
  /** Where it came from, as an IP address. */
  readonly address?: string | undefined
  /** Reads the body to its end, telling how many bytes have come; only called once everything before it is in order. */
  readonly readBody?: (hold: (bytes: number) => void) => Promise<Uint8Array>
}
export type ApiResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Text, but for files. */
  readonly body: string | Uint8Array
}

export type Checked<T> =
  | { readonly value: T; readonly faults: readonly [] }
  | { readonly faults: readonly Fault[] }
const FAULTS_MAX = 20

export const refuseFaults = (faults: readonly Fault[]): void => {
  if (faults.length > 0)
    refuse('invalid_request', 'The request is invalid. See `errors`.', {
      errors: faults.slice(0, FAULTS_MAX),
    })
}

export const headerOf = (request: ApiRequest, name: string): string | undefined => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** Splits a target by hand: `new URL` throws on some that are allowed. */
export const splitTarget = (target: string): { path: string; query: string } => {
  const local = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  const [whole = ''] = local.split('#', 1)
  const mark = whole.indexOf('?')
  return mark < 0 ? { path: whole, query: '' } : { path: whole.slice(0, mark), query: whole.slice(mark + 1) }
}

/** Known parameters may come once; unknown ones are ignored. */
export const checkQuery = <Shape extends QueryShape>(
  shape: Shape,
  query: string,
): Checked<v.InferOutput<Shape>> => {
  const given: Record<string, string> = {}
  const faults: Fault[] = []
  for (const pair of query === '' ? [] : query.split('&')) {
    const [name = '', ...rest] = pair.split('=')
    const parameter = decodeQuery(name)
    if (parameter === null || !Object.hasOwn(shape.entries, parameter)) continue
    const value = decodeQuery(rest.join('='))
    if (value === null) faults.push({ detail: 'must be well-formed percent-encoding', parameter })
    else if (Object.hasOwn(given, parameter))
      faults.push({ detail: 'must not be given more than once', parameter })
    else given[parameter] = value
  }
  const result = v.safeParse(shape, given)
  if (!result.success)
    for (const issue of result.issues)
      faults.push({ detail: detailOf(issue), parameter: String(issue.path?.[0]?.key ?? '') })
  return result.success && faults.length === 0 ? { value: result.output, faults: [] } : { faults }
}
export type QueryShape = v.ObjectSchema<v.ObjectEntries, undefined>

const decodeQuery = (text: string): string | null => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}

const MEDIA_TYPE = /^application\/json\s*(;.*)?$/i
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i

/** The body as text and as a value; undefined where there is none. Refuses `unsupported_media_type`, `invalid_json`. */
export const readJson = async (
  request: ApiRequest,
  hold: (bytes: number) => void,
): Promise<{ text: string; value: unknown } | undefined> => {
  const length =
    headerOf(request, 'transfer-encoding') === undefined ? headerOf(request, 'content-length') : undefined
  if (length !== undefined && /^0*$/.test(length)) return undefined
  // A body of a length not told, in chunks or by HTTP/2, tells only at its end that it is empty, and then needs no type.
  const wrongType = faultOfType(request)
  if (wrongType !== null && length !== undefined) refuse('unsupported_media_type', wrongType)
  const bytes = await request.readBody?.(hold)
  if (bytes === undefined || bytes.length === 0) return undefined
  if (wrongType !== null) refuse('unsupported_media_type', wrongType)
  const text = decodeText(bytes)
  try {
    return { text, value: JSON.parse(text) as unknown }
  } catch (error) {
    const [, position] = /at position (\d+)/.exec(String(error)) ?? []
    return refuse(
      'invalid_json',
      `The body is not well-formed JSON${position === undefined ? '.' : `: see position ${position}.`}`,
    )
  }
}

const faultOfType = (request: ApiRequest): string | null => {
  const type = headerOf(request, 'content-type') ?? ''
  const coding = headerOf(request, 'transfer-encoding') ?? 'chunked'
  if (!/^\s*chunked\s*$/i.test(coding)) return 'The body must have no transfer coding but chunked.'
  if (type === 'application/json' && request.headers['content-encoding'] === undefined) return null
  if (!MEDIA_TYPE.test(type)) return 'The body must be application/json.'
  const [, charset = 'utf-8'] = CHARSET.exec(type) ?? []
  if (!/^utf-?8$/i.test(charset)) return 'The body must be in UTF-8.'
  const encoding = headerOf(request, 'content-encoding') ?? 'identity'
  return /^\s*identity\s*$/i.test(encoding) ? null : 'The body must not have a content encoding.'
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
const decodeText = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes)
  } catch {
    return refuse('invalid_json', 'The body is not UTF-8.')
  }
}

/** A body against its shape, and each of its members as the text in which it came. */
export const checkBody = <Shape extends v.GenericSchema>(
  shape: Shape,
  { text, value }: { text: string; value: unknown },
): Checked<v.InferOutput<Shape>> & { readonly members: ReadonlyMap<string, RawJson> } => {
  const { members, depth } = membersOf(text)
  if (depth > NESTING_MAX) refuse('invalid_json', `A value of the body nests deeper than ${NESTING_MAX}.`)
  // The library takes a list for an object without members.
  if (Array.isArray(value)) return { faults: [{ detail: 'must be an object', pointer: '' }], members }
  const result = v.safeParse(shape, value)
  return result.success
    ? { value: result.output, faults: [], members }
    : {
        faults: result.issues.map((issue) => ({ detail: detailOf(issue), pointer: pointerOf(issue) })),
        members,
      }
}

/** Our own words: the library's would show what was given, which may be somebody's email. */
const detailOf = (issue: v.BaseIssue<unknown>): string => {
  if (issue.kind === 'validation' || issue.type === 'custom' || issue.type === 'picklist')
    return issue.message
  if (issue.received === 'undefined') return 'is required'
  const kind = issue.expected === 'Object' ? 'object' : issue.expected
  return `must be ${/^[aeio]/i.test(kind ?? '') ? 'an' : 'a'} ${kind}`
}

const pointerOf = (issue: v.BaseIssue<unknown>): string =>
  (issue.path ?? []).map(({ key }) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const IdempotencyKey = idempotencyKey()

/**
 * The header `Idempotency-Key`. Node hands header bytes over one by one; they mean UTF-8 where they are UTF-8.
 */
export const checkIdempotencyKey = (request: ApiRequest): Checked<string | undefined> => {
  const given = headerOf(request, 'idempotency-key')
  if (given === undefined) return { value: undefined, faults: [] }
  const bytes = Buffer.from(given, 'latin1')
  const key = bytes.toString('utf8')
  if (!isUtf8(bytes) || !v.is(IdempotencyKey, key))
    return { faults: [{ detail: 'must be 1 to 255 characters of UTF-8', parameter: 'Idempotency-Key' }] }
  return { value: key, faults: [] }
}
