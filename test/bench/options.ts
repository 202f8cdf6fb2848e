import { parseArgs } from 'node:util'

export type Options = {
  readonly callers: readonly number[]
  readonly rounds: number
  readonly seconds: number
  /** Only cases whose name contains this; empty: all. */
  readonly only: string
  readonly quick: boolean
  readonly tenMillion: boolean
}

/** The command line; throws where it is not understood. */
export const readOptions = (argv: readonly string[]): Options => {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'ten-million': { type: 'boolean', default: false },
    },
  })
  const { quick, only } = values
  return {
    callers: quick ? [1, 64] : [1, 16, 64, 256],
    rounds: whole('rounds', values.rounds ?? (quick ? '1' : '3')),
    seconds: whole('seconds', values.seconds ?? (quick ? '1' : '4')),
    only,
    quick,
    tenMillion: values['ten-million'],
  }
}

const whole = (name: string, text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > 3_600) throw new Error(`--${name} must be 1 to 3600`)
  return value
}
