import type { ApiKey } from '../../../shapes/api-key.ts'
import { requireJson } from '../parse-request.ts'
import type { RawRoute } from '../raw-route.ts'
import { headerOf } from '../request-headers.ts'
import { answerMessage, failed } from './protocol.ts'

const BODY_BYTES_MAX = 65_536

/**
 * Tools for assistants, by the Model Context Protocol. The route is a client of the API that it is part of: keys,
 * scopes, limits and turns apply to the calls that it makes. The first call looks the key up, before the body is read.
 */
export const mcpRoute = (publicUrl: string | null): RawRoute => ({
  method: 'POST',
  path: '/mcp',
  isFree: true,
  raw: async (request, _params, { api, admission, readBody, logFields }) => {
    // Not compared with the header Host: under DNS rebinding both contain the attacker's name.
    const origin = headerOf(request, 'origin')
    if (origin !== undefined && origin !== (publicUrl && new URL(publicUrl).origin))
      return failed(403, 403, 'Requests from web pages of other origins are refused.')
    const { address, basePath } = request
    const bearer = /^Bearer +(\S+)$/i.exec(headerOf(request, 'authorization') ?? '')?.[1]
    const headers = {
      'x-api-key': headerOf(request, 'x-api-key') || bearer,
      'x-request-id': logFields.requestId,
      traceparent: headerOf(request, 'traceparent'),
    }
    const call = (target: string) => api({ method: 'GET', target, basePath, address, headers })
    const self = await call('/v0/api_keys/self')
    if (self.status !== 200) return self
    const key: ApiKey = JSON.parse(String(self.body))
    const { tenantId, apiKeyId } = key
    logFields.tenantId = tenantId
    logFields.apiKeyId = apiKeyId
    // Held only while the body arrives: each call takes a separate slot.
    const slot = admission.arrive(tenantId)
    const reading = readBody(request, slot, BODY_BYTES_MAX, requireJson)
    const bytes = (await reading.finally(() => admission.leave(slot))) ?? new Uint8Array()
    logFields.bodyBytes = bytes.length
    return { ...(await answerMessage(bytes, request, key, call)), tenantId }
  },
})
