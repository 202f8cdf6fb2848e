import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DomainFailure } from '../../../core/failures.ts'
import type { Api } from '../api.ts'
import type { ApiRequest, ApiResponse } from '../requests.ts'
import { discard } from './read-body.ts'
import { limitPendingWrites } from './slow-readers.ts'

type Deps = {
  readonly api: Api
  /** Bytes of answers that callers have not read. */
  readonly unsentBytesMax: number
  /** After this long without progress a connection is closed. Undefined in somebody else's server. */
  readonly stalledMsMax?: number
  readonly refuseMessage: (failure: DomainFailure, req: IncomingMessage) => ApiResponse
  /** Whether answers from now on close their connections. */
  readonly isDraining?: () => boolean
}
type Received = Required<Pick<ApiRequest, 'target' | 'repeatedHeaders' | 'body'>> & {
  /** Why the message is refused without asking the API. */
  readonly fault: DomainFailure | null
}

/** Passes a message of `node:http` to the API and writes its answer: what the server and the handler share. */
export const messageHandler = ({ api, unsentBytesMax, stalledMsMax, refuseMessage, isDraining }: Deps) => {
  const limitPending = limitPendingWrites(unsentBytesMax, stalledMsMax)
  return async (
    req: IncomingMessage,
    res: ServerResponse,
    { fault, ...received }: Received,
  ): Promise<void> => {
    const { status, headers, body, tenantId } = fault
      ? refuseMessage(fault, req)
      : await api({
          ...received,
          method: req.method ?? '',
          headers: req.headers,
          address: req.socket.remoteAddress,
        })
    // The rest of a small body may be in the same packet, which is parsed to its end in this turn of the loop. HTTP/2
    // answers without regard to an unread body.
    const isUnread = () => !req.complete && req.httpVersionMajor < 2
    if (isUnread()) await nextTurn()
    const unread = isUnread()
    if (isDraining?.() || fault || unread) res.setHeader('connection', 'close')
    res.writeHead(status, headers)
    if (unread) {
      res.write(body)
      await discard(req)
      res.end()
      // Text with as many bytes as characters is ASCII, which Node writes faster as Latin-1.
    } else res.end(body, headers['content-length'] === String(body.length) ? 'latin1' : 'utf8')
    limitPending(res, tenantId)
  }
}
