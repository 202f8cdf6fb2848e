import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Server as Listener } from 'node:net'
import type { Duplex } from 'node:stream'
import type { DomainFailure } from '../../core/failures.ts'
import type { Api } from './api.ts'
import { answerBadMessage, faultOf, repeatedIn } from './bad-messages.ts'
import { createExchange } from './exchange.ts'
import { createLines } from './lines.ts'
import { readBody, refuseTooLarge } from './read-body.ts'
import type { ApiResponse } from './requests.ts'
import { refusal } from './responses.ts'
import { requestIdIn, traced, traceparentIn } from './trace.ts'

export type ServerLimits = {
  readonly bodyBytesMax: number
  readonly headersMsMax: number
  readonly requestMsMax: number
  readonly keepAliveMs: number
  readonly connectionsMax: number
  /** Bytes of answers that wait for their callers to take them. */
  readonly unsentBytesMax: number
}
type Deps = {
  readonly api: Api
  readonly limits: ServerLimits
  readonly newRequestId: () => string
  /** Told of messages that are answered without reaching the API. */
  readonly onBadMessage: (
    requestId: string,
    failure: DomainFailure,
    trace: { readonly traceId?: string },
  ) => void
}

/** Connections that may come at the same moment; of more the system drops some, and they try again after seconds. */
const BACKLOG = 4_096
const CHECK_CONNECTIONS_EVERY_MS = 2_000
const IDLE_GRACE_MS = 1_000
/**
 * An answer of which nothing is taken for so long is given up. Node's own timeout would set a timer for each request;
 * what is slow to come has limits without it.
 */
const STILL_MS_MAX = 120_000

/** The API on a socket of its own. */
export const createHttpServer = ({ api, limits, newRequestId, onBadMessage }: Deps) => {
  let draining = false
  const lines = createLines()
  const refuseMessage = (failure: DomainFailure, req?: IncomingMessage): ApiResponse => {
    const requestId = (req && requestIdIn(req)) ?? newRequestId()
    onBadMessage(requestId, failure, traced(req && traceparentIn(req)))
    return refusal(requestId, failure)
  }

  const exchange = createExchange({
    api,
    ...limits,
    stillMsMax: STILL_MS_MAX,
    refuseMessage,
    isLast: () => draining,
  })

  const handle = (
    req: IncomingMessage,
    res: ServerResponse,
    { expectsContinue, overflow }: { expectsContinue: boolean; overflow: DomainFailure | null },
  ): Promise<void> => {
    const repeatedHeaders = repeatedIn(req)
    return exchange(req, res, {
      target: req.url ?? '',
      repeatedHeaders,
      fault: overflow ?? faultOf(req, repeatedHeaders),
      readBody: (hold) => {
        refuseTooLarge(Number(req.headers['content-length'] ?? 0), limits.bodyBytesMax)
        if (expectsContinue) res.writeContinue()
        return readBody(req, limits.bodyBytesMax, hold)
      },
    })
  }

  const server = createServer({
    headersTimeout: limits.headersMsMax,
    requestTimeout: limits.requestMsMax,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: CHECK_CONNECTIONS_EVERY_MS,
    // A missing Host is answered as a problem here.
    requireHostHeader: false,
  })
  server.maxConnections = limits.connectionsMax
  const take = (expectsContinue: boolean) => async (req: IncomingMessage, res: ServerResponse) => {
    const line = lines.take(req.socket, res)
    if (line === 'full') return
    try {
      await handle(req, res, { expectsContinue, overflow: line.overflow })
    } catch {
      res.destroy()
    } finally {
      line.answered()
    }
  }
  server.on('request', take(false))
  server.on('checkContinue', take(true))
  server.on('checkExpectation', take(false))
  const refuseBad = (error: { readonly code?: string | undefined }, socket: Duplex) =>
    lines.afterWhole(socket, () => answerBadMessage(error, socket, refuseMessage))
  server.on('clientError', refuseBad)
  server.on('connect', (_req, socket) => refuseBad({ code: 'CONNECT' }, socket))

  return {
    server,
    /**
     * Resolves with the port: the one asked for, or a free one for 0. Where it is shared, other processes may listen on
     * it at the same time, and the system spreads the connections.
     */
    listen: (host: string, port: number, isShared = false): Promise<number> =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host, port, backlog: BACKLOG, ...(isShared && SHARED) }, () => {
          server.off('error', reject)
          resolve(portOf(server))
        })
      }),
    /** Accepts no new connection, answers what is under way, and ends what is left after `msMax`. */
    drain: async (msMax: number): Promise<void> => {
      draining = true
      // The `close` of `node:http` also ends connections that look idle, with a request on its way perhaps: at first
      // only the listening ends.
      const closed = new Promise((resolve) => Listener.prototype.close.call(server, resolve))
      const idle = setTimeout(() => server.close(), Math.min(IDLE_GRACE_MS, msMax))
      const all = setTimeout(() => server.closeAllConnections(), msMax)
      await closed
      clearTimeout(idle)
      clearTimeout(all)
      server.close()
    },
  }
}

/**
 * Each process accepts for itself. Where the system cannot do that, the handle of `node:cluster` is shared; not its
 * round robin, in which a connection on its way to a process that dies hangs for ever.
 */
const SHARED = process.platform === 'linux' ? { reusePort: true, exclusive: true } : {}

const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
