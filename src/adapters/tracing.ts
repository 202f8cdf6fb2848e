import type { Context, ContextManager, Link, Span, TracerProvider } from '@opentelemetry/api'

/** The key under which an OpenTelemetry SDK loaded by `--import` registers. Without one, nothing here has a cost. */
export const REGISTERED = Symbol.for('opentelemetry.js.api.1')
type Registered = { readonly context?: ContextManager; readonly trace?: TracerProvider }
const registered = (): Registered => (globalThis as { readonly [REGISTERED]?: Registered })[REGISTERED] ?? {}

/** A context made without the OpenTelemetry package, which may not be installed. */
const contextOf = (values: ReadonlyMap<symbol, unknown>): Context => ({
  getValue: (key) => values.get(key),
  setValue: (key, value) => contextOf(new Map(values).set(key, value)),
  deleteValue: (key) => contextOf(new Map([...values].filter(([other]) => other !== key))),
})
const ROOT = contextOf(new Map())
/** A context in which instrumentation makes no spans and propagates nothing. */
const SUPPRESSED = ROOT.setValue(Symbol.for('OpenTelemetry SDK Context Key SUPPRESS_TRACING'), true)
const ACTIVE_SPAN = Symbol.for('OpenTelemetry Context Key SPAN')
/** The number of this span kind in the OpenTelemetry API. */
const CLIENT = 2
/** The number of this status in the OpenTelemetry API. */
const ERROR = 2
const NAME = 'prospect-pages'
const LINKS_MAX = 32

/** Runs this work, and all that follows from it, outside of the request that caused it. */
export const atRoot = <Result>(work: () => Result): Result => {
  const { context } = registered()
  return context ? context.with(ROOT, work) : work()
}

/** The steps of a background job as root spans, linked to the requests that woke it in this process. */
export const jobSpans = (name: string) => {
  const links: Link[] = []
  return {
    noteCause: (): void => {
      const span = registered().context?.active().getValue(ACTIVE_SPAN) as Span | undefined
      if (span && links.length < LINKS_MAX) links.push({ context: span.spanContext() })
    },
    /** A step that finds nothing to do has no span. */
    around: async (step: () => Promise<boolean>): Promise<boolean> => {
      const { trace } = registered()
      if (trace === undefined) return step()
      const options = { root: true, startTime: performance.now(), links: links.splice(0) }
      const start = () => trace.getTracer(NAME).startSpan(name, options, ROOT)
      try {
        const isUseful = await step()
        if (isUseful) start().end()
        return isUseful
      } catch (error) {
        start().setStatus({ code: ERROR }).end()
        throw error
      }
    },
  }
}

/** A call to a third party. It has a span, but no trace or baggage is propagated: they are not for the third party. */
export const callOut = async <Answer extends { readonly status: number }>(
  name: string,
  url: string,
  call: () => Promise<Answer>,
): Promise<Answer> => {
  const { context, trace } = registered()
  if (context === undefined) return call()
  const attributes = { 'http.request.method': 'POST', 'server.address': new URL(url).hostname }
  const span = trace?.getTracer(NAME).startSpan(name, { kind: CLIENT, attributes }, context.active())
  let status = 0
  try {
    const answer = await context.with(SUPPRESSED, call)
    status = answer.status
    return answer
  } finally {
    if (status > 0) span?.setAttribute('http.response.status_code', status)
    if (status === 0 || status >= 400) span?.setStatus({ code: ERROR })
    span?.end()
  }
}
