import { stopwatch } from '../../core/engine/remember-rows.ts'
import { shareLoop } from '../../core/engine/share-loop.ts'
import type { HookReceiver, Received } from '../../core/hooks/receive-hook.ts'
import { requireActiveTenant } from '../../core/tenants/identify.ts'
import type { Admission, Place } from './admission.ts'
import type { RateLimit } from './limits/rate-limit.ts'
import {
  type Answered,
  type ApiRequest,
  type ApiResponse,
  type Headers,
  isOld,
  json,
  jsonLine,
} from './requests.ts'
import type { Rows } from './route.ts'
import type { Match } from './router.ts'

const HOOK = '/v0/hooks/{hook_id}'

/** Routes that manage hooks. */
export const HOOK_ROWS = {
  createHook: {
    method: 'POST',
    path: '/v0/hooks',
    summary: 'Create a hook: an address that a vendor posts to',
    status: 201,
    problems: ['limit_reached'],
  },
  listHooks: { method: 'GET', path: '/v0/hooks', summary: 'List hooks, newest first' },
  getHook: { method: 'GET', path: HOOK, summary: 'Read a hook' },
  updateHook: { method: 'PATCH', path: HOOK, summary: 'Change, disable or rotate a hook' },
  deleteHook: { method: 'DELETE', path: HOOK, summary: 'Delete a hook' },
  tryHook: { method: 'POST', path: `${HOOK}/try`, summary: 'See what would become of a delivery' },
} satisfies Partial<Rows>

/** A route that vendors post to. It has no API key: the hook names the tenant. */
export type ReceivingRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly receives: true
}
export const RECEIVING_ROUTES: readonly ReceivingRoute[] = (
  ['/hooks/{hook_id}', '/hooks/{hook_id}/{token}'] as const
).flatMap((path) => (['POST', 'GET'] as const).map((method) => ({ method, path, receives: true })))

type Deps = {
  readonly receiver: HookReceiver
  /** The URL at which vendors reach this API; null if that is not known. */
  readonly publicUrl: string | null
  readonly admission: Admission
  readonly rateLimit: RateLimit
  readonly readBody: (request: ApiRequest, place: Place) => Promise<Uint8Array | undefined>
}

/**
 * Finds the hook, admits the request as its tenant's, reads the body, and hands both to the receiver. Only verified
 * requests count for the rate limit, so wrong signatures cannot use it up. For a suspended tenant every request counts.
 */
export const receiveOver =
  ({ receiver, publicUrl, admission, rateLimit, readBody }: Deps) =>
  async (
    request: ApiRequest,
    { hook_id: hookId = '', token }: Match<never>['params'],
    query: string,
    headers: Headers,
    known: Partial<Answered>,
  ): Promise<ApiResponse> => {
    const hook = await receiver.find(hookId, token)
    const { tenantId } = hook
    Object.assign(known, { tenantId, hookId })
    const limitRate = () => rateLimit({ tenantId, apiKeyId: hookId, scopes: [] }, headers)
    if (hook.isSuspended) limitRate()
    requireActiveTenant(hook)
    if (request.method !== 'POST') return plain(hook.answerToGet(new URLSearchParams(query)))
    const place = admission.arrive(tenantId)
    try {
      const askedMs = stopwatch()
      const body = (await readBody(request, place)) ?? new Uint8Array()
      Object.assign(known, { bodyBytes: body.length })
      const turn = admission.turn(place)
      if (turn !== undefined) await turn
      const before = shareLoop(tenantId)
      if (before !== undefined) await before
      if (isOld(askedMs)) requireActiveTenant(await receiver.find(hookId, token))
      const url = publicUrl && publicUrl + request.target
      const delivery = { method: request.method, headers: request.headers, body, url }
      const received = await receiver.receive(hook, delivery, {
        onVerified: limitRate,
        onLogged: (activities) => Object.assign(known, { activities }),
        nextTurn: async (items) => {
          await admission.nextTurn(place, items)
          if (isOld(askedMs)) requireActiveTenant(await receiver.find(hookId, token))
          await shareLoop(tenantId)
        },
      })
      Object.assign(known, { outcome: outcomeOf(received) })
      if ('challenge' in received) return plain(received.challenge)
      return { ...json(200, jsonLine(received)), tenantId }
    } finally {
      admission.leave(place)
    }
  }

const plain = (body: string): ApiResponse => ({
  status: 200,
  headers: { 'content-type': 'text/plain' },
  body,
})

const outcomeOf = (received: Received) => {
  if ('challenge' in received) return 'challenge'
  if (!('prospectLogIds' in received)) return 'ignored'
  return received.replayed ? 'replayed' : 'logged'
}
