import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { DomainFailure } from '../../core/failures.ts'
import type { ApiResponse } from './requests.ts'

/** Headers that mean nothing certain when they come twice. Node joins them or drops one without a word. */
const ONCE = new Set(['host', 'content-type', 'content-length', 'content-encoding', 'idempotency-key'])
const GRACE_MS = 1_000

/** What HTTP itself forbids and Node lets pass. */
export const faultOf = (
  { httpVersion, headers }: IncomingMessage,
  repeated: readonly string[],
): DomainFailure | null => {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return badMessage('The request line has no HTTP version.')
  if (repeated.includes('host') || repeated.includes('content-length'))
    return badMessage('Host and Content-Length may be given once.')
  if (httpVersion === '1.1' && headers.host === undefined) return badMessage('The header Host is missing.')
  return null
}

const badMessage = (detail: string) => new DomainFailure('invalid_request', detail)

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

/** A message that is not HTTP, or came too slowly, has no request to answer: the words go straight to the socket. */
export const answerBadMessage = (
  { code = '' }: { readonly code?: string | undefined },
  socket: Duplex,
  refuseMessage: (failure: DomainFailure) => ApiResponse,
): void => {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const detail = BAD_MESSAGES[code] ?? 'The message is not well-formed HTTP.'
  const { status, headers, body } = refuseMessage(badMessage(detail))
  const lines = Object.entries({ ...headers, connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  // A sender whose bytes nobody takes would be cut off before it has read its answer.
  socket.on('error', () => {}).on('data', () => {})
  // Whoever does not close its end is not waited for.
  setTimeout(() => socket.destroy(), GRACE_MS).unref()
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}

const BAD_MESSAGES: Readonly<Record<string, string>> = {
  CONNECT: 'No connection is passed on here.',
  HPE_HEADER_OVERFLOW: 'The headers are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request came too slowly.',
}
