import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Case } from './cases.ts'
import { answerSizes, type Contestant, type ServiceContestant } from './contestants/contestant.ts'
import { startService } from './contestants/service.ts'
import { bareContestant, launchOurs, ourContestant, ourCursor } from './contestants/services.ts'
import type { Filled, Size } from './fill.ts'
import { fillSqlite } from './fill-sqlite.ts'
import { healthDuring } from './health.ts'
import type { Sample } from './load.ts'
import { measureCase, warmUp } from './measure.ts'
import type { EmbeddedCell } from './results.ts'
import { BARE_OF } from './verdicts.ts'

type Plan = {
  readonly rounds: number
  readonly seconds: number
  readonly folder: string
  readonly tell: (line: string) => void
}
const CALLERS = [64]

/** The cases on SQLite and in memory, each against bare node:http that answers as many bytes. */
export const measureEmbedded = async (
  cases: readonly Case[],
  size: Size,
  plan: Plan,
): Promise<{ readonly cells: EmbeddedCell[]; readonly sqlite: { path: string; filled: Filled } }> => {
  const path = join(plan.folder, 'embedded.db')
  const filled = await fillSqlite(path, size)
  const sqlite = ourContestant('on sqlite', launchOurs(`sqlite:${path}`, plan.folder), filled)
  const cells = await measureAgainstBare(sqlite, filled, cases, plan)
  const memory = await startMemory(size, plan.folder)
  cells.push(...(await measureAgainstBare(memory.contestant, memory.filled, cases, plan)))
  return { cells, sqlite: { path, filled } }
}

const measureAgainstBare = async (
  embedded: ServiceContestant,
  filled: Filled,
  cases: readonly Case[],
  plan: Plan,
): Promise<EmbeddedCell[]> => {
  await embedded.start()
  const sizes = await answerSizes(embedded, cases, filled, ourCursor)
  const ceiling = { ...bareContestant(filled, sizes, plan.folder), name: BARE_OF[embedded.name] ?? 'bare' }
  await ceiling.start()
  const cells: EmbeddedCell[] = []
  try {
    for (const one of cases) {
      const healthMs: number[] = []
      const watched = withHealth(embedded, (lateMs) => healthMs.push(lateMs))
      await warmUp(one, [embedded, ceiling])
      const measured = await measureCase(one, [watched, ceiling], {
        ...plan,
        age: 'fresh',
        callers: CALLERS,
        checkpoint: async () => {},
      })
      for (const cell of measured)
        cells.push({ ...cell, healthMsMax: cell.contestant === embedded.name ? Math.max(...healthMs) : null })
    }
  } finally {
    await embedded.stop()
    await ceiling.stop()
  }
  return cells
}

const withHealth = (contestant: ServiceContestant, told: (lateMs: number) => void): Contestant => ({
  ...contestant,
  measure: async (one, force): Promise<Sample> => {
    const { answer, healthMsMax } = await healthDuring(
      () => contestant.service().url,
      () => contestant.measure(one, force),
    )
    told(healthMsMax)
    return answer
  },
})

/** It fills itself at its start, so it is asked what it holds. */
const startMemory = async (size: Size, folder: string) => {
  const filledPath = join(folder, 'memory.json')
  const launch = () =>
    startService({
      script: fileURLToPath(new URL('contestants/memory.ts', import.meta.url)),
      args: [JSON.stringify(size), filledPath],
      env: {},
      logPath: join(folder, 'memory.log'),
      readyPath: '/readyz',
    })
  const first = await launch()
  const filled: Filled = JSON.parse(readFileSync(filledPath, 'utf8'))
  const contestant = ourContestant('on memory', async () => first, filled)
  return { contestant, filled }
}
