import { existsSync, statSync } from 'node:fs'
import type { ParseArgsOptionsConfig } from 'node:util'
import { durationMs } from '../config/duration.ts'
import type { Needs, Store } from '../core/ports/store.ts'

/** The parts of the running process that a command uses. A test passes streams and an environment instead. */
export type Shell = Pick<NodeJS.Process, 'argv' | 'env' | 'exit' | 'listenerCount' | 'off' | 'once'> & {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  exitCode?: NodeJS.Process['exitCode']
}

export type Texts = Readonly<Record<string, string>>
export type CommandDeps = Needs<keyof Store>

/** An option as `parseArgs` takes it, with its line in the help. */
export type Option = ParseArgsOptionsConfig[string] & {
  /** The placeholder for its value: `T` in `--tenant T`. */
  readonly value?: string
  readonly help: string
  readonly required?: true
  /** An id or a name: short text, taken without surrounding spaces. */
  readonly isName?: true
}

/** The arguments after the words of a command, checked as its declaration says. */
export type Input = {
  readonly values: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>
  /** The values that are single texts. */
  readonly texts: Texts
  readonly operands: readonly string[]
}

/** How answers look on a terminal. */
export type TableFormat = {
  /** The columns of a table, the most important first: it shows those that fit. By default all, or pairs if they do not fit. */
  readonly columns?: readonly string[]
  /** The answers are rows, even one or none; or the member whose items are the rows. */
  readonly list?: true | string
  /** The answers are JSON lines even on a terminal. The command ends when the reader is gone. */
  readonly isLines?: true
  /** A sentence below the answer. */
  readonly note?: string
}

/** One command. Its usage, help, parsing and output follow from this declaration. */
export type Command = {
  /** For example `keys create`. */
  readonly words: string
  /** One line. */
  readonly help: string
  /** More lines for `COMMAND --help`. */
  readonly details?: readonly string[]
  /** The names of the arguments that follow the words; those in brackets may be left out. */
  readonly operands?: readonly string[]
  /** Refuses arguments for a reason that only this command knows. */
  readonly checkOperands?: (operands: readonly string[]) => void
  readonly options?: Readonly<Record<string, Option>>
  /** Shell lines by purpose. They work as pasted once `TENANT`, `KEY_ID`, `GROUP`, `ENDPOINT` and `HOOK` are set to ids, and `KEY` to a key. */
  readonly examples: Readonly<Record<string, string>>
  readonly format?: TableFormat
  /** Returns one object, a list, several one by one, or null for nothing to print. Check the input before `open`. */
  readonly run: (input: Input, open: Open, shell: Shell) => Answers
}
/** Opens the database. It must have this program's schema, unless the command migrates it. */
export type Open = (migrates?: 'migrates') => Promise<CommandDeps>
export type Answers = Promise<object | null> | AsyncIterable<object>

export const COMMON_OPTIONS: Readonly<Record<string, Option>> = {
  json: { type: 'boolean', help: 'print JSON on a terminal too; a pipe or file always gets JSON' },
  help: { type: 'boolean', short: 'h', help: 'print this text' },
}
/** An option with a value: `--tenant T`. */
export const valued = (value: string, help: string, more: Partial<Option> = {}): Option => ({
  type: 'string',
  value,
  help,
  ...more,
})
export const TENANT = valued('T', 'tenant id', { required: true, isName: true })
export const isFolder = (path: string): boolean => existsSync(path) && statSync(path).isDirectory()

/** The command line was used incorrectly: exit code 2. */
export class WrongUse extends Error {}
export const wrongUse = (detail: string): never => {
  throw new WrongUse(detail)
}

/** `90d`, `24h` or `15m`, in milliseconds. */
export const durationOf = (texts: Texts, option: string): number | null => {
  const text = texts[option]
  if (text === undefined) return null
  return durationMs(text) ?? wrongUse(`--${option} must be a duration such as 90d, 24h or 15m`)
}
