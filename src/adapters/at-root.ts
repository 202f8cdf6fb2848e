import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Runs work outside of the request that caused it: instrumentation such as OpenTelemetry's then gives it neither the trace
 * nor the baggage of that request, and calls to third parties carry neither.
 */
export const atRoot: <Result>(work: () => Result) => Result = AsyncLocalStorage.snapshot()
