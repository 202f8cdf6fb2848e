/**
 * Loaded by `--import` before the program: OpenTelemetry as an operator sets it up, with baggage, its instrumentation of
 * `node:http`, and what stands for that of `fetch`. Each span that ends is a JSON line on the file that `SPANS_FILE` names. Plain JavaScript, for
 * the oldest Node cannot run anything else.
 */
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { TracerProvider } from '@opentelemetry/sdk-trace'

const file = process.env['SPANS_FILE'] ?? ''
/** @type {import('@opentelemetry/sdk-trace').SpanProcessor} */
const writing = {
  onStart: () => {},
  onEnd: (span) => {
    const { name, kind, attributes, parentSpanContext, status } = span
    const links = span.links.map(({ context }) => context.traceId)
    const { traceId, spanId } = span.spanContext()
    const line = {
      name,
      kind,
      traceId,
      spanId,
      parentId: parentSpanContext?.spanId ?? null,
      attributes,
      links,
      status,
    }
    appendFileSync(file, `${JSON.stringify(line)}\n`)
  },
  forceFlush: async () => {},
  shutdown: async () => {},
}

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()]
propagation.setGlobalPropagator(new CompositePropagator({ propagators }))
const provider = new TracerProvider({ spanProcessors: [writing] })
trace.setGlobalTracerProvider(provider)
const instrumentation = new HttpInstrumentation()
instrumentation.setTracerProvider(provider)
instrumentation.enable()
// As the instrumentation of `fetch` does it.
subscribe('undici:request:create', (message) => {
  const { request } = /** @type {{ request: { addHeader(name: string, value: string): void } }} */ (message)
  const span = provider.getTracer('undici').startSpan('fetch')
  const headers = {}
  propagation.inject(trace.setSpan(context.active(), span), headers)
  for (const [name, value] of Object.entries(headers)) request.addHeader(name, value)
  span.end()
})
