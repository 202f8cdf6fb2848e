import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { type DomainFailure, unavailable } from '../../../core/engine/failures.ts'
import { malformed } from '../malformed.ts'
import type { Api } from '../requests.ts'
import { type ApiResponse, isWhole } from '../requests.ts'
import { shareLoop } from '../share-loop.ts'
import { bodyOf } from './body.ts'
import { writeParts } from './write-parts.ts'

export type MessageLimits = {
  /** Largest request body. */
  readonly bodyBytesMax: number
  /** Largest body of a batch; `bodyBytesMax` limits each of its items. */
  readonly batchBytesMax: number
  /** Maximum bytes of answers that callers have not read; past it the slowest connections are closed. */
  readonly unsentBytesMax: number
}
type Deps = {
  readonly api: Api
  readonly limits: MessageLimits
  /** A connection without progress for this long is closed. Undefined in a server of the embedder. */
  readonly stalledMsMax?: number
  readonly refuseMessage: (failure: DomainFailure, req: IncomingMessage) => ApiResponse
  /** Once it aborts, answers close their connections, and requests wait no longer. */
  readonly draining?: AbortSignal
}
type Received = {
  readonly target: string
  readonly basePath?: string
  /** A reason to refuse the message without asking the API, besides invalid HTTP. */
  readonly refused?: DomainFailure | null
  readonly beforeRead?: (() => void) | undefined
  readonly before?: ServerResponse | undefined
}

/** Passes a message of `node:http` to the API and writes its answer, for the server and the handler. Never rejects. */
export const messageHandler = ({ api, limits, stalledMsMax, refuseMessage, draining }: Deps) => {
  const endedEarly = () =>
    draining?.aborted ? unavailable('The service is stopping.') : malformed('The request ended early.')
  const limitPending = limitPendingWrites(limits.unsentBytesMax, stalledMsMax)
  const handle = async (req: IncomingMessage, res: ServerResponse, received: Received): Promise<void> => {
    const { target, basePath, refused, beforeRead, before } = received
    // Its version does not show that: a message of HTTP/1 may claim any.
    const isHttp1 = !('stream' in req)
    const repeatedHeaders = repeatedIn(req)
    const fault = refused ?? (isHttp1 ? faultOf(req, repeatedHeaders) : null)
    const { 'content-length': length, 'transfer-encoding': coding } = req.headers
    // HTTP/2 shows only at the end that there is no body.
    const hasNone = isHttp1 && length === undefined && coding === undefined
    const requestBody = hasNone ? undefined : bodyOf(req, limits, endedEarly, beforeRead)
    const answer = fault
      ? refuseMessage(fault, req)
      : await api({
          target,
          basePath,
          repeatedHeaders,
          body: requestBody,
          method: req.method ?? '',
          headers: req.headers,
          address: req.socket.remoteAddress,
          untilEnd: () => endOf(res, draining),
        })
    const { status, headers, tenantId } = answer
    // The rest of a small body may be in the same packet, which is parsed to its end in this turn of the loop.
    if (isHttp1 && !req.complete) await setImmediate()
    const unread = req.complete ? undefined : requestBody
    // An answer that takes long may end while the server drains.
    const closes = isHttp1 && (draining?.aborted || fault || unread || !isWhole(answer.body))
    if (closes) res.setHeader('connection', 'close')
    res.writeHead(status, headers)
    const limit = () => limitPending(res, tenantId)
    const parts = isLarge(answer.body) ? partsOf(answer.body, tenantId) : answer.body
    const body = isWhole(parts) ? parts : await writeParts(parts, res, limit, before)
    const endsLater = isHttp1 && unread !== undefined
    // Text with as many bytes as characters is ASCII, which Node writes faster as Latin-1.
    if (!endsLater) res.end(body, headers['content-length'] === String(body.length) ? 'latin1' : 'utf8')
    else if (body.length === 0) res.flushHeaders()
    else res.write(body)
    limit()
    // HTTP/2 resets a stream that was never read, and reads the rest of the others.
    if (!isHttp1 && req.readableFlowing !== null) unread?.discard()
    if (!endsLater) return
    await unread.discard()
    res.end()
  }
  return (req: IncomingMessage, res: ServerResponse, received: Received): Promise<void> =>
    handle(req, res, received).catch(() => void res.destroy())
}

/** Longer answers are written in parts of this size. */
const PART_BYTES_MAX = 262_144
const isLarge = (body: ApiResponse['body']): body is Uint8Array =>
  body instanceof Uint8Array && body.length > PART_BYTES_MAX

/**
 * Each part is written in its tenant's turn of the loop: copying megabytes into the sockets of a hundred callers in one
 * turn would make every other tenant wait.
 */
async function* partsOf(body: Uint8Array, tenantId = ''): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < body.length; from += PART_BYTES_MAX) {
    await shareLoop(tenantId, true)
    yield body.subarray(from, from + PART_BYTES_MAX)
  }
}

/** Aborts when the server drains, or when the connection or the answer ends. */
const endOf = (res: ServerResponse, draining?: AbortSignal): AbortSignal => {
  const ended = new AbortController()
  const end = () => ended.abort()
  draining?.addEventListener('abort', end, { signal: ended.signal })
  res.once('close', end)
  if (draining?.aborted || res.closed) end()
  return ended.signal
}

/** Headers that are ambiguous when repeated: Node joins them or silently drops one. */
const ONCE = ['host', 'content-type', 'content-length', 'content-encoding', 'Idempotency-Key']
const repeatedIn = ({ headers, rawHeaders }: IncomingMessage): readonly string[] => {
  if (Object.keys(headers).length * 2 === rawHeaders.length) return []
  const names = rawHeaders.filter((_, i) => i % 2 === 0)
  const sent = Map.groupBy(names, (name) => name.toLowerCase())
  return ONCE.filter((name) => (sent.get(name.toLowerCase())?.length ?? 0) > 1)
}

/** Messages that HTTP forbids and Node accepts. */
const faultOf = ({ httpVersion, headers }: IncomingMessage, repeated: readonly string[]) => {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return malformed('The request line has no HTTP version.')
  if (repeated.includes('host') || repeated.includes('content-length'))
    return malformed('Host and Content-Length must not be repeated.')
  // A proxy that knows only HTTP/1.0 would see a different end of the body.
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined)
    return malformed('HTTP/1.0 has no Transfer-Encoding.')
  if (httpVersion === '1.1' && headers.host === undefined) return malformed('The Host header is missing.')
  return null
}

type Tenant = { readonly id: string; bytes: number; readonly pending: Map<ServerResponse, number> }

/**
 * Limits the bytes of answers that their callers do not read. Past `bytesMax` in all, the tenant that has most of them
 * loses its oldest connections until the rest fits. A connection on which nothing moves for `stalledMsMax` is closed.
 */
export const limitPendingWrites = (bytesMax: number, stalledMsMax?: number) => {
  const tenants = new Map<string, Tenant>()
  let total = 0

  const forget = (tenant: Tenant, res: ServerResponse) => {
    const bytes = tenant.pending.get(res) ?? 0
    if (!tenant.pending.delete(res)) return
    total -= bytes
    tenant.bytes -= bytes
    if (tenant.pending.size === 0) tenants.delete(tenant.id)
  }
  const dropOldestOfLargest = () => {
    const [largest] = [...tenants.values()].sort((a, b) => b.bytes - a.bytes)
    const [oldest] = [...(largest?.pending ?? [])].find(([, bytes]) => bytes > 0) ?? []
    if (largest === undefined || oldest === undefined) return
    forget(largest, oldest)
    oldest.destroy()
    // An answer that waits behind another one is only freed with its connection.
    if (oldest.socket === null) oldest.req.socket.destroy()
  }

  /** Call it after each write, and once the reader has taken everything. */
  return (res: ServerResponse, tenantId = ''): void => {
    const tenant = tenants.get(tenantId) ?? { id: tenantId, bytes: 0, pending: new Map() }
    const counted = tenant.pending.get(res)
    const bytes = res.writableLength
    if ((bytes === 0 && counted === undefined) || res.destroyed) return
    tenants.set(tenantId, tenant)
    // A reader that continues becomes the newest.
    tenant.pending.delete(res)
    tenant.pending.set(res, bytes)
    tenant.bytes += bytes - (counted ?? 0)
    total += bytes - (counted ?? 0)
    // Emitted once the system has taken the last byte, and when the connection ends.
    if (counted === undefined) res.once('close', () => forget(tenant, res))
    if (counted === undefined && stalledMsMax !== undefined) res.setTimeout(stalledMsMax, () => res.destroy())
    while (total > bytesMax) dropOldestOfLargest()
  }
}
