import type { Delivery } from '../../core/hooks/delivery.ts'
import { type FilesLeftOut, leaveOutFiles } from '../../core/hooks/files-left-out.ts'
import { isGzip } from '../../core/hooks/read-body.ts'
import type { HookReceiver, Received } from '../../core/hooks/receive-hook.ts'
import { requireActiveTenant } from '../../core/tenants/identify.ts'
import { shareLoop } from '../loop-share.ts'
import { stopwatch } from '../stopwatch.ts'
import { type Admission, type Slot, turnToRun } from './admission.ts'
import { corsOf } from './hook-cors.ts'
import { takesHtml } from './html.ts'
import type { LimitForms } from './limits/form-limit.ts'
import type { RateLimit } from './limits/rate-limit.ts'
import type { createReadBody } from './parse-request.ts'
import { announcedBytes, headerOf } from './request-headers.ts'
import {
  type ApiRequest,
  type ApiResponse,
  type Exchange,
  isOld,
  json,
  jsonLine,
  splitTarget,
} from './requests.ts'
import type { Match } from './router.ts'

type Deps = {
  readonly receiver: HookReceiver
  /** The URL at which vendors reach this API; null if that is not known. */
  readonly publicUrl: string | null
  readonly admission: Admission
  readonly rateLimit: RateLimit | null
  readonly limitForms: LimitForms
  readonly readBody: ReturnType<typeof createReadBody>
  /** Largest form with files, which are read past. */
  readonly uploadBytesMax: number
}

/**
 * Finds the hook, admits the request as its tenant's, reads the body, and hands both to the receiver. Only verified
 * requests count for the rate limit, so wrong signatures cannot use it up. For a suspended tenant every request counts.
 */
export const receiveOver = (deps: Deps) => {
  const { receiver, admission, rateLimit, limitForms } = deps
  const receiveInSlot = receiveInSlotOver(deps)
  return async (
    exchange: Exchange,
    { hook_id: hookId = '', token }: Match<never>['params'],
  ): Promise<ApiResponse> => {
    const { request, query, headers, logFields } = exchange
    const hook = await receiver.find(hookId, token)
    const { tenantId, isForBrowsers } = hook
    logFields.tenantId = tenantId
    logFields.hookId = hookId
    Object.assign(headers, corsOf(hook, request))
    const isSent = hook.isDelivery({ method: request.method, query })
    if (isSent && request.method === 'GET' && isPrefetch(request)) return TOO_EARLY
    if (isForBrowsers && isSent) limitForms(hookId, request.address)
    const limitRate = () => rateLimit?.({ tenantId, apiKeyId: hookId, scopes: [] }, headers)
    if (hook.isSuspended) limitRate()
    requireActiveTenant(hook)
    if (!isSent) {
      const asked = await receiver.receive(hook, deliveryOf(request, new Uint8Array(), deps.publicUrl))
      if ('challenge' in asked && asked.challenge !== '') logFields.outcome = outcomeOf(asked)
      return answerTo(asked, hook, request)
    }
    const findAgain = () => receiver.find(hookId, token)
    const slot = admission.arrive(tenantId)
    try {
      const received = await receiveInSlot(exchange, slot, { hook, findAgain, limitRate })
      return answerTo(received, hook, request)
    } finally {
      admission.leave(slot)
    }
  }
}

type FoundHook = Awaited<ReturnType<HookReceiver['find']>>
type HookInUse = {
  readonly hook: FoundHook
  readonly findAgain: () => Promise<FoundHook>
  readonly limitRate: () => void
}

const receiveInSlotOver =
  ({ receiver, publicUrl, admission, readBody, uploadBytesMax }: Deps) =>
  async (
    { request, logFields }: Exchange,
    slot: Slot,
    { hook, findAgain, limitRate }: HookInUse,
  ): Promise<Received> => {
    const askedMs = stopwatch()
    const bytesMax = request.body?.bytesMax ?? 0
    const files = hook.hasToken ? filesLeftOut(request, bytesMax) : null
    const sieve = files && { ...files, bytesMax: Math.max(uploadBytesMax, bytesMax) }
    const body = (await readBody(request, slot, bytesMax, undefined, sieve)) ?? new Uint8Array()
    logFields.bodyBytes = body.length
    // A compressed body may become this large.
    if (request.headers['content-encoding'] || isGzip(body)) admission.hold(slot, bytesMax)
    const turn = turnToRun(admission, slot, logFields)
    if (turn !== undefined) await turn
    // While the request waited, the hook may have been disabled.
    if (isOld(askedMs)) requireActiveTenant(await findAgain())
    let isTrapped = false
    const received = await receiver.receive(
      hook,
      { ...deliveryOf(request, body, publicUrl), fileBytes: files?.fileBytes },
      {
        onVerified: limitRate,
        onLogged: (activities) => {
          logFields.activities = activities
        },
        onTrapped: () => {
          isTrapped = true
        },
        onWarned: () => {
          logFields.warned = true
        },
        nextTurn: async (items) => {
          await admission.nextTurn(slot, items)
          if (isOld(askedMs)) requireActiveTenant(await findAgain())
          await shareLoop(hook.tenantId)
        },
      },
    )
    logFields.outcome = isTrapped ? 'trapped' : outcomeOf(received)
    return received
  }

/** Leaves the files out of a form that may be too large with them. A signed body must be read as a whole. */
const filesLeftOut = (request: ApiRequest, bytesMax: number): FilesLeftOut | null => {
  if ((announcedBytes(request) ?? bytesMax + 1) <= bytesMax) return null
  if (headerOf(request, 'content-encoding') !== undefined) return null
  return leaveOutFiles(headerOf(request, 'content-type') ?? '')
}

const answerTo = (received: Received, hook: FoundHook, request: ApiRequest): ApiResponse => {
  if ('challenge' in received) {
    const { challenge, contentType } = received
    return { status: 200, headers: { 'content-type': contentType }, body: challenge }
  }
  const { tenantId, redirectTo, answer } = hook
  if (redirectTo !== null && takesHtml(request)) return { ...seeOther(redirectTo), tenantId }
  return { ...(answer === null ? json(200, jsonLine(received)) : chosenAnswer(answer)), tenantId }
}

/** The answer that the tenant chose for this hook. Browsers must not run what is in it. */
const chosenAnswer = ({ status, contentType, body }: NonNullable<FoundHook['answer']>): ApiResponse => {
  const type = status === 204 ? {} : { 'content-type': contentType }
  return { status, headers: { ...type, 'content-security-policy': "sandbox; default-src 'none'" }, body }
}

const deliveryOf = (request: ApiRequest, body: Uint8Array, publicUrl: string | null): Delivery => {
  const { method, headers, target } = request
  const url = publicUrl && publicUrl + target
  const { query } = splitTarget(target)
  return { method, headers, body, url, query, bytesMax: request.body?.bytesMax }
}

/** Redirects the browser to a page. */
const seeOther = (location: string): ApiResponse => ({ status: 303, headers: { location }, body: '' })

/** Whether a browser only guesses that the address will be opened. */
const isPrefetch = (request: ApiRequest): boolean =>
  ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /\bpre(fetch|render|view)\b/i.test(headerOf(request, name) ?? ''),
  )
/** Browsers do not use a prefetched answer with this status, and ask again when the address is really opened. */
const TOO_EARLY: ApiResponse = { status: 425, headers: {}, body: '' }

const outcomeOf = (received: Received) => {
  if ('challenge' in received) return 'challenge'
  if (!('prospectLogIds' in received)) return 'ignored'
  return received.replayed ? 'replayed' : 'logged'
}
