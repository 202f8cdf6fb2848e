import { parseArgs } from 'node:util'
import { SETTINGS } from '../config/settings.ts'
import { isNear, nearest } from '../shapes/near.ts'
import { isStorable } from '../shapes/text.ts'
import { COMMON_OPTIONS, type Command, type Input, type Option, type Texts, wrongUse } from './command.ts'

/** The command whose words come first. */
export const commandIn = (args: readonly string[], commands: readonly Command[]): Command | undefined =>
  commands.find(({ words }) => `${args.join(' ')} `.startsWith(`${words} `))

/** The commands that begin with this one word, such as `keys`. */
export const groupIn = ([word, ...more]: readonly string[], commands: readonly Command[]): Command[] =>
  more.length > 0 ? [] : commands.filter(({ words }) => words.startsWith(`${word} `))

export const unknownCommand = (args: readonly string[], commands: readonly Command[]): never => {
  const verbs = groupIn(args, commands).map(({ words }) => words.split(' ')[1])
  if (verbs.length > 0) wrongUse(`${args[0]} needs one of: ${verbs.join(', ')}`)
  const commandNames = commands.map(({ words }) => words)
  const firstWords = commandNames.map((name) => name.replace(/ .*/, '')).filter((word) => word !== args[0])
  const written = args.slice(0, 2).join(' ')
  const hint = suggestion(written, commandNames) || suggestion(args[0], firstWords)
  return wrongUse(`unknown command: ${written}${hint}`)
}

const NAME_LENGTH_MAX = 255

/** The options and arguments that follow the words of a command. Refuses incorrect use. */
export const parse = (command: Command, args: readonly string[]): Input => {
  const known = { ...command.options, ...COMMON_OPTIONS }
  const { values, positionals, tokens } = parseOrExplain({
    args: args.slice(command.words.split(' ').length),
    options: known,
    allowPositionals: true,
    tokens: true,
  })
  const names = tokens.flatMap((token) => (token.kind === 'option' ? token.name : []))
  const repeated = names.find((name, i) => names.indexOf(name) < i && !known[name]?.multiple)
  if (repeated !== undefined) wrongUse(`--${repeated} can be given only once`)
  checkOperands(command, positionals)
  return { values, texts: textsOf(values, known), operands: positionals }
}

const checkOperands = (command: Command, operands: readonly string[]): void => {
  const { operands: names = [] } = command
  command.checkOperands?.(operands)
  const unexpected = operands.slice(names.length)
  if (unexpected.length > 0) wrongUse(`unexpected argument: ${unexpected.join(' ')}`)
  const missing = names.find((name, i) => !name.startsWith('[') && !operands[i]?.trim())
  if (missing !== undefined) wrongUse(`${missing} is required`)
}

/** The values that are single texts, checked as their options demand. */
const textsOf = (values: Input['values'], known: Readonly<Record<string, Option>>): Texts => {
  const texts: Record<string, string> = {}
  for (const [name, { required, isName }] of Object.entries(known)) {
    const value = values[name]
    const text = typeof value === 'string' ? value.trim() : ''
    if (required && text === '') wrongUse(`--${name} is required`)
    if (isName && (text.length > NAME_LENGTH_MAX || !isStorable(text)))
      wrongUse(`--${name} must be text of at most ${NAME_LENGTH_MAX} characters`)
    if (typeof value === 'string') texts[name] = isName ? text : value
  }
  return texts
}

/** `parseArgs` with shorter messages. */
const parseOrExplain: typeof parseArgs = (config) => {
  try {
    return parseArgs(config)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    // The error names the option only in its message: 'Option '-h, --help' does not take an argument'.
    const option = /'(?:-\w, )?(-[^\s']*)/.exec(message)?.[1] ?? ''
    const known = Object.keys(config?.options ?? {}).map((name) => `--${name}`)
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
      wrongUse(`unknown option ${option}${suggestion(option, known) || settingHint(option)}`)
    if (code !== 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') throw error
    return wrongUse(`${option} ${message.includes('does not take') ? 'takes no' : 'needs a'} value`)
  }
}

const suggestion = (word = '', known: readonly string[]): string => {
  const near = nearest(word, known)
  return near === undefined ? '' : `; did you mean ${near}?`
}

/** A user who types `--port` expects an option, but settings come from the environment. */
const settingHint = (option: string): string => {
  const word = option.replace(/^-+/, '').toUpperCase().replaceAll('-', '_')
  const names = Object.keys(SETTINGS)
  const exact = names.find((name) => name === word)
  const similar = word.length > 3 ? names.find((name) => isNear(word, name, 1)) : undefined
  const name = exact ?? similar
  return name === undefined ? '' : `; ${name} is a setting: write ${name}=… before the command`
}
