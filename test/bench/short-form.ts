import { CASES } from './cases.ts'
import type { CasesFound, Measured } from './results.ts'
import { times, whole } from './table.ts'
import { oursIn, rivalOf } from './verdicts.ts'

const CALLERS = 64

/** The cases on PostgreSQL in a line each, in Markdown. */
export const shortForm = ({ machine, cells }: Measured & CasesFound): string => {
  const lines = CASES.flatMap(({ name, title }) => {
    const [our] = oursIn(cells, [name], [CALLERS]).filter((cell) => cell.age === 'fresh')
    const rival = our && rivalOf(cells, our)
    return our && rival
      ? [
          `| ${title} | ${whole(our.rate)} | ${whole(rival.rate)} (${rival.contestant}) | ${times(our.rate / rival.rate)} |`,
        ]
      : []
  })
  return [
    `| a second, ${CALLERS} callers, ${machine.cores} cores | prospect-pages | the faster rival | |`,
    '|---|---:|---:|---:|',
    ...lines,
  ].join('\n')
}
