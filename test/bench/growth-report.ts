import { dearer, likeIn } from './growth-cells.ts'
import { partText } from './part-report.ts'
import type { GrowthFound, Measured } from './results.ts'
import { ms, percent, table, times, whole } from './table.ts'

export const growthText = (growth: Measured & GrowthFound): string[] => [
  partText('growth', growth),
  '× is the cost of the smallest size: time of one caller, time for one request among 64 callers.',
  growthTable(growth),
]

const growthTable = ({ cells }: GrowthFound): string => {
  const rows = cells
    .filter((cell) => cell.callers === 64)
    .map((busy) => {
      const alone = likeIn(cells, busy, { callers: 1 })
      const first = cells.find((cell) => cell.kind === busy.kind && cell.case === busy.case)
      const firstAlone = first && likeIn(cells, first, { callers: 1 })
      const firstBusy = first && likeIn(cells, first, { callers: 64 })
      return [
        busy.kind,
        busy.case,
        busy.step,
        ms(alone?.meanMs ?? null),
        alone && firstAlone ? times(dearer(alone, firstAlone)) : '-',
        whole(busy.rate),
        percent(busy.spread),
        firstBusy ? times(dearer(busy, firstBusy)) : '-',
        ms(busy.p99Ms),
        whole(busy.cpuUs),
      ]
    })
  const head = ['', 'case', 'size', '1 caller, ms', '', '64 callers, /s', '', '', 'p99', 'cpu µs']
  return table(head, rows, 3)
}
