import { memoized } from '../../core/engine/memoized.ts'
import type { Store } from '../../core/ports/store.ts'
import type { GatherObserver } from '../stores/gather.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import { timed } from './observations.ts'
import { publisherMetrics } from './publisher-metrics.ts'
import { webhookMetrics } from './webhook-metrics.ts'

/** An answered request. `route` is the template of its path, null if no route matched. */
type Answered = Readonly<{
  method: string
  route: string | null
  status: number
  ms: number
  waitedMs?: number
  code?: string | null
  hookId?: string
  outcome?: string
  warned?: true
  admission?: 'waited' | 'refused'
}>
type Counts = Readonly<{ inFlight: number; waiting: number }>
type Verb = (...args: readonly unknown[]) => Promise<unknown>

export type Metrics = ReturnType<typeof createMetrics>

/** Any other method becomes `other`: callers cannot create label values. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const STORE_SECONDS = [0.0005, ...REQUEST_SECONDS]
const LIST_LENGTHS = [1, 2, 5, 10, 20, 50, 100, 200]
/** Default metrics that are left out: gauges with names reserved for counters, and lists of every open handle. */
const LEFT_OUT = /^nodejs_active_(handles|requests|resources_total)/

/** The metrics of this process. Those of Node itself begin with the first scrape, which imports prom-client. */
export const createMetrics = () => {
  const instruments = createInstruments()
  const { timedStore, database } = storeMetrics(instruments)
  const { countedStore, ...publisher } = publisherMetrics(instruments)
  const countedWebhooks = webhookMetrics(instruments)
  const opened = async () => {
    const { collectDefaultMetrics, Registry } = await import('prom-client')
    const register = new Registry()
    for (const metric of instruments.metrics) register.registerMetric(metric)
    collectDefaultMetrics({ register })
    for (const { name } of register.getMetricsAsArray()) {
      if (LEFT_OUT.test(name)) register.removeSingleMetric(name)
    }
    return register
  }
  let opening: ReturnType<typeof opened> | undefined
  const register = () => {
    opening ??= opened()
    return opening
  }

  return {
    instruments,
    ...requestMetrics(instruments),
    database,
    ...publisher,
    /** The same store, with its calls, versions and attempts measured. */
    measured: <AnyStore extends Store>(store: AnyStore): AnyStore =>
      timedStore(countedWebhooks(countedStore(store))),
    /** In Prometheus's text format, version 0.0.4. */
    text: async (): Promise<string> => (await register()).metrics(),
  }
}

/** Whether a hook was sent something. A GET may only check the address: then it has neither an outcome nor a refusal. */
const isDelivery = ({ method, route, hookId, outcome, code }: Answered): boolean => {
  if (!route?.startsWith('/hooks/')) return false
  return (
    method === 'POST' || outcome !== undefined || (method === 'GET' && hookId !== undefined && Boolean(code))
  )
}

/** Metrics of requests, and of the batches that gather their calls. */
const requestMetrics = ({ counter, gauge, histogram }: Instruments) => {
  const durations = histogram(
    'http_request_duration_seconds',
    'Requests from the call of the API to its answer, without waiting for events, by route template; its count is their rate.',
    REQUEST_SECONDS,
  )
  const durationOf = memoized((route: string | null) =>
    memoized((method: string) =>
      memoized((status: number) => durations({ method, route: route ?? 'unknown', status: `${status}` })),
    ),
  )
  let inFlight = 0
  gauge('http_requests_in_flight', 'Requests that are not yet answered.', (gauge) => gauge.set(inFlight))
  const malformed = counter(
    'http_malformed_messages_total',
    'Messages refused before they reached the API: not HTTP, too slow, or too many on one connection.',
    ['status'],
  )
  for (const status of [400, 431, 503]) malformed.inc({ status }, 0)
  const received = counter(
    'hooks_received_total',
    'Deliveries to hooks: logged, replayed, ignored (the person was erased), trapped, challenge, or why they were refused.',
    ['outcome'],
  )
  for (const outcome of ['logged', 'replayed', 'ignored', 'invalid_signature', 'loop_detected'])
    received.inc({ outcome }, 0)
  const warned = counter(
    'hooks_warned_total',
    'Deliveries to hooks that were accepted with a warning, such as that they identify no one.',
  )
  const delayed = counter(
    'requests_delayed_total',
    'Requests that waited for their turn, and those that were refused for lack of room.',
    ['outcome'],
  )
  for (const outcome of ['waited', 'refused']) delayed.inc({ outcome }, 0)
  const lengths = histogram('list_length', 'Calls that were done as one list.', LIST_LENGTHS)
  const queuedCalls = new Map<string, number>()
  gauge('list_queued_calls', 'Calls that wait for a list.', (gauge) => {
    for (const [operation, calls] of queuedCalls) gauge.set(calls, { operation })
  })

  return {
    onRequest: (): void => {
      inFlight++
    },
    onAnswered: (answered: Answered): void => {
      const { method, status, route, ms, waitedMs = 0, code, outcome, admission } = answered
      inFlight--
      if (admission) delayed.inc({ outcome: admission })
      if (isDelivery(answered)) received.inc({ outcome: outcome ?? code ?? '' })
      if (answered.warned) warned.inc()
      durationOf(route)(METHODS.has(method) ? method : 'other')(status)((ms - waitedMs) / 1_000)
    },
    busiestKeyShare: (share: () => number): void =>
      gauge(
        'busiest_key_share',
        'The share of the delayed requests of the last minute that one key or hook sent. 0 if no others were delayed.',
        (gauge) => gauge.set(share()),
      ),
    malformed: (status: number): void => malformed.inc({ status }),
    gathering: (operation: string): GatherObserver => {
      const queued = (change: number) =>
        void queuedCalls.set(operation, (queuedCalls.get(operation) ?? 0) + change)
      queued(0)
      return { list: lengths({ operation }), queued }
    },
  }
}

/** Metrics of the verbs of the store and, on PostgreSQL, of the statements that they send. */
const storeMetrics = ({ gauge, histogram }: Instruments) => {
  const calls = histogram(
    'store_call_duration_seconds',
    'Calls of the store: one or two statements, and the wait for calls that share them and for a connection.',
    STORE_SECONDS,
  )
  const durationOf = memoized((verb: string) => calls({ verb }))
  const observed = (name: string, verb: Verb) => timed(verb, (seconds) => durationOf(name)(seconds))
  const timedPart = ([name, part]: [string, unknown]) => {
    if (typeof part !== 'object' || part === null || name === 'handOver') return [name, part]
    const verbs = Object.entries(part).map(([verb, call]) => [verb, observed(`${name}.${verb}`, call)])
    return [name, Object.fromEntries(verbs)]
  }

  const statements = histogram(
    'database_statement_duration_seconds',
    'Statements on PostgreSQL, from a free connection to the answer. Empty with the embedded database.',
    STORE_SECONDS,
  )
  const observe = { answered: statements({ outcome: 'answered' }), failed: statements({ outcome: 'failed' }) }
  let counts = (): Counts => ({ inFlight: 0, waiting: 0 })
  gauge('database_statements_in_flight', 'PostgreSQL statements in flight.', (gauge) =>
    gauge.set(counts().inFlight),
  )
  gauge('database_statements_waiting', 'PostgreSQL statements that wait for a connection.', (gauge) =>
    gauge.set(counts().waiting),
  )

  return {
    /** The same store, which times the verbs of its ports: its members that are objects, but the hand-over, which calls nothing. */
    timedStore: <AnyStore extends Store>(store: AnyStore): AnyStore =>
      Object.fromEntries(Object.entries(store).map(timedPart)) as AnyStore,
    database: {
      pool: (current: () => Counts): void => {
        counts = current
      },
      statement: (ms: number, outcome: keyof typeof observe): void => observe[outcome](ms / 1_000),
    },
  }
}
