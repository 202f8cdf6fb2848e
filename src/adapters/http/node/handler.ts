import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DomainFailure } from '../../../core/engine/failures.ts'
import { targetUnder } from '../mounted.ts'
import { refusal } from '../problems.ts'
import type { Api } from '../requests.ts'
import { type MessageLimits, messageHandler } from './message.ts'

type Deps = {
  readonly api: Api
  /** The path at which the API is mounted, such as `/prospects`. Empty if it is mounted at the root. */
  readonly basePath: string
  readonly limits: MessageLimits
  readonly newRequestId: () => string
}

/** Answers a request. A request outside the base path goes to `next`, or gets 404 without a `next`. */
export type Handler = (req: IncomingMessage, res: ServerResponse, next?: () => void) => void

/** The API as a listener for any Node server. It never throws. */
export const createHandler = ({ api, basePath, limits, newRequestId }: Deps): Handler => {
  const mountOf = (req: Mounted) => basePath || (req.baseUrl ?? '')
  const refuseMessage = (failure: DomainFailure, req: Mounted) =>
    refusal(newRequestId(), failure, mountOf(req))
  const handleMessage = messageHandler({ api, limits, refuseMessage })
  return (req: Mounted, res, next) => {
    const { url = '', originalUrl = url } = req
    const target = basePath === '' ? url : targetUnder(basePath, originalUrl)
    if (target === null && next !== undefined) next()
    // No route has an empty target.
    else handleMessage(req, res, { target: target ?? '', basePath: mountOf(req) })
  }
}

/** Express and similar frameworks remove the path that they mount at from `url`, and keep it here. */
type Mounted = IncomingMessage & { readonly originalUrl?: string; readonly baseUrl?: string }
