import type { ParseArgsOptionsConfig } from 'node:util'
import type { Clock, NewId, Store } from '../core/ports.ts'
import { isStorable } from '../shapes/text.ts'
import type { Answer, Look } from './present.ts'
import type { Progress } from './progress.ts'

export type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>
export type CommandDeps = { readonly store: Store; readonly clock: Clock; readonly newId: NewId }

/**
 * Its answer is printed: JSON on a pipe, one object, or a line for each of several, at once where they come one by one;
 * and as `look` says on a terminal. Long work tells how far it is.
 */
type Job = (deps: CommandDeps, progress: Progress) => Promise<Answer> | AsyncIterable<object>

/** An option as `parseArgs` of Node takes it, and what `--help` says of it. */
export type Option = ParseArgsOptionsConfig[string] & {
  /** What stands for its value: `T` in `--tenant T`. */
  readonly value?: string
  readonly help?: string
}
export type Example = { readonly does: string; readonly line: string }

/** What `--help` says of a command. */
export type Described = {
  /** Such as `keys create`. */
  readonly words: string
  /** What follows the words, for `--help`. */
  readonly usage: string
  /** One line. */
  readonly help: string
  readonly options: Readonly<Record<string, Option>>
  /** Paragraphs for the help of this command alone. */
  readonly details?: readonly string[]
  /** Lines for a shell that work as pasted, where `TENANT`, `KEY_ID` and `GROUP` are set to ids. */
  readonly examples?: readonly Example[]
}

/** One command of `prospect-pages`. */
export type Command = Described & {
  /** The names of what must follow the words without a flag. */
  readonly operands: readonly string[]
  /** Checks what it is told. The job it answers is done once the database is open. */
  readonly prepare: (values: Values, operands: readonly string[]) => Job
  /** How its answer looks on a terminal. */
  readonly look?: Look
}

/** Options that many commands have in common. */
export const TENANT: Option = { type: 'string', value: 'T', help: 'id of the tenant; needed' }

/** Wrong use of the command line: exit code 2. */
export const WRONG_USE = 'wrong use'
export const wrongUse = (detail: string): never => {
  throw new Error(detail, { cause: WRONG_USE })
}

export const textOf = (values: Values, name: string): string | undefined => {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

export const requiredText = (values: Values, name: string): string => {
  const value = textOf(values, name)?.trim()
  return value ? nameSized(name, value) : wrongUse(`--${name} is missing`)
}

const NAME_LENGTH_MAX = 255
const nameSized = (option: string, value: string): string =>
  value.length > NAME_LENGTH_MAX || !isStorable(value)
    ? wrongUse(`--${option} must be text of at most ${NAME_LENGTH_MAX} characters`)
    : value

export const optionalName = (values: Values, name: string): string | null => {
  const value = textOf(values, name)?.trim()
  return value ? nameSized(name, value) : null
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `90d`, `24h` or `15m`, in milliseconds. */
export const durationOf = (values: Values, name: string): number | null => {
  const given = textOf(values, name)
  if (given === undefined) return null
  const [, amount = '', unit = ''] = /^(\d{1,5})([mhd])$/.exec(given) ?? []
  const unitMs = UNITS_MS[unit]
  return unitMs === undefined ? wrongUse(`--${name} must be like 90d, 24h or 15m`) : Number(amount) * unitMs
}
