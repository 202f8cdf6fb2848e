import type { IncomingMessage, ServerResponse } from 'node:http'
import { DomainFailure } from '../../core/failures.ts'
import type { Api } from './api.ts'
import { faultOf, repeatedIn } from './bad-messages.ts'
import { createExchange } from './exchange.ts'
import { readBody, refuseTooLarge } from './read-body.ts'
import { refusal } from './responses.ts'

type HandlerLimits = {
  readonly bodyBytesMax: number
  /** Bytes of answers that wait for their callers to take them; past it the slowest are disconnected. */
  readonly unsentBytesMax: number
}
type Deps = {
  readonly api: Api
  /** What the paths here begin with and the API's do not, such as `/prospects`; empty where nothing. */
  readonly prefix: string
  readonly limits: HandlerLimits
  readonly newRequestId: () => string
}

/** Answers a request. One that is not under the prefix is left to `next`, or is 404 where there is none. */
export type Handler = (req: IncomingMessage, res: ServerResponse, next?: () => void) => void

/** The API as a listener in somebody else's server. It never throws. */
export const createHandler = ({ api, prefix, limits, newRequestId }: Deps): Handler => {
  const refuseMessage = (failure: DomainFailure) => refusal(newRequestId(), failure)
  const exchange = createExchange({ api, unsentBytesMax: limits.unsentBytesMax, refuseMessage })

  return (req, res, next) => {
    const target = targetUnder(prefix, req.url ?? '')
    if (target === null && next !== undefined) {
      next()
      return
    }
    const repeatedHeaders = repeatedIn(req)
    exchange(req, res, {
      target: target ?? '',
      repeatedHeaders,
      fault: target === null ? notHere() : req.httpVersionMajor > 1 ? null : faultOf(req, repeatedHeaders),
      readBody: (hold) => {
        refuseTooLarge(Number(req.headers['content-length'] ?? 0), limits.bodyBytesMax)
        if (!req.readableDidRead) return readBody(req, limits.bodyBytesMax, hold)
        const bytes = bytesReadBefore(req)
        refuseTooLarge(bytes.length, limits.bodyBytesMax)
        hold(bytes.length)
        return Promise.resolve(bytes)
      },
    }).catch(() => res.destroy())
  }
}

/** `/prospects/v0/page_groups?limit=5` under `/prospects` is `/v0/page_groups?limit=5`; null where it is not under it. */
const targetUnder = (prefix: string, url: string): string | null => {
  if (prefix === '') return url
  const local = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  if (!local.startsWith(prefix)) return null
  const rest = local.slice(prefix.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : null
}

const notHere = () => new DomainFailure('not_found', 'No operation has this path.')

/**
 * The bytes of a body that a framework has read already, where it kept them: as `rawBody`, or as a `body` that it did
 * not parse. From a parsed one they cannot be had again, and a payload is stored as it was sent.
 */
const bytesReadBefore = (req: IncomingMessage): Uint8Array => {
  const { rawBody, body } = req as { rawBody?: unknown; body?: unknown }
  if (rawBody instanceof Uint8Array) return rawBody
  if (body instanceof Uint8Array) return body
  throw new Error('Something parsed the body first: mount the handler of prospect-pages before body parsers.')
}
