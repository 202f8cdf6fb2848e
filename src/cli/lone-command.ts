import type { Command, Values } from './command.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A command for which no database is opened, made or migrated: it sees to that itself. */
export type LoneCommand = Omit<Command, 'prepare'> & {
  /** Checks what it is told. Its answer is printed. */
  readonly prepareAlone: (
    values: Values,
    operands: readonly string[],
  ) => (environment: Environment) => Promise<object>
}
