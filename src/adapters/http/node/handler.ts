import type { IncomingMessage, ServerResponse } from 'node:http'
import { DomainFailure } from '../../../core/failures.ts'
import type { Api } from '../api.ts'
import { refusal } from '../problems.ts'
import { type MessageLimits, messageHandler } from './handle-message.ts'

type Deps = {
  readonly api: Api
  /** What paths here begin with before the API's own, such as `/prospects`; may be empty. */
  readonly prefix: string
  readonly limits: MessageLimits
  readonly newRequestId: () => string
}

/** Answers a request. One outside of the prefix goes to `next`, or gets 404 without a `next`. */
export type Handler = (req: IncomingMessage, res: ServerResponse, next?: () => void) => void

/** The API as a listener in somebody else's server. It never throws. */
export const createHandler = ({ api, prefix, limits, newRequestId }: Deps): Handler => {
  const refuseMessage = (failure: DomainFailure) => refusal(newRequestId(), failure)
  const handleMessage = messageHandler({ api, limits, refuseMessage })
  return (req, res, next) => {
    const target = targetUnder(prefix, req.url ?? '')
    const refused = target === null ? new DomainFailure('not_found', 'Unknown path.') : null
    if (refused !== null && next !== undefined) next()
    else handleMessage(req, res, { target: target ?? '', refused })
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
