import { parseArgs } from 'node:util'
import { COMMON_OPTIONS, type Command, type Values, wrongUse } from './command.ts'

/** The command whose words come first. */
export const commandIn = (args: readonly string[], commands: readonly Command[]): Command | undefined =>
  commands.find(({ words }) => `${args.join(' ')} `.startsWith(`${words} `))

/** The commands that begin with this one word, such as `keys`. */
export const groupIn = ([word, ...more]: readonly string[], commands: readonly Command[]): Command[] =>
  more.length > 0 ? [] : commands.filter(({ words }) => words.startsWith(`${word} `))

export const unknownCommand = (args: readonly string[], commands: readonly Command[]): never => {
  const verbs = groupIn(args, commands).map(({ words }) => words.split(' ')[1])
  if (verbs.length > 0) wrongUse(`${args[0]} needs one of: ${verbs.join(', ')}`)
  return wrongUse(`unknown command: ${args.slice(0, 2).join(' ')}`)
}

/** The options and arguments that follow the words of a command. Refuses incorrect use. */
export const parse = (
  { words, options, operands: names = [] }: Command,
  args: readonly string[],
): { values: Values; operands: readonly string[] } => {
  const { values, positionals: operands } = parsed({
    args: args.slice(words.split(' ').length),
    options: { ...options, ...COMMON_OPTIONS },
    allowPositionals: true,
  })
  const unexpected = operands.slice(names.length)
  if (unexpected.length > 0) wrongUse(`unexpected argument: ${unexpected.join(' ')}`)
  const missing = names[operands.length]
  if (missing !== undefined) wrongUse(`${missing} is required`)
  return { values, operands }
}

/** `parseArgs` with shorter messages. */
const parsed: typeof parseArgs = (config) => {
  try {
    return parseArgs(config)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const option = /'(-[^\s']*)/.exec(message)?.[1] ?? ''
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') wrongUse(`unknown option ${option}`)
    if (code !== 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') throw error
    return wrongUse(`${option} ${message.includes('does not take') ? 'takes no' : 'needs a'} value`)
  }
}
