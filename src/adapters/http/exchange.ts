import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DomainFailure } from '../../core/failures.ts'
import type { Api } from './api.ts'
import { discard } from './read-body.ts'
import type { ApiRequest, ApiResponse } from './requests.ts'
import { boundUnsent } from './unsent.ts'

type Deps = {
  readonly api: Api
  /** Bytes of answers that wait for their callers to take them. */
  readonly unsentBytesMax: number
  /** How long one that nobody takes is kept; left to whose server it is where that is not ours. */
  readonly stillMsMax?: number
  readonly refuseMessage: (failure: DomainFailure, req: IncomingMessage) => ApiResponse
  /** Whether answers from now on end their connections. */
  readonly isLast?: () => boolean
}
type Received = Required<Pick<ApiRequest, 'target' | 'repeatedHeaders' | 'readBody'>> & {
  /** Why the message is refused without asking the API. */
  readonly fault: DomainFailure | null
}

/** A message of `node:http` to the API, and the answer back: what the server and the handler have in common. */
export const createExchange = ({ api, unsentBytesMax, stillMsMax, refuseMessage, isLast }: Deps) => {
  const bound = boundUnsent(unsentBytesMax, stillMsMax)
  return async (
    req: IncomingMessage,
    res: ServerResponse,
    { fault, ...received }: Received,
  ): Promise<void> => {
    const { status, headers, body } = fault
      ? refuseMessage(fault, req)
      : await api({
          ...received,
          method: req.method ?? '',
          headers: req.headers,
          address: req.socket.remoteAddress,
        })
    // The rest of a small body may have come in the same packet, which is read to its end once this turn is over. By
    // HTTP/2 a request is answered without minding what is left of it.
    const isUnread = () => !req.complete && req.httpVersionMajor < 2
    if (isUnread()) await nextTurn()
    const unread = isUnread()
    if (isLast?.() || fault || unread) res.setHeader('connection', 'close')
    res.writeHead(status, headers)
    if (unread) {
      res.write(body)
      await discard(req)
      res.end()
      // Text of as many bytes as characters is ASCII, which Node writes faster under another name.
    } else res.end(body, headers['content-length'] === String(body.length) ? 'latin1' : 'utf8')
    bound(res)
  }
}
