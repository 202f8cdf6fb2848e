import type { ReadyHook } from '../../core/hooks/ready-hook.ts'
import type { HookReceiver } from '../../core/hooks/receive-hook.ts'
import { isReceiving } from './hook-routes.ts'
import { headerOf } from './request-headers.ts'
import type { ApiRequest, Headers } from './requests.ts'
import type { Match } from './router.ts'

/** CORS headers that let a page of another origin read the answer. */
export const corsOf = ({ origins }: Pick<ReadyHook, 'origins'>, request: ApiRequest): Headers => {
  if (origins.length === 0) return {}
  const origin = headerOf(request, 'origin') ?? ''
  if (origins.includes('*')) return { 'access-control-allow-origin': '*' }
  if (!origins.includes(origin)) return { vary: 'origin' }
  // Cookies are ignored here, but `sendBeacon` and some scripts always send what they have.
  return { vary: 'origin', 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' }
}

/** CORS headers that let a page send JSON. A hook that is not found allows nothing, like one without origins. */
export const preflightOver =
  (receiver: HookReceiver) =>
  async (request: ApiRequest, matched: Match<object>): Promise<Headers> => {
    if (!isReceiving(matched)) return {}
    const { hook_id: hookId = '', token } = matched.params
    const allowed = corsOf(await receiver.find(hookId, token).catch(() => ({ origins: [] })), request)
    if (!('access-control-allow-origin' in allowed)) return allowed
    const isListed = 'access-control-allow-credentials' in allowed
    return { ...allowed, ...PREFLIGHT, ...(isListed && askedHeaders(request)) }
  }

/** Scripts of the tenant's own pages may send what headers they like, such as `traceparent`. */
const askedHeaders = (request: ApiRequest): Headers => {
  const asked = headerOf(request, 'access-control-request-headers') ?? ''
  const vary = 'origin, access-control-request-headers'
  return HEADER_NAMES.test(asked) ? { vary, 'access-control-allow-headers': asked } : { vary }
}
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]{1,100}(?:, ?[\w!#$%&'*+.^`|~-]{1,100}){0,49}$/
const PREFLIGHT: Headers = {
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': 'content-type',
  'access-control-max-age': '7200',
}
