import { Counter, Gauge, type Registry } from 'prom-client'
import { createHistogram, type Observe } from './histogram.ts'

/** A request that was answered. `route` is the template of its path, null where none fits. */
type Answered = {
  readonly method: string
  readonly route: string | null
  readonly status: number
  readonly ms: number
}

/** Whatever else a caller writes there is `other`: a label has few values, and nobody outside chooses them. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Requests: their rate, how long they took, and how many are under way. */
export const requestFigures = (register: Registry) => {
  const registers = [register]
  const durations = createHistogram(register, {
    name: 'prospect_pages_http_request_duration_seconds',
    help: 'Requests from the call of the API to its answer, by the template of the path; its count is their rate.',
    buckets: SECONDS,
  })
  const malformed = new Counter({
    name: 'prospect_pages_http_malformed_messages_total',
    help: 'Messages refused before they reached the API: not HTTP, too slow, or too many on one connection.',
    labelNames: ['status'],
    registers,
  })
  let inFlight = 0
  new Gauge({
    name: 'prospect_pages_http_requests_in_flight',
    help: 'Requests that came and are not answered.',
    registers,
    collect() {
      this.set(inFlight)
    },
  })

  /** By template, method and status: each is put together once. */
  const known = new Map<string | null, Map<string, Map<number, Observe>>>()
  const observing = (route: string | null, method: string, status: number): Observe => {
    const before = known.get(route)?.get(method)?.get(status)
    if (before !== undefined) return before
    const byMethod = known.get(route) ?? new Map<string, Map<number, Observe>>()
    const byStatus = byMethod.get(method) ?? new Map<number, Observe>()
    const observe = durations.child({ method, route: route ?? 'unknown', status: `${status}` })
    known.set(route, byMethod.set(method, byStatus.set(status, observe)))
    return observe
  }

  return {
    asked: (): void => {
      inFlight++
    },
    answered: ({ method, status, route, ms }: Answered): void => {
      inFlight--
      observing(route, METHODS.has(method) ? method : 'other', status)(ms / 1_000)
    },
    malformed: (status: number): void => malformed.inc({ status }),
  }
}
