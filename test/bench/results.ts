import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { BenchPostgres } from './database.ts'
import type { Footprint } from './footprint.ts'
import type { Machine } from './machine.ts'
import type { Cell } from './measure.ts'
import type { Amount, PartName } from './options.ts'

/** The argument of a part. */
export type Setting = {
  readonly amount: Amount
  readonly database: BenchPostgres
  /** For logs and the embedded databases. */
  readonly folder: string
  readonly tell: (line: string) => void
}

/** The head of each part's result: the parts may be measured on different days. */
export type Measured = {
  readonly machine: Machine
  readonly amount: Amount
  readonly tookMs: number
}

export type EmbeddedCell = Cell & { readonly healthMsMax: number | null }
export type CasesFound = {
  readonly cells: readonly Cell[]
  readonly embedded: readonly EmbeddedCell[]
  readonly footprints: readonly Footprint[]
}

export type Kind = 'postgres' | 'sqlite'
export type GrowthCell = Cell & { readonly kind: Kind; readonly step: string }
export type GrowthFound = {
  readonly cells: readonly GrowthCell[]
  /** The fullest step that there was room and time for. */
  readonly fullest: string
}

/** Each case alone, one after the other; then, rested, the memory. */
export type Look = { readonly cells: readonly Cell[]; readonly residentMib: number | null }
export type Minute = {
  readonly number: number
  readonly rate: number
  readonly p99Ms: number
  readonly cpuUs: number | null
  readonly settleMs: number
  readonly residentMib: number | null
}
export type HourFound = {
  readonly start: Look
  readonly minutes: readonly Minute[]
  /** The number of minutes in which an answer was not 2xx, or a page stayed unpublished. */
  readonly failures: readonly string[]
  readonly end: Look
}

export type PublishersFound = {
  /** How late scheduled versions were published, in ms. */
  readonly lateMs?: { readonly half: number; readonly most: number }
  /** `rate`: versions a second. */
  readonly publishers: readonly { readonly count: number; readonly isNamed: boolean; readonly rate: number }[]
}

export type DeliveriesFound = { readonly kind: Kind; readonly endpoints: number; readonly rate: number }
export type LatencyFound = { readonly kind: Kind; readonly p50Ms: number; readonly p99Ms: number }
export type EventsFound = {
  readonly events: readonly Cell[]
  readonly deliveries: readonly DeliveriesFound[]
  readonly latencies: readonly LatencyFound[]
}

export type ReadsFound = { readonly reads: readonly Cell[] }

type Logging = Pick<Cell, 'rate' | 'p99Ms'>
export type ErasingCell = {
  readonly kind: Kind
  readonly before: Logging
  readonly during: Logging
  /** Until all logs of the person were deleted. */
  readonly erasedMs: number
}
export type ErasingFound = { readonly erasing: readonly ErasingCell[] }

export type Results = {
  readonly cases?: Measured & CasesFound
  readonly growth?: Measured & GrowthFound
  readonly publishers?: Measured & PublishersFound
  readonly reads?: Measured & ReadsFound
  readonly erasing?: Measured & ErasingFound
  readonly events?: Measured & EventsFound
  readonly hour?: Measured & HourFound
}

const FILE = new URL('result.json', import.meta.url)

/** The last result of each part. */
export const readResults = (): Results => (existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {})

/** Replaces what is known of one part. */
export const saveResult = (name: PartName, result: Required<Results>[PartName]): void => {
  writeFileSync(FILE, `${JSON.stringify({ ...readResults(), [name]: result }, null, 2)}\n`)
}
