import { CASES } from './cases.ts'
import type { Footprint } from './footprint.ts'
import type { Machine } from './machine.ts'
import type { Cell } from './measure.ts'
import { ms, percent, table, times, whole } from './table.ts'
import type { Verdict } from './verdicts.ts'

export type EmbeddedCell = Cell & { readonly healthMsMax: number | null }
export type Result = {
  readonly machine: Machine
  readonly rounds: number
  readonly seconds: number
  readonly cells: readonly Cell[]
  readonly embedded: readonly EmbeddedCell[]
  readonly footprints: readonly Footprint[]
}

/** The whole result for people. */
export const reportOf = (result: Result, verdicts: readonly Verdict[]): string =>
  [
    machineText(result.machine),
    `${result.rounds} rounds of ${result.seconds} s; medians. Rates are answers per second, ± half of their spread; p50 and p99 in ms.`,
    ...CASES.flatMap((one) => freshText(one.name, one.title, result.cells)),
    ...agedText(result.cells),
    ...embeddedText(result.embedded),
    ...footprintText(result.footprints),
    verdictText(verdicts),
  ].join('\n\n')

const BUSY_MAX = 0.05

export const machineText = (machine: Machine): string =>
  [
    `${machine.date.slice(0, 10)}, ${machine.cores} × ${machine.cpu}, ${machine.memoryGib} GiB, ${machine.system}`,
    `a flush takes ${machine.flushMs.toFixed(2)} ms${machine.flushesToMemory ? ' (INTO MEMORY: nothing here is durable)' : ''}`,
    ...(machine.busyBefore > BUSY_MAX
      ? [`OTHERS TAKE ${Math.round(machine.busyBefore * 100)} % OF THE PROCESSORS: these figures are too low`]
      : []),
    `node ${machine.node}, PostgreSQL ${machine.postgres} (shared_buffers ${machine.sharedBuffersMib} MiB), ${machine.load}`,
    `prospect-pages ${machine.prospectPages}; ${Object.entries(machine.packages)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}`,
  ].join('\n')

const namesIn = (cells: readonly Cell[]) => [...new Set(cells.map((cell) => cell.contestant))]

const freshText = (name: string, title: string, all: readonly Cell[]): string[] => {
  const cells = all.filter((cell) => cell.case === name && cell.age === 'fresh')
  if (cells.length === 0) return []
  const callers = [...new Set(cells.map((cell) => cell.callers))]
  const head = [
    '',
    ...callers.flatMap((count) => [
      count === 1 ? '1 caller' : `${count} callers`,
      '',
      'p50',
      'p99',
      'cpu µs',
    ]),
  ]
  const rows = namesIn(cells).map((contestant) => [
    contestant,
    ...callers.flatMap((count) => {
      const cell = cells.find((one) => one.contestant === contestant && one.callers === count)
      if (cell === undefined) return ['-', '', '', '', '']
      return [whole(cell.rate), percent(cell.spread), ms(cell.p50Ms), ms(cell.p99Ms), whole(cell.cpuUs)]
    }),
  ])
  return [`${title}\n${table(head, rows)}`]
}

const agedText = (all: readonly Cell[]): string[] => {
  const aged = all.filter((cell) => cell.age === 'aged')
  if (aged.length === 0) return []
  const rows = aged.map((cell) => {
    const fresh = all.find(
      (one) =>
        one.age === 'fresh' &&
        one.contestant === cell.contestant &&
        one.case === cell.case &&
        one.callers === cell.callers,
    )
    const ratio = fresh === undefined ? '-' : times(cell.rate / fresh.rate)
    return [
      cell.case,
      cell.contestant,
      whole(fresh?.rate ?? null),
      whole(cell.rate),
      ratio,
      ms(fresh?.p99Ms ?? null),
      ms(cell.p99Ms),
      whole(fresh?.cpuUs ?? null),
      whole(cell.cpuUs),
    ]
  })
  const head = ['case', '64 callers', 'fresh', 'aged', '', 'p99 fresh', 'aged', 'cpu µs fresh', 'aged']
  return [`freshly started, and aged: after all other cases\n${table(head, rows, 2)}`]
}

const embeddedText = (cells: readonly EmbeddedCell[]): string[] => {
  if (cells.length === 0) return []
  const rows = cells.map((cell) => {
    const bare = cells.find((one) => one.case === cell.case && one.contestant === BARE_OF[cell.contestant])
    return [
      cell.case,
      cell.contestant,
      whole(cell.rate),
      percent(cell.spread),
      ms(cell.p50Ms),
      ms(cell.p99Ms),
      whole(cell.cpuUs),
      cell.healthMsMax === null ? '-' : ms(cell.healthMsMax),
      bare === undefined ? '' : times(cell.rate / bare.rate),
    ]
  })
  const head = [
    'case',
    'embedded, 64 callers',
    'rate',
    '',
    'p50',
    'p99',
    'cpu µs',
    'latest /healthz ms',
    'of bare',
  ]
  return [`embedded\n${table(head, rows, 2)}`]
}
/** Whose answers the bare server imitates. */
export const BARE_OF: Readonly<Record<string, string>> = {
  'on sqlite': 'bare as sqlite',
  'on memory': 'bare as memory',
}

const footprintText = (footprints: readonly Footprint[]): string[] => {
  if (footprints.length === 0) return []
  const rows = footprints.map(({ name, startMs, idleMib, loadedMib, peakMib }) => [
    name,
    whole(startMs),
    whole(idleMib),
    whole(loadedMib),
    whole(peakMib),
  ])
  const head = ['footprint', 'ms to first answer', 'idle MiB', 'loaded MiB', 'peak MiB']
  return [table(head, rows)]
}

export const verdictText = (verdicts: readonly Verdict[]): string =>
  `what it must reach\n${table(
    ['case', 'verdict'],
    verdicts.map(({ row, verdict }) => [row, verdict]),
    2,
  )}`
