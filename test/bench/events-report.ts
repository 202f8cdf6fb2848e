import { partText } from './part-report.ts'
import type { EventsFound, Measured } from './results.ts'
import { ms, percent, table, times, whole } from './table.ts'

/** The cost and the delay of events, with the targets. */
export const eventsText = (found: Measured & EventsFound): string[] => [
  partText('events', found),
  `logging activities, 64 callers; no endpoint of the base: at least 0.98; one endpoint of none: at least 0.7\n${table(
    ['case', 'service', 'rate', '', 'p50', 'p99', 'cpu µs', 'of base', 'of no endpoint'],
    found.events.map((cell) => {
      const [kind] = cell.contestant.split(', ')
      const ratioTo = (name: string) => {
        const other = found.events.find(
          (one) => one.case === cell.case && one.contestant === `${kind}, ${name}`,
        )
        return other === undefined || other === cell ? '' : times(cell.rate / other.rate)
      }
      return [
        cell.case,
        cell.contestant,
        whole(cell.rate),
        percent(cell.spread),
        ms(cell.p50Ms),
        ms(cell.p99Ms),
        whole(cell.cpuUs),
        ratioTo('base'),
        cell.contestant.endsWith('one endpoint') ? ratioTo('no endpoint') : '',
      ]
    }),
    2,
  )}`,
  `deliveries a second to a local receiver; at least 1,500\n${table(
    ['store', 'endpoints', 'rate'],
    found.deliveries.map(({ kind, endpoints, rate }) => [kind, `${endpoints}`, whole(rate)]),
  )}`,
  `from the answer to the arrival, 20 activities a second, ms; p99 at most 100\n${table(
    ['store', 'p50', 'p99'],
    found.latencies.map(({ kind, p50Ms, p99Ms }) => [kind, ms(p50Ms), ms(p99Ms)]),
  )}`,
]
