import type { ApiRequest } from './requests.ts'

/** What an instrumentation of the process knows of the request in hand. */
export type Tracing = {
  /** The trace id of its span; undefined outside of one. */
  readonly traceId: () => string | undefined
  /** Receives the template of the path. */
  readonly onRoute: (template: string) => void
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/

/** The header `X-Request-Id`, if it can go into logs and answers as it is. */
export const requestIdIn = ({ headers }: Pick<ApiRequest, 'headers'>): string | undefined => {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined
}

/** The trace id of the header `traceparent`, by W3C Trace Context 1. An invalid header counts as not sent. */
export const traceIdIn = ({ headers }: Pick<ApiRequest, 'headers'>): string | undefined => {
  const given = headers['traceparent']
  if (typeof given !== 'string') return undefined
  const [, version, traceId = '', parentId = '', more] = TRACEPARENT.exec(given) ?? []
  if (version === undefined || version === 'ff' || /^0+$/.test(traceId) || /^0+$/.test(parentId))
    return undefined
  return version === '00' && more !== undefined ? undefined : traceId
}
