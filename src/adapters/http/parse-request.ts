import { isUtf8 } from 'node:buffer'
import * as v from 'valibot'
import { type Fault, refuse, tooLarge } from '../../core/engine/failures.ts'
import { decodeUtf8, parseText, refuseFaults, SEE_ERRORS } from '../../core/engine/parse-input.ts'
import { hopsIn } from '../../core/hooks/delivery.ts'
import { idempotencyKey } from '../../shapes/prospect-log.ts'
import type { Admission, Slot } from './admission.ts'
import { parseBatch } from './batches.ts'
import { revisionsIn } from './entity-tags.ts'
import { ONCE, parseQuery } from './parse-query.ts'
import { announcedBytes, headerOf } from './request-headers.ts'
import type { ApiRequest, BodySieve } from './requests.ts'
import type { CheckedRequest, Route } from './route.ts'

/** A request whose body is read. */
type Received = Pick<
  CheckedRequest<never, never>,
  'tenantId' | 'apiKeyId' | 'scopes' | 'params' | 'publishedOnly'
> & {
  /** Not decoded. */
  readonly query: string
  /** Undefined when no body was sent. */
  readonly bytes: Uint8Array | undefined
}

/** Reads a body within its slot. Undefined if none was sent: without an announced length, only the end shows that. */
export const createReadBody =
  ({ hold, reading }: Pick<Admission, 'hold' | 'reading'>) =>
  async (
    request: ApiRequest,
    slot: Slot,
    bytesMax: number,
    checkHeaders?: (request: ApiRequest) => void,
    sieve?: BodySieve | null,
  ): Promise<Uint8Array | undefined> => {
    const { body } = request
    const announced = announcedBytes(request)
    if (body === undefined || announced === 0) return undefined
    if (announced !== undefined) checkHeaders?.(request)
    const allBytesMax = sieve?.bytesMax ?? bytesMax
    if (announced !== undefined && announced > allBytesMax) throw tooLarge(allBytesMax)
    hold(slot, Math.min(announced ?? bytesMax, bytesMax))
    const bytes = await reading(slot, body.read(bytesMax, sieve))
    hold(slot, bytes.length)
    if (bytes.length === 0) return undefined
    if (announced === undefined) checkHeaders?.(request)
    return bytes
  }

/**
 * Checks query, headers and body against the shapes of the route. Refuses `invalid_json`, or `invalid_request` with all
 * errors at once.
 */
export const parseRequest = (
  route: Route,
  request: ApiRequest,
  { tenantId, apiKeyId, scopes, params, publishedOnly, query: rawQuery, bytes }: Received,
): CheckedRequest<never, never> => {
  const faults: Fault[] = []
  let query: unknown
  // A route without parameters refuses any that are sent.
  if (route.query !== undefined || rawQuery !== '') query = parseQuery(route.query, rawQuery, faults)
  const { body, idempotencyKey } =
    route.body === undefined ? NO_BODY : parseBody(route, textOf(bytes, route), request, faults)
  if (faults.length > 0) refuseFaults(faults, SEE_ERRORS)
  const ifMatch = headerOf(request, 'if-match')
  const ifRevision = ifMatch === undefined ? undefined : revisionsIn(ifMatch)
  return {
    tenantId,
    apiKeyId,
    scopes,
    params,
    query: query as never,
    body: body as never,
    idempotencyKey,
    hops: route.method === 'GET' ? 0 : hopsIn(request),
    ifRevision,
    publishedOnly,
  }
}

const NO_BODY = { body: undefined, idempotencyKey: undefined }

const IdempotencyKey = idempotencyKey()

/** Node decodes header bytes as Latin-1. If they are valid UTF-8, the sender meant UTF-8. */
const parseIdempotencyKey = (request: ApiRequest, faults: Fault[]): string | undefined => {
  const header = headerOf(request, 'idempotency-key')
  if (header === undefined) return undefined
  const bytes = Buffer.from(header, 'latin1')
  const key = bytes.toString('utf8')
  if (!isUtf8(bytes) || !v.is(IdempotencyKey, key))
    faults.push({ detail: 'must be 1 to 255 characters of UTF-8', parameter: 'Idempotency-Key' })
  return key
}

const parseBody = ({ body, item }: Route, text: string, request: ApiRequest, faults: Fault[]) => {
  for (const parameter of request.repeatedHeaders ?? []) faults.push({ detail: ONCE, parameter })
  const idempotencyKey = parseIdempotencyKey(request, faults)
  if (item && 'idempotencyKey' in item.entries && idempotencyKey !== undefined)
    faults.push({
      detail: 'must not be sent: each item has its own idempotencyKey',
      parameter: 'Idempotency-Key',
    })
  const parsed = item
    ? parseBatch(body as v.GenericSchema, text, request.body?.bytesMax ?? 0)
    : parseText(body as v.GenericSchema, text)
  faults.push(...parsed.faults)
  return { ...parsed, idempotencyKey }
}

const textOf = (bytes: Uint8Array | undefined, { bodyOptional }: Route): string => {
  if (bytes === undefined && bodyOptional) return '{}'
  if (bytes === undefined) return refuse('invalid_json', 'The body is missing. Send a JSON object.')
  return decodeUtf8(bytes)
}

const MEDIA_TYPE = /^application\/json\s*(;.*)?$/i
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i

/** Refuses `unsupported_media_type` unless the body is JSON in UTF-8, not compressed. */
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
