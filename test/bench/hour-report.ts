import { partText } from './part-report.ts'
import type { HourFound, Measured } from './results.ts'
import { ms, percent, table, times, whole } from './table.ts'

const MINUTES_SHOWN = 6

export const hourText = (hour: Measured & HourFound): string[] => [
  partText('hour', hour),
  mixText(hour),
  looksText(hour),
  ...hour.failures,
]

/** Some minutes of the mixed load. */
const mixText = ({ minutes }: HourFound): string => {
  const every = Math.ceil(minutes.length / MINUTES_SHOWN)
  const rows = minutes
    .filter((_, i) => i % every === 0 || i === minutes.length - 1)
    .map(({ number, rate, p99Ms, cpuUs, settleMs, residentMib }) => [
      String(number),
      whole(rate),
      ms(p99Ms),
      whole(cpuUs),
      ms(settleMs),
      whole(residentMib),
    ])
  const head = ['minute', 'all cases at once, 64 callers, /s', 'p99', 'cpu µs', 'published after, ms', 'MiB']
  return table(head, rows)
}

/** Each case alone, before and after. */
const looksText = ({ start, end }: HourFound): string => {
  const rows = start.cells.map((first) => {
    const last = end.cells.find((cell) => cell.case === first.case)
    return [
      first.case,
      whole(first.rate),
      percent(first.spread),
      whole(last?.rate ?? null),
      last ? percent(last.spread) : '',
      last ? times(last.rate / first.rate) : '-',
      ms(first.p99Ms),
      ms(last?.p99Ms ?? null),
      whole(first.cpuUs),
      whole(last?.cpuUs ?? null),
    ]
  })
  const memory = ['memory, MiB', whole(start.residentMib), '', whole(end.residentMib)]
  const ratio = start.residentMib && end.residentMib ? times(end.residentMib / start.residentMib) : '-'
  const head = ['each alone', 'start, /s', '', 'end, /s', '', '', 'p99 start', 'end', 'cpu µs start', 'end']
  return table(head, [...rows, [...memory, '', ratio]])
}
