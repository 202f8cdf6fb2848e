import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { databaseFigures } from './database-figures.ts'
import { listFigures } from './list-figures.ts'
import { requestFigures } from './request-figures.ts'
import type { Figures } from './sums.ts'
import { versionFigures } from './version-figures.ts'

/** Everything that is measured, and how it is told of things. */
export type Metrics = ReturnType<typeof createMetrics>

/** Gauges under names that Prometheus keeps for counters; and lists of every open handle, connection by connection. */
const LEFT_OUT = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** The figures of this process. From now on the delay of the event loop is measured. */
export const createMetrics = () => {
  const register = new Registry()
  const requests = requestFigures(register)
  const lists = listFigures(register)
  const database = databaseFigures(register)
  const versions = versionFigures(register)
  new Gauge({
    name: 'prospect_pages_processes',
    help: 'Processes whose figures these are: with WORKERS, those that serve.',
    registers: [register],
  }).set(1)
  collectDefaultMetrics({ register })
  for (const name of LEFT_OUT) register.removeSingleMetric(name)

  let printing: Promise<string> | null = null
  return {
    ...requests,
    ...lists,
    ...database,
    ...versions,
    /** To be added to those of other processes. */
    figures: (): Promise<Figures> => register.getMetricsAsJSON() as Promise<Figures>,
    /** In the text format of Prometheus, version 0.0.4. However many ask at once, it is written once. */
    text: (): Promise<string> => {
      printing ??= register.metrics().finally(() => {
        printing = null
      })
      return printing
    },
  }
}
