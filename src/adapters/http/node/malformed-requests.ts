import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { DomainFailure } from '../../../core/engine/failures.ts'
import { http } from '../../node-http.ts'
import { malformed } from '../malformed.ts'
import type { ApiResponse } from '../requests.ts'

const GRACE_MS = 1_000

/** A message that is not HTTP, or is too slow, never becomes a request: its answer goes straight to the socket. */
export const answerMalformed = (
  { code = '' }: { readonly code?: string | undefined },
  socket: Duplex,
  refuseMessage: (failure: DomainFailure) => ApiResponse,
): void => {
  // An answer before any byte would be taken for that of a request on its way: browsers open connections early.
  const isUnused = (socket as Partial<Socket>).bytesRead === 0
  if (code === 'ECONNRESET' || isUnused || !socket.writable) return void socket.destroy()
  const failure = MALFORMED[code] ?? malformed('The message is not well-formed HTTP.')
  const { status, headers, body } = refuseMessage(failure)
  const sent = Object.entries({ ...headers, connection: 'close' })
  const lines = sent.map(([name, value]) => `${name}: ${value}\r\n`)
  // With unread input the system would reset the connection before the sender has read its answer.
  socket.on('error', () => {}).on('data', () => {})
  setTimeout(() => socket.destroy(), GRACE_MS).unref()
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}

const MALFORMED: Readonly<Record<string, DomainFailure>> = {
  CONNECT: malformed('CONNECT is not supported.'),
  HPE_HEADER_OVERFLOW: new DomainFailure('headers_too_large', 'The header section is too large.'),
  ERR_HTTP_REQUEST_TIMEOUT: malformed('The request took too long to arrive.'),
}
