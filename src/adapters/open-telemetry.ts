/** The key under which an OpenTelemetry SDK loaded by `--import` registers. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

/** The active OpenTelemetry SDK of this process. */
export type OpenTelemetry = {
  readonly traceId: () => string | undefined
  /** Names the server span of the active request by the template of its path. */
  readonly onRoute: (template: string) => void
}

/** The instrumentation of `node:http` reads the route of a request under this key. */
const RPC_METADATA = 'OpenTelemetry SDK Context Key RPC_METADATA'

/** Null without an SDK: nothing is imported, and requests pay nothing. */
export const findOpenTelemetry = async (): Promise<OpenTelemetry | null> => {
  if (!(REGISTERED in globalThis)) return null
  const api = await import('@opentelemetry/api').catch(() => null)
  if (api === null) return null
  const { context, createContextKey, isSpanContextValid, trace } = api
  const rpcMetadata = createContextKey(RPC_METADATA)
  return {
    traceId: () => {
      const span = trace.getActiveSpan()?.spanContext()
      return span !== undefined && isSpanContextValid(span) ? span.traceId : undefined
    },
    onRoute: (template) => {
      const metadata = context.active().getValue(rpcMetadata) as { route?: string } | undefined
      if (metadata !== undefined) metadata.route = template
      // The path of a hook may contain its token.
      if (template.startsWith('/hooks/'))
        trace.getActiveSpan()?.setAttributes({ 'url.path': template, 'http.target': template })
    },
  }
}
