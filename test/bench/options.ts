import { parseArgs } from 'node:util'

export const PART_NAMES = ['cases', 'growth', 'publishers', 'reads', 'erasing', 'events', 'hour'] as const
export type PartName = (typeof PART_NAMES)[number]

/** How much one part measures. */
export type Amount = {
  /** Everything shrunk: a try, not a result. */
  readonly quick: boolean
  readonly callers: readonly number[]
  readonly rounds: number
  readonly seconds: number
  /** Only cases whose name contains this; empty: all. */
  readonly only: string
  /** How long the mixed load of the hour is. */
  readonly minutes: number
}
export type Options = {
  /** None: nothing is measured, and what is known is printed. */
  readonly parts: readonly PartName[]
  readonly only: string
  readonly amountOf: (part: PartName) => Amount
}

const ROUNDS = { cases: 5, growth: 3, publishers: 1, reads: 5, erasing: 5, events: 5, hour: 5 }
/** Growth alternates between as many services as the others have rivals, and is judged by medians of short looks. */
const SECONDS = { cases: 1, growth: 1, publishers: 4, reads: 1, erasing: 1, events: 2, hour: 2 }

/** The command line; throws where it is not understood. */
export const readOptions = (argv: readonly string[]): Options => {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      part: { type: 'string', multiple: true, default: [...PART_NAMES] },
      print: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      minutes: { type: 'string' },
    },
  })
  const { quick, only } = values
  return {
    parts: values.print ? [] : values.part.map(partNamed),
    only,
    amountOf: (part) => ({
      quick,
      callers: quick ? [1, 64] : [1, 64, 256],
      rounds: whole('rounds', values.rounds, quick ? 1 : ROUNDS[part]),
      seconds: whole('seconds', values.seconds, quick ? 1 : SECONDS[part]),
      only,
      minutes: whole('minutes', values.minutes, quick ? 1 : 60),
    }),
  }
}

const partNamed = (text: string): PartName => {
  const part = PART_NAMES.find((name) => name === text)
  if (part === undefined) throw new Error(`--part must be one of ${PART_NAMES.join(', ')}`)
  return part
}

const whole = (name: string, text: string | undefined, otherwise: number): number => {
  if (text === undefined) return otherwise
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > 3_600) throw new Error(`--${name} must be 1 to 3600`)
  return value
}
