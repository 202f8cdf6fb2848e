import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { type DomainFailure, unavailable } from '../../../core/engine/failures.ts'
import { shareLoop } from '../../loop-share.ts'
import { malformed } from '../malformed.ts'
import { type Api, type ApiResponse, type BodyInParts, isWhole } from '../requests.ts'
import { bodyOf } from './body.ts'
import { limitPendingWrites } from './slow-readers.ts'
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
  const limitPending = limitPendingWrites(limits.unsentBytesMax, stalledMsMax)
  const endedEarly = () =>
    draining?.aborted ? unavailable('The service is stopping.') : malformed('The request ended early.')

  const requestOf = (req: IncomingMessage, res: ServerResponse, received: Received, isHttp1: boolean) => ({
    target: received.target,
    basePath: received.basePath,
    repeatedHeaders: repeatedIn(req),
    body: mayHaveBody(req, isHttp1) ? bodyOf(req, limits, endedEarly, received.beforeRead) : undefined,
    method: req.method ?? '',
    headers: req.headers,
    address: req.socket.remoteAddress,
    untilEnd: () => endOf(res, draining),
  })

  const handle = async (req: IncomingMessage, res: ServerResponse, received: Received): Promise<void> => {
    // `httpVersion` does not show the protocol: an HTTP/1 message may claim any version.
    const isHttp1 = !('stream' in req)
    const request = requestOf(req, res, received, isHttp1)
    const fault = received.refused ?? (isHttp1 ? faultOf(req, request.repeatedHeaders) : null)
    const answer = fault ? refuseMessage(fault, req) : await api(request)

    // The rest of a small body may be in the same packet, which is parsed to its end in this tick of the loop.
    if (isHttp1 && !req.complete) await setImmediate()
    const unread = req.complete ? undefined : request.body
    // An answer that takes long may end while the server drains.
    const closes = draining?.aborted || fault || unread || !isWhole(answer.body)
    if (isHttp1 && closes) res.setHeader('connection', 'close')
    res.writeHead(answer.status, answer.headers)

    const onWritten = () => limitPending(res, answer.tenantId)
    const inParts = inPartsOf(answer)
    if (inParts !== null) await writeParts(inParts, res, onWritten, received.before)
    const rest = inParts === null && isWhole(answer.body) ? answer.body : ''

    if (isHttp1 && unread !== undefined) {
      if (rest.length === 0) res.flushHeaders()
      else res.write(rest)
      onWritten()
      await unread.discard()
      res.end()
    } else {
      res.end(rest, encodingOf(answer, rest))
      onWritten()
      // HTTP/2 resets a stream that was never read, and reads the rest of the others.
      if (req.readableFlowing !== null) void unread?.discard()
    }
  }
  return (req: IncomingMessage, res: ServerResponse, received: Received): Promise<void> =>
    handle(req, res, received).catch(() => void res.destroy())
}

/** HTTP/2 shows only at the end that there is no body. */
const mayHaveBody = ({ headers }: IncomingMessage, isHttp1: boolean): boolean =>
  !isHttp1 || headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

/** Text with as many bytes as characters is ASCII, which Node writes faster as Latin-1. */
const encodingOf = ({ headers }: ApiResponse, body: string | Uint8Array): 'latin1' | 'utf8' =>
  headers['content-length'] === String(body.length) ? 'latin1' : 'utf8'

/** Longer answers are written in parts of this size. */
const PART_BYTES_MAX = 262_144
/** The body of an answer that is written in parts, else null. */
const inPartsOf = ({ body, tenantId }: ApiResponse): BodyInParts<string> | BodyInParts<Uint8Array> | null => {
  if (!isWhole(body)) return body
  if (typeof body === 'string' || body.length <= PART_BYTES_MAX) return null
  // Cutting off a part takes no time, so none is ever in progress.
  return { parts: splitInTurns(body, tenantId), cancel: async () => {} }
}

/**
 * Each part is written in its tenant's turn of the loop: copying megabytes into the sockets of a hundred callers in one
 * tick would make every other tenant wait.
 */
async function* splitInTurns(body: Uint8Array, tenantId = ''): AsyncGenerator<Uint8Array> {
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
