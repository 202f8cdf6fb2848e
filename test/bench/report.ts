import { CASES } from './cases.ts'
import { eventsText } from './events-report.ts'
import type { Footprint } from './footprint.ts'
import { growthText } from './growth-report.ts'
import { hourText } from './hour-report.ts'
import type { Cell } from './measure.ts'
import { partText } from './part-report.ts'
import type {
  CasesFound,
  EmbeddedCell,
  ErasingFound,
  Measured,
  PublishersFound,
  ReadsFound,
  Results,
} from './results.ts'
import { shortForm } from './short-form.ts'
import { ms, percent, table, times, whole } from './table.ts'
import { BARE_OF, type Verdict, verdictsOf } from './verdicts.ts'

/** All that is known, for people: each part that was measured, the table with its verdicts, and the short form. */
export const reportOf = (results: Results): string =>
  [
    ...(results.cases ? casesText(results.cases) : []),
    ...(results.growth ? growthText(results.growth) : []),
    ...(results.publishers ? publishersText(results.publishers) : []),
    ...(results.reads ? readsText(results.reads) : []),
    ...(results.erasing ? erasingText(results.erasing) : []),
    ...(results.events ? eventsText(results.events) : []),
    ...(results.hour ? hourText(results.hour) : []),
    verdictText(verdictsOf(results)),
    ...(results.cases ? [shortForm(results.cases)] : []),
  ].join('\n\n')

const casesText = (cases: Measured & CasesFound): string[] => [
  partText('cases', cases),
  'Rates are answers per second, ± half of their spread; p50 and p99 in ms.',
  ...CASES.flatMap((one) => freshText(one.name, one.title, cases.cells)),
  ...agedText(cases.cells),
  ...failedText(cases.cells),
  ...embeddedText(cases.embedded),
  ...footprintText(cases.footprints),
]

const publishersText = (found: Measured & PublishersFound): string[] => [
  partText('publishers', found),
  `versions a second\n${table(
    ['publishers', 'a namer of 50 ms', 'no namer'],
    [...new Set(found.publishers.map(({ count }) => count))].map((count) => [
      `${count}`,
      ...[true, false].map((isNamed) =>
        whole(found.publishers.find((one) => one.count === count && one.isNamed === isNamed)?.rate ?? null),
      ),
    ]),
  )}`,
  ...(found.lateMs
    ? [`scheduled versions are published ${found.lateMs.half} ms late, 1 % more than ${found.lateMs.most} ms`]
    : []),
]

const readsText = (found: Measured & ReadsFound): string[] => [
  partText('reads', found),
  `reading back, answers a second\n${table(
    ['read', 'logs', '1 caller, ms', 'p99', '64 callers', 'cpu µs'],
    found.reads
      .filter(({ callers }) => callers === 64)
      .map((busy) => {
        const alone = found.reads.find(
          (cell) => cell.case === busy.case && cell.contestant === busy.contestant && cell.callers === 1,
        )
        return [
          busy.case,
          busy.contestant,
          ms(alone?.meanMs ?? null),
          ms(alone?.p99Ms ?? null),
          whole(busy.rate),
          whole(busy.cpuUs),
        ]
      }),
    2,
  )}`,
]

const erasingText = (found: Measured & ErasingFound): string[] => [
  partText('erasing', found),
  `logging at 64 callers, before and while a person with 100,000 of a million logs is erased\n${table(
    ['database', 'before', 'p99', 'while', 'p99', '', 'erased after ms'],
    found.erasing.map(({ kind, before, during, erasedMs }) => [
      kind,
      whole(before.rate),
      ms(before.p99Ms),
      whole(during.rate),
      ms(during.p99Ms),
      times(during.rate / before.rate),
      whole(erasedMs),
    ]),
  )}`,
]

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

const failedText = (cells: readonly Cell[]): string[] => {
  const failed = cells.filter((cell) => cell.failed > 0)
  if (failed.length === 0) return []
  const lines = failed.map(
    (cell) => `${cell.contestant}, ${cell.case}, ${cell.callers} callers, ${cell.age}: ${cell.failed}`,
  )
  return [`requests that failed\n${lines.join('\n')}`]
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

const verdictText = (verdicts: readonly Verdict[]): string =>
  `what it must reach\n${table(
    ['case', 'verdict'],
    verdicts.map(({ row, verdict }) => [row, verdict]),
    2,
  )}`
