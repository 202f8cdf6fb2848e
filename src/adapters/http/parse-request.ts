import { isUtf8 } from 'node:buffer'
import * as v from 'valibot'
import { type Fault, refuse } from '../../core/failures.ts'
import type { NewActivity } from '../../core/new-log.ts'
import { orNull } from '../../core/or-null.ts'
import { isJson } from '../../json/is-json.ts'
import { membersOf, NESTING_MAX, splitAt } from '../../json/raw-json.ts'
import { checkShape } from '../../shapes/check.ts'
import { isKept, type RawJson, withTexts } from '../../shapes/json.ts'
import { ITEMS_MAX, idempotencyKey, NewProspectLog } from '../../shapes/prospect-log.ts'
import { revisionsIn } from './entity-tags.ts'
import { type ApiRequest, headerOf, percentDecoded, tooLarge } from './requests.ts'
import type { CheckedRequest, Route } from './route.ts'

/** What is known once the body is read. */
type Received = Pick<CheckedRequest<never, never>, 'tenantId' | 'apiKeyId' | 'params'> & {
  /** Not decoded. */
  readonly query: string
  /** Undefined when no body was sent. */
  readonly bytes: Uint8Array | undefined
}
export type QueryShape = v.ObjectSchema<v.ObjectEntries, undefined>

const FAULTS_MAX = 20
const SEE_ERRORS = 'The request is invalid. See `errors`.'

/**
 * Query, headers and body against the shapes of the route. Refuses `invalid_json`, or `invalid_request` with all the
 * faults at once.
 */
export const parseRequest = (
  route: Route,
  request: ApiRequest,
  { tenantId, apiKeyId, params, query: rawQuery, bytes }: Received,
): CheckedRequest<never, never> => {
  const faults: Fault[] = []
  const query = ((route.query || rawQuery) && parseQuery(route.query ?? NO_QUERY, rawQuery, faults)) as never
  const { body, idempotencyKey } =
    route.body === undefined ? NO_BODY : parseBody(route, textOf(bytes, route), request, faults)
  refuseFaults(faults, SEE_ERRORS)
  const ifRevision = revisionsIn(request)
  return { tenantId, apiKeyId, params, query, body: body as never, idempotencyKey, ifRevision }
}

/** Refuses `invalid_request` if there are any. */
export const refuseFaults = (faults: readonly Fault[], detail: string): void => {
  if (faults.length > 0) refuse('invalid_request', detail, { errors: faults.slice(0, FAULTS_MAX) })
}

const NO_BODY = { body: undefined, idempotencyKey: undefined }
const ONCE = 'must not be given more than once'
const NO_QUERY = v.object({})

/** A parameter may be given once. An unknown one is refused: ignored, it might have been meant to narrow a list. */
const parseQuery = (shape: QueryShape, query: string, faults: Fault[]): unknown => {
  const given: Record<string, string> = {}
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const [name = '', ...rest] = pair.split('=')
    const parameter = decodeQuery(name) ?? name
    const value = decodeQuery(rest.join('='))
    if (!Object.hasOwn(shape.entries, parameter)) faults.push({ detail: unknownParameter(shape), parameter })
    else if (value === null) faults.push({ detail: 'must be well-formed percent-encoding', parameter })
    else if (Object.hasOwn(given, parameter)) faults.push({ detail: ONCE, parameter })
    else given[parameter] = value
  }
  const checked = checkShape(shape, given, 'parameter')
  faults.push(...checked.faults)
  return checked.output
}

const unknownParameter = ({ entries }: QueryShape): string => {
  const names = Object.keys(entries).sort().join(', ')
  return names === ''
    ? 'this operation has no query parameters'
    : `unknown parameter; the parameters are: ${names}`
}

const decodeQuery = (text: string) => percentDecoded(text.replaceAll('+', ' '))

const IdempotencyKey = idempotencyKey()

/** Node decodes header bytes as Latin-1. Where they are UTF-8, that is what the sender meant. */
const parseIdempotencyKey = (request: ApiRequest, faults: Fault[]): string | undefined => {
  const given = headerOf(request, 'idempotency-key')
  if (given === undefined) return undefined
  const bytes = Buffer.from(given, 'latin1')
  const key = bytes.toString('utf8')
  if (!isUtf8(bytes) || !v.is(IdempotencyKey, key))
    faults.push({ detail: 'must be 1 to 255 characters of UTF-8', parameter: 'Idempotency-Key' })
  return key
}

/** The body as a value of its shape, and the key in the header. */
const parseBody = ({ body, isBatch }: Route, text: string, request: ApiRequest, faults: Fault[]) => {
  for (const parameter of request.repeatedHeaders ?? []) faults.push({ detail: ONCE, parameter })
  const idempotencyKey = parseIdempotencyKey(request, faults)
  if (isBatch && idempotencyKey !== undefined)
    faults.push({
      detail: 'must not be sent: each item has its own idempotencyKey',
      parameter: 'Idempotency-Key',
    })
  const parsed = isBatch
    ? parseBatch(body as v.GenericSchema, text, request)
    : parseText(body as v.GenericSchema, text)
  faults.push(...parsed.faults)
  return { ...parsed, idempotencyKey }
}

/** The envelope alone: the items stay texts, which are parsed one by one. Parsing 8 MiB of small values takes seconds. */
const parseBatch = (shape: v.GenericSchema, text: string, { body }: ApiRequest) => {
  const { elements, rest } =
    splitAt(text, 'items', ITEMS_MAX) ??
    refuse('invalid_json', `The body is not a well-formed JSON object of at most ${ITEMS_MAX} members.`)
  if (rest.length > (body?.bytesMax ?? 0)) throw tooLarge(body?.bytesMax ?? 0, 'The batch without its items')
  const value = parseJson(rest)
  const { output, faults } = checkShape(
    shape,
    elements === null ? value : { ...Object(value), items: elements },
  )
  return { body: output, faults }
}

const parseText = <Shape extends v.GenericSchema>(shape: Shape, text: string) => {
  const isLong = text.length > LONG_TEXT && /^\s*\{/.test(text) && isJson(text)
  const whole = isLong ? undefined : parseJson(text)
  const { members, depth } = membersOf(text)
  refuseDeep(depth)
  const short = isLong ? checkShape(shape, JSON.parse(withoutContents(members))) : undefined
  // Of what is kept as text nothing but its kind is checked.
  const isEnough =
    short && [...members].every(([name, value]) => !isEmptied(value) || isKept(short.output, name))
  const { output, faults } = isEnough ? short : checkShape(shape, whole ?? parseJson(text))
  return { body: faults.length === 0 ? withTexts(output, members) : output, faults }
}
/** Parsing such a text can take many milliseconds, if it has many small values. */
const LONG_TEXT = 65_536
const isEmptied = ({ rawJson }: RawJson) => rawJson.length > LONG_TEXT && /^[[{]/.test(rawJson)
/** An object with these members, of which the long objects and arrays are empty. */
const withoutContents = (members: ReadonlyMap<string, RawJson>): string => {
  const texts = [...members].map(([name, value]) => {
    const kept = isEmptied(value) ? (value.rawJson.startsWith('{') ? '{}' : '[]') : value.rawJson
    return `${JSON.stringify(name)}:${kept}`
  })
  return `{${texts}}`
}

/** One activity, from a text that is the body of a request, an item of a batch or a line. Refuses as `parseRequest`. */
export const parseActivity = (text: string): Omit<NewActivity, 'tenantId'> => {
  const { body, faults } = parseText(NewProspectLog, text)
  refuseFaults(faults, SEE_ERRORS)
  return body
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
const textOf = (bytes: Uint8Array | undefined, { bodyOptional }: Route): string => {
  if (bytes === undefined && bodyOptional) return '{}'
  if (bytes === undefined) return refuse('invalid_json', 'The body is missing. Send a JSON object.')
  return decodeUtf8(bytes)
}

export const decodeUtf8 = (bytes: Uint8Array, subject = 'The body'): string =>
  orNull(() => utf8.decode(bytes)) ?? refuse('invalid_json', `${subject} is not UTF-8.`)

export const parseJson = (text: string, subject = 'The body'): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    const [, position] = /at position (\d+)/.exec(String(error)) ?? []
    const where = position === undefined ? '' : ` at position ${position}`
    return refuse('invalid_json', `${subject} is not well-formed JSON${where}.`)
  }
}

export const refuseDeep = (depth: number, subject = 'The body'): void => {
  if (depth > NESTING_MAX) refuse('invalid_json', `${subject} is nested deeper than ${NESTING_MAX} levels.`)
}

const MEDIA_TYPE = /^application\/json\s*(;.*)?$/i
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i

/** Refuses `unsupported_media_type` unless the body is JSON in UTF-8 as it stands. */
export const requireJson = (request: ApiRequest): void => {
  const type = headerOf(request, 'content-type') ?? ''
  const coding = headerOf(request, 'transfer-encoding') ?? 'chunked'
  if (!/^\s*chunked\s*$/i.test(coding)) wrongType('Unsupported transfer coding. Only chunked is supported.')
  if (type === 'application/json' && request.headers['content-encoding'] === undefined) return
  if (!MEDIA_TYPE.test(type)) wrongType('Unsupported content type. Send application/json.')
  const [, charset = 'utf-8'] = CHARSET.exec(type) ?? []
  if (!/^utf-?8$/i.test(charset)) wrongType('Unsupported charset. Send UTF-8.')
  const encoding = headerOf(request, 'content-encoding') ?? 'identity'
  if (!/^\s*identity\s*$/i.test(encoding))
    wrongType('Unsupported content encoding. Send the body uncompressed.')
}
const wrongType = (detail: string) => refuse('unsupported_media_type', detail)
