import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server as Listener } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { type DomainFailure, unavailable } from '../../../core/engine/failures.ts'
import { http } from '../../node-http.ts'
import { refusal } from '../problems.ts'
import type { Api } from '../requests.ts'
import { type ApiResponse, requestIdIn, traceIdIn } from '../requests.ts'
import { noteConnection } from '../share-loop.ts'
import { listen } from './listen.ts'
import { answerMalformed } from './malformed-requests.ts'
import { type MessageLimits, messageHandler } from './message.ts'

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
  const onRequest = (expectsContinue: boolean) => (req: IncomingMessage, res: ServerResponse) => {
    const taken = pipelining.take(req.socket, res)
    if (taken === undefined) return
    const beforeRead = expectsContinue ? () => res.writeContinue() : undefined
    unanswered++
    void handleMessage(req, res, { ...taken, target: req.url ?? '', beforeRead }).then(() => {
      taken.answered()
      if (--unanswered === 0) onAllAnswered()
    })
  }
  server.on('request', onRequest(false))
  server.on('checkContinue', onRequest(true))
  server.on('checkExpectation', onRequest(false))
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
      // Requests that were cut off are logged before the end.
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

/** More requests than any client sends before it has read an answer. Node limits them only by the size of a packet. */
const PIPELINED_MAX = 32

const newState = () => ({
  unanswered: 0,
  isFull: false,
  /** Whether the parser has lost track of the input. */
  isLost: false,
  last: undefined as ServerResponse | undefined,
  beforeLast: undefined as ServerResponse | undefined,
})

/**
 * Tracks the unanswered requests of each connection. A connection that pipelines too many is refused the next one, and
 * closes with that answer; later requests on it are not started.
 */
export const createPipelining = () => {
  const states = new WeakMap<Duplex, ReturnType<typeof newState>>()
  const stateOf = (socket: Duplex) => {
    const state = states.get(socket) ?? newState()
    states.set(socket, state)
    return state
  }
  return {
    /** Undefined when the connection is full: the request gets no answer. */
    take: (socket: Duplex, res: ServerResponse) => {
      const state = stateOf(socket)
      if (state.isFull) return undefined
      state.beforeLast = state.last
      state.last = res
      // An idle connection must not keep its answers alive, and through them the bodies.
      res.once('close', () => {
        if (state.last === res) state.last = undefined
        if (state.beforeLast === res) state.beforeLast = undefined
      })
      state.isFull = ++state.unanswered > PIPELINED_MAX
      return {
        refused: state.isFull ? unavailable('Too many unanswered requests on this connection.') : null,
        answered: () => void state.unanswered--,
        before: state.beforeLast,
      }
    },
    /**
     * Acts once every complete request has its answer, because the input after them was malformed. Acts only the first
     * time, since the parser goes on complaining, and not when the incomplete request is already being answered: that
     * answer closes the connection.
     */
    afterComplete: (socket: Duplex, act: () => void): void => {
      const state = stateOf(socket)
      const { last, beforeLast } = state
      const isPartial = last?.req.complete === false
      if (state.isLost || (isPartial && last.headersSent)) return
      state.isLost = true
      const due = isPartial ? beforeLast : last
      if (due === undefined || due.writableFinished || due.destroyed) act()
      else due.once('close', act)
    },
  }
}
