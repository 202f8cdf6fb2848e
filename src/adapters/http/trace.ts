import type { ApiRequest } from './requests.ts'

/** What an instrumentation of the process knows of the request that is being answered. */
export type Tracing = {
  /** The `traceparent` of its span; undefined where there is none. */
  readonly traceparent: () => string | undefined
  /** Told the template of the path. */
  readonly onRoute: (template: string) => void
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The header `X-Request-Id`, where it is of a kind that can be put into logs and answers as it is. */
export const requestIdIn = ({ headers }: Pick<ApiRequest, 'headers'>): string | undefined => {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined
}

/**
 * The header `traceparent` as W3C Trace Context 1 has it: where it is not valid it counts as not sent. That of a later
 * version is read, and handed on, as one of version 00.
 */
export const traceparentIn = ({ headers }: Pick<ApiRequest, 'headers'>): string | undefined => {
  const given = headers['traceparent']
  if (typeof given !== 'string') return undefined
  const [, version, traceId = '', parentId = '', flags = '', more] = TRACEPARENT.exec(given) ?? []
  if (version === undefined || version === 'ff' || /^0+$/.test(traceId) || /^0+$/.test(parentId))
    return undefined
  if (version === '00') return more === undefined ? given : undefined
  return `00-${traceId}-${parentId}-0${Number.parseInt(flags, 16) & 1}`
}

/** The 32 hexadecimal digits by which all that belongs together is found. */
const traceIdOf = (traceparent: string): string => traceparent.slice(3, 35)

/** What a log line says of the trace that it belongs to. */
export const traced = (traceparent: string | undefined): { readonly traceId?: string } =>
  traceparent === undefined ? NO_TRACE : { traceId: traceIdOf(traceparent) }
const NO_TRACE = {}
