// The benchmark: `npm run bench`. See README.md beside this file.
import { startBenchPostgres } from './database.ts'
import { newFolder, removeFolder } from './folders.ts'
import { describeMachine } from './machine.ts'
import { measureCases } from './measure-cases.ts'
import { measureErasing } from './measure-erasing.ts'
import { measureEvents } from './measure-events.ts'
import { measureGrowth } from './measure-growth.ts'
import { measureHour } from './measure-hour.ts'
import { measurePublishers } from './measure-publishers.ts'
import { measureReads } from './measure-reads.ts'
import { type Amount, type PartName, readOptions } from './options.ts'
import { prepare } from './program.ts'
import { reportOf } from './report.ts'
import { type Measured, type Results, readResults, type Setting, saveResult } from './results.ts'

const tell = (line: string) => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
}

const main = async (): Promise<void> => {
  const { parts, only, amountOf } = readOptions(process.argv.slice(2))
  if (parts.length > 0) {
    tell('installing and building')
    await prepare()
  }
  let results: Results = only === '' ? readResults() : {}
  for (const name of parts) {
    tell(`part ${name}`)
    const result = await measurePart(name, amountOf(name))
    // A run of some cases does not replace the results of all.
    if (only === '') saveResult(name, result)
    results = { ...results, [name]: result }
  }
  process.stdout.write(`${reportOf(results)}\n`)
}

const measurePart = async <Name extends PartName>(
  name: Name,
  amount: Amount,
): Promise<Required<Results>[Name]> => {
  const measure = MEASURES[name] as (setting: Setting) => Promise<Required<Results>[Name]>
  const began = performance.now()
  const folder = newFolder('bench')
  const database = await startBenchPostgres()
  try {
    const machine = await describeMachine(database)
    const found = await measure({ amount, database, folder, tell })
    const measured: Measured = { machine, amount, tookMs: performance.now() - began }
    return { ...measured, ...found }
  } finally {
    await database.stop()
    removeFolder(folder)
  }
}

const MEASURES = {
  cases: measureCases,
  growth: measureGrowth,
  publishers: measurePublishers,
  reads: measureReads,
  erasing: measureErasing,
  events: measureEvents,
  hour: measureHour,
}

await main()
