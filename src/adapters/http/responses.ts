import type { DomainFailure } from '../../core/failures.ts'
import { problem } from './problems.ts'
import type { ApiResponse } from './requests.ts'

export type Headers = Record<string, string>
/** An answer without the headers that every answer has. */
export type Draft = ApiResponse

/** The answer to a message that does not reach the API. */
export const refusal = (requestId: string, failure: DomainFailure): ApiResponse =>
  responseOf(problem(failure.kind, requestId, failure), { 'x-request-id': requestId, ...ALWAYS })

export const responseOf = ({ status, headers, body, tenantId }: Draft, alwaysSent: Headers): ApiResponse => {
  Object.assign(alwaysSent, headers)
  if (status !== 204 && status !== 304) alwaysSent['content-length'] = String(Buffer.byteLength(body))
  return { status, headers: alwaysSent, body, tenantId }
}

export const ALWAYS: Headers = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}

const JSON_HEADERS: Headers = { 'content-type': 'application/json' }
export const json = (status: number, body: string): Draft => ({ status, headers: JSON_HEADERS, body })
