/**
 * Loaded by `--import` before the program: OpenTelemetry as an operator sets it up, with its instrumentation of
 * `node:http`. Each span that ends is a JSON line on the file that `SPANS_FILE` names. Plain JavaScript, for
 * the oldest Node cannot run anything else.
 */
import { appendFileSync } from 'node:fs'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { TracerProvider } from '@opentelemetry/sdk-trace'

const file = process.env['SPANS_FILE'] ?? ''
/** @type {import('@opentelemetry/sdk-trace').SpanProcessor} */
const writing = {
  onStart: () => {},
  onEnd: (span) => {
    const { name, kind, attributes, parentSpanContext } = span
    const { traceId, spanId } = span.spanContext()
    const line = { name, kind, traceId, spanId, parentId: parentSpanContext?.spanId ?? null, attributes }
    appendFileSync(file, `${JSON.stringify(line)}\n`)
  },
  forceFlush: async () => {},
  shutdown: async () => {},
}

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator(new W3CTraceContextPropagator())
const provider = new TracerProvider({ spanProcessors: [writing] })
trace.setGlobalTracerProvider(provider)
const instrumentation = new HttpInstrumentation()
instrumentation.setTracerProvider(provider)
instrumentation.enable()
