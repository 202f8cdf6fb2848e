import { Gauge, type Registry } from 'prom-client'
import type { Store } from '../../core/ports.ts'
import { createHistogram, type Observe } from './histogram.ts'

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const PORTS = ['activities', 'pageGroups', 'pages', 'versions', 'apiKeys', 'tenants'] as const
type Counts = { readonly underWay: number; readonly waiting: number }

/** The database: its connections, its statements, and the verbs of the store that they are sent for. */
export const databaseFigures = (register: Registry) => {
  const registers = [register]
  const calls = createHistogram(register, {
    name: 'prospect_pages_store_call_duration_seconds',
    help: 'What was asked of the store, for a whole list at once: one or two statements, and the wait for a connection.',
    buckets: SECONDS,
  })
  const statements = createHistogram(register, {
    name: 'prospect_pages_database_statement_duration_seconds',
    help: 'Statements on PostgreSQL, from a free connection to the answer. Nothing on the embedded database.',
    buckets: SECONDS,
  })
  let counts = (): Counts => ({ underWay: 0, waiting: 0 })
  new Gauge({
    name: 'prospect_pages_database_statements_under_way',
    help: 'Statements on PostgreSQL that are not answered, of DATABASE_CONNECTIONS_MAX at most.',
    registers,
    collect() {
      this.set(counts().underWay)
    },
  })
  new Gauge({
    name: 'prospect_pages_database_statements_waiting',
    help: 'Statements that wait for a connection to PostgreSQL.',
    registers,
    collect() {
      this.set(counts().waiting)
    },
  })
  const byOutcome = {
    answered: statements.child({ outcome: 'answered' }),
    failed: statements.child({ outcome: 'failed' }),
  }

  type Verb = (...args: readonly unknown[]) => Promise<unknown>
  const measuredVerb = (name: string, ask: Verb): Verb => {
    // From the first call on: what serves does not have every verb.
    let observe: Observe | undefined
    return (...args) => {
      const beganMs = performance.now()
      observe ??= calls.child({ verb: name })
      const told = () => observe?.((performance.now() - beganMs) / 1_000)
      const answer = ask(...args)
      answer.then(told, told)
      return answer
    }
  }
  const measuredPort = (port: string, verbs: object) =>
    Object.fromEntries(
      Object.entries(verbs).map(([verb, ask]) => [verb, measuredVerb(`${port}.${verb}`, ask)]),
    )

  return {
    database: {
      pool: (tell: () => Counts): void => {
        counts = tell
      },
      statement: (ms: number, outcome: keyof typeof byOutcome): void => byOutcome[outcome](ms / 1_000),
    },
    /** The same store, each of whose verbs tells how long it took. */
    measured: <Kept extends Store>(store: Kept): Kept => ({
      ...store,
      ...Object.fromEntries(PORTS.map((port) => [port, measuredPort(port, store[port])])),
    }),
  }
}
