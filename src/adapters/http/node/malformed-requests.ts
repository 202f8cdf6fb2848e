import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { DomainFailure } from '../../../core/failures.ts'
import type { ApiResponse } from '../requests.ts'

/** Headers that are ambiguous when repeated. Node joins them or silently drops one. */
const ONCE = new Set(['host', 'content-type', 'content-length', 'content-encoding', 'idempotency-key'])
const GRACE_MS = 1_000

/** What HTTP forbids and Node accepts. */
export const faultOf = (
  { httpVersion, headers }: IncomingMessage,
  repeated: readonly string[],
): DomainFailure | null => {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return malformed('The request line has no HTTP version.')
  if (repeated.includes('host') || repeated.includes('content-length'))
    return malformed('Host and Content-Length must not be repeated.')
  if (httpVersion === '1.1' && headers.host === undefined) return malformed('The Host header is missing.')
  return null
}

const malformed = (detail: string) => new DomainFailure('invalid_request', detail)

export const repeatedIn = ({ headers, rawHeaders }: IncomingMessage): readonly string[] => {
  if (Object.keys(headers).length * 2 === rawHeaders.length) return []
  const seen = new Set<string>()
  return rawHeaders.flatMap((header, i) => {
    const name = header.toLowerCase()
    if (i % 2 === 1 || !ONCE.has(name)) return []
    if (seen.has(name)) return [name]
    seen.add(name)
    return []
  })
}

/** A message that is not HTTP, or is too slow, never becomes a request: its answer goes straight to the socket. */
export const answerMalformed = (
  { code = '' }: { readonly code?: string | undefined },
  socket: Duplex,
  refuseMessage: (failure: DomainFailure) => ApiResponse,
): void => {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const failure = MALFORMED[code] ?? malformed('The message is not well-formed HTTP.')
  const { status, headers, body } = refuseMessage(failure)
  const lines = Object.entries({ ...headers, connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  // With unread input the system would reset the connection before the sender has read its answer.
  socket.on('error', () => {}).on('data', () => {})
  setTimeout(() => socket.destroy(), GRACE_MS).unref()
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}

const MALFORMED: Readonly<Record<string, DomainFailure>> = {
  CONNECT: malformed('CONNECT is not supported.'),
  HPE_HEADER_OVERFLOW: new DomainFailure('headers_too_large', 'The header section is too large.'),
  ERR_HTTP_REQUEST_TIMEOUT: malformed('The request took too long to arrive.'),
}
