import type { ApiRequest } from './requests.ts'

type WithHeaders = Pick<ApiRequest, 'headers'>

/** A header of a request, under its name in lower case. One that was sent several times is joined by commas. */
export const headerOf = ({ headers }: WithHeaders, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** Bytes that a body is announced to have. Undefined when its length is unknown: chunked, or over HTTP/2. */
export const announcedBytes = (request: WithHeaders): number | undefined => {
  if (headerOf(request, 'transfer-encoding') !== undefined) return undefined
  const length = headerOf(request, 'content-length')
  return length !== undefined && /^\d*$/.test(length) ? Number(length) : undefined
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/

/** The header `X-Request-Id`, if it can go unchanged into logs and answers. */
export const requestIdIn = ({ headers }: WithHeaders): string | undefined => {
  const id = headers['x-request-id']
  return typeof id === 'string' && REQUEST_ID.test(id) ? id : undefined
}

const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/

/** The trace id of the header `traceparent`, by W3C Trace Context 1. An invalid header counts as not sent. */
export const traceIdIn = ({ headers }: WithHeaders): string | undefined => {
  const header = headers['traceparent']
  if (typeof header !== 'string') return undefined
  const [, version, traceId, more] = TRACEPARENT.exec(header) ?? []
  return version === '00' && more !== undefined ? undefined : traceId
}
