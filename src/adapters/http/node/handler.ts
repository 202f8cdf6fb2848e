import type { IncomingMessage, ServerResponse } from 'node:http'
import { DomainFailure } from '../../../core/failures.ts'
import type { Api } from '../api.ts'
import { tooLarge } from '../requests.ts'
import { refusal } from '../responses.ts'
import { messageHandler } from './handle-message.ts'
import { faultOf, repeatedIn } from './malformed-requests.ts'
import { readBody } from './read-body.ts'

type Deps = {
  readonly api: Api
  /** What paths here begin with before the API's own, such as `/prospects`; may be empty. */
  readonly prefix: string
  readonly limits: { readonly bodyBytesMax: number; readonly unsentBytesMax: number }
  readonly newRequestId: () => string
}

/** Answers a request. One outside of the prefix goes to `next`, or gets 404 without a `next`. */
export type Handler = (req: IncomingMessage, res: ServerResponse, next?: () => void) => void

/** The API as a listener in somebody else's server. It never throws. */
export const createHandler = ({ api, prefix, limits, newRequestId }: Deps): Handler => {
  const { bodyBytesMax, unsentBytesMax } = limits
  const refuseMessage = (failure: DomainFailure) => refusal(newRequestId(), failure)
  const handleMessage = messageHandler({ api, unsentBytesMax, refuseMessage })

  return (req, res, next) => {
    const target = targetUnder(prefix, req.url ?? '')
    if (target === null && next !== undefined) {
      next()
      return
    }
    const repeatedHeaders = repeatedIn(req)
    handleMessage(req, res, {
      target: target ?? '',
      repeatedHeaders,
      fault:
        target === null ? unknownPath() : req.httpVersionMajor > 1 ? null : faultOf(req, repeatedHeaders),
      body: {
        bytesMax: bodyBytesMax,
        read: async () =>
          req.readableDidRead ? bytesReadBefore(req, bodyBytesMax) : readBody(req, bodyBytesMax),
      },
    }).catch(() => res.destroy())
  }
}

/** `/prospects/v0/page_groups?limit=5` becomes `/v0/page_groups?limit=5`; null when not under the prefix. */
const targetUnder = (prefix: string, url: string): string | null => {
  if (prefix === '') return url
  const local = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  if (!local.startsWith(prefix)) return null
  const rest = local.slice(prefix.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : null
}

const unknownPath = () => new DomainFailure('not_found', 'Unknown path.')

/**
 * The bytes of a body that a framework has read already and kept unparsed, as `rawBody` or `body`. A parsed body does not
 * give back its bytes, and a payload is stored as it was sent.
 */
const bytesReadBefore = (req: IncomingMessage, bytesMax: number): Uint8Array => {
  const { rawBody, body } = req as { rawBody?: unknown; body?: unknown }
  const bytes = [rawBody, body].find((one) => one instanceof Uint8Array)
  if (bytes === undefined)
    throw new Error('The body was already parsed: mount the prospect-pages handler before any body parser.')
  if (bytes.length > bytesMax) throw tooLarge(bytesMax)
  return bytes
}
