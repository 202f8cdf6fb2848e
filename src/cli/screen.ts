import { styleText } from 'node:util'

type Format = 'bold' | 'dim' | 'red' | 'green' | 'cyan' | 'yellow'
export type Paint = (format: Format, text: string) => string

/** What a stream can show: a terminal so many columns wide, with colours or without; or a pipe or file. */
export type Screen = {
  readonly isTerminal: boolean
  /** Columns; without end where it is no terminal. */
  readonly width: number
  readonly paint: Paint
  /** Whether a line can be written over. */
  readonly canRewrite: boolean
}

type Stream = { readonly isTTY?: boolean; readonly columns?: number }
type Environment = Readonly<Record<string, string | undefined>>

const WIDTH_UNKNOWN = 80
const WIDTH_MIN = 20

export const plain: Paint = (_format, text) => text
const coloured: Paint = (format, text) => styleText(format, text, { validateStream: false })

export const screenOf = (stream: Stream, env: Environment): Screen => {
  const isTerminal = stream.isTTY === true
  return {
    isTerminal,
    width: isTerminal ? Math.max(WIDTH_MIN, stream.columns || WIDTH_UNKNOWN) : Number.POSITIVE_INFINITY,
    paint: wantsColours(isTerminal, env) ? coloured : plain,
    canRewrite: isTerminal && env['TERM'] !== 'dumb',
  }
}

/**
 * `FORCE_COLOR` decides where it is set: `0` and `false` are no, all else is yes. Then `NO_COLOR` with any text is no.
 * Node has a decision of its own, which takes an empty `NO_COLOR` for a no in some of its versions.
 */
const wantsColours = (isTerminal: boolean, env: Environment): boolean => {
  const forced = env['FORCE_COLOR']
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  if (env['NO_COLOR']) return false
  return isTerminal && env['TERM'] !== 'dumb'
}
