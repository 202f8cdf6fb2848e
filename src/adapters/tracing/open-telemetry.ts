/** What is wanted of OpenTelemetry, where its SDK runs in this process. */
export type OpenTelemetry = {
  /** The `traceparent` of the active span. */
  readonly traceparent: () => string | undefined
  /** Names the server span of the active request by the template of its path. */
  readonly onRoute: (template: string) => void
  /** Does it as a part of that trace: what it sends carries the trace on. */
  readonly within: <Answer>(traceparent: string, act: () => Answer) => Answer
}

/** Where an SDK, loaded by `--import` before everything else, leaves what it has registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')
/** Under this key the instrumentation of `node:http` puts what it asks the route of at the end of a request. */
const RPC_METADATA = 'OpenTelemetry SDK Context Key RPC_METADATA'
type RpcMetadata = { route?: string }

/** Null where no SDK was loaded; then nothing is imported, and nothing is done for any request. */
export const findOpenTelemetry = async (): Promise<OpenTelemetry | null> => {
  if (!(REGISTERED in globalThis)) return null
  const api = await import('@opentelemetry/api').catch(() => null)
  if (api === null) return null
  const { context, createContextKey, isSpanContextValid, propagation, ROOT_CONTEXT, trace } = api
  const rpcMetadata = createContextKey(RPC_METADATA)
  return {
    traceparent: () => {
      const span = trace.getActiveSpan()?.spanContext()
      if (span === undefined || !isSpanContextValid(span)) return undefined
      const flags = span.traceFlags.toString(16).padStart(2, '0')
      return `00-${span.traceId}-${span.spanId}-${flags}`
    },
    onRoute: (template) => {
      const metadata = context.active().getValue(rpcMetadata) as RpcMetadata | undefined
      if (metadata !== undefined) metadata.route = template
    },
    within: (traceparent, act) => context.with(propagation.extract(ROOT_CONTEXT, { traceparent }), act),
  }
}
