import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server as Listener } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { DomainFailure } from '../../../core/engine/failures.ts'
import { noteConnection } from '../../loop-share.ts'
import { http } from '../../node-http.ts'
import { refusal } from '../problems.ts'
import { requestIdIn, traceIdIn } from '../request-headers.ts'
import type { Api, ApiResponse } from '../requests.ts'
import { listen } from './listen.ts'
import { answerMalformed } from './malformed-requests.ts'
import { type MessageLimits, messageHandler } from './message.ts'
import { createPipelining } from './pipelining.ts'

export type ServerLimits = MessageLimits & {
  readonly headersMsMax: number
  readonly requestMsMax: number
  readonly keepAliveMs: number
  readonly connectionsMax: number
}
type Deps = {
  readonly api: Api
  readonly limits: ServerLimits
  readonly newRequestId: () => string
  /** Receives messages that are refused before they reach the API. */
  readonly onMalformed: (requestId: string, failure: DomainFailure, traceId: string | undefined) => void
}

const CHECK_CONNECTIONS_EVERY_MS = 2_000
const IDLE_GRACE_MS = 1_000
const CUT_MS_MAX = 1_000
/** Limits only answers: slow requests have other limits. Node's timeout would set a timer for each request. */
const STALLED_MS_MAX = 120_000

export const createHttpServer = ({ api, limits, newRequestId, onMalformed }: Deps) => {
  const draining = new AbortController()
  let unanswered = 0
  let onAllAnswered = () => {}
  const pipelining = createPipelining()
  const refuseMessage = (failure: DomainFailure, req?: IncomingMessage): ApiResponse => {
    const requestId = (req && requestIdIn(req)) ?? newRequestId()
    onMalformed(requestId, failure, req && traceIdIn(req))
    return refusal(requestId, failure)
  }
  const handleMessage = messageHandler({
    api,
    limits,
    stalledMsMax: STALLED_MS_MAX,
    refuseMessage,
    draining: draining.signal,
  })

  const server = http.createServer({
    headersTimeout: limits.headersMsMax,
    requestTimeout: limits.requestMsMax,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: CHECK_CONNECTIONS_EVERY_MS,
    // A missing Host is answered with a problem document.
    requireHostHeader: false,
  })
  server.maxConnections = limits.connectionsMax
  server.on('connection', noteConnection)
  const answer = (req: IncomingMessage, res: ServerResponse, beforeRead?: () => void) => {
    const place = pipelining.take(req.socket, res)
    if (place === undefined) return
    unanswered++
    void handleMessage(req, res, { ...place, target: req.url ?? '', beforeRead }).then(() => {
      place.answered()
      if (--unanswered === 0) onAllAnswered()
    })
  }
  server.on('request', (req, res) => answer(req, res))
  server.on('checkExpectation', (req, res) => answer(req, res))
  server.on('checkContinue', (req, res) => answer(req, res, () => res.writeContinue()))
  const onMalformedMessage = (error: { readonly code?: string | undefined }, socket: Duplex) =>
    pipelining.afterComplete(socket, () => answerMalformed(error, socket, refuseMessage))
  server.on('clientError', onMalformedMessage)
  server.on('connect', (_req, socket) => onMalformedMessage({ code: 'CONNECT' }, socket))

  return {
    server,
    listen: (host: string | number, port: number) => listen(server, host, port),
    /** Accepts no connection, answers requests in flight, ends waits for events, and closes the rest after `msMax`. */
    drain: async (msMax: number): Promise<void> => {
      draining.abort()
      // At first this only stops listening: `close` of `node:http` also closes connections that look idle, though a
      // request may be on its way. In Bun the server is not a `net.Server`.
      const { close } = server instanceof Listener ? Listener.prototype : server
      const closed = new Promise((resolve) => close.call(server, resolve))
      const idle = setTimeout(() => server.close(), Math.min(IDLE_GRACE_MS, msMax))
      const all = setTimeout(() => server.closeAllConnections(), msMax)
      await closed
      // Wait until requests that were cut off are logged.
      const answered = new Promise<void>((resolve) => {
        onAllAnswered = resolve
      })
      if (unanswered > 0) await Promise.race([answered, pause(CUT_MS_MAX)])
      clearTimeout(idle)
      clearTimeout(all)
      server.close()
    },
  }
}
