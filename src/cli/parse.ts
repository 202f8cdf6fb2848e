import { parseArgs } from 'node:util'
import { SETTINGS } from '../config/settings.ts'
import { isNear, nearest } from '../shapes/near.ts'
import { isStorable } from '../shapes/text.ts'
import { COMMON_OPTIONS, type Command, type Input, wrongUse } from './command.ts'

/** The command whose words come first. */
export const commandIn = (args: readonly string[], commands: readonly Command[]): Command | undefined =>
  commands.find(({ words }) => `${args.join(' ')} `.startsWith(`${words} `))

/** The commands that begin with this one word, such as `keys`. */
export const groupIn = ([word, ...more]: readonly string[], commands: readonly Command[]): Command[] =>
  more.length > 0 ? [] : commands.filter(({ words }) => words.startsWith(`${word} `))

export const unknownCommand = (args: readonly string[], commands: readonly Command[]): never => {
  const verbs = groupIn(args, commands).map(({ words }) => words.split(' ')[1])
  if (verbs.length > 0) wrongUse(`${args[0]} needs one of: ${verbs.join(', ')}`)
  const known = commands.map(({ words }) => words)
  const words = args.slice(0, 2).join(' ')
  const firsts = known.map((words) => words.replace(/ .*/, '')).filter((first) => first !== args[0])
  return wrongUse(`unknown command: ${words}${suggestion(words, known) || suggestion(args[0], firsts)}`)
}

const NAME_LENGTH_MAX = 255

/** The options and arguments that follow the words of a command. Refuses incorrect use. */
export const parse = ({ words, options, operands = [] }: Command, args: readonly string[]): Input => {
  const known = { ...options, ...COMMON_OPTIONS }
  const { values, positionals, tokens } = parsed({
    args: args.slice(words.split(' ').length),
    options: known,
    allowPositionals: true,
    tokens: true,
  })
  const names = tokens.flatMap((token) => (token.kind === 'option' ? token.name : []))
  const repeated = names.find((name, i) => names.indexOf(name) < i && !known[name]?.multiple)
  if (repeated !== undefined) wrongUse(`--${repeated} can be given only once`)
  if (/^keys/.test(words) && positionals[0]?.startsWith('pp_'))
    wrongUse(operands[0] ? 'ID is the apiKeyId, not the key itself' : 'the key is read from stdin')
  const unexpected = positionals.slice(operands.length)
  if (unexpected.length > 0) wrongUse(`unexpected argument: ${unexpected.join(' ')}`)
  const missing = operands.find((name, i) => !name.startsWith('[') && !positionals[i]?.trim())
  if (missing !== undefined) wrongUse(`${missing} is required`)
  const texts: Record<string, string> = {}
  for (const [name, { required, isName }] of Object.entries(known)) {
    const value = values[name]
    const text = typeof value === 'string' ? value.trim() : ''
    if (required && text === '') wrongUse(`--${name} is required`)
    if (isName && (text.length > NAME_LENGTH_MAX || !isStorable(text)))
      wrongUse(`--${name} must be text of at most ${NAME_LENGTH_MAX} characters`)
    if (typeof value === 'string') texts[name] = isName ? text : value
  }
  return { values, texts, operands: positionals }
}

/** `parseArgs` with shorter messages. */
const parsed: typeof parseArgs = (config) => {
  try {
    return parseArgs(config)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const option = /'(?:-\w, )?(-[^\s']*)/.exec(message)?.[1] ?? ''
    const known = Object.keys(config?.options ?? {}).map((name) => `--${name}`)
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
      wrongUse(`unknown option ${option}${suggestion(option, known) || settingLike(option)}`)
    if (code !== 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') throw error
    return wrongUse(`${option} ${message.includes('does not take') ? 'takes no' : 'needs a'} value`)
  }
}

const suggestion = (word = '', known: readonly string[]): string => {
  const near = nearest(word, known)
  return near === undefined ? '' : `; did you mean ${near}?`
}

/** A user who types `--port` expects an option, but settings come from the environment. */
const settingLike = (option: string): string => {
  const word = option.replace(/^-+/, '').toUpperCase().replaceAll('-', '_')
  const names = Object.keys(SETTINGS)
  const name =
    names.find((name) => name === word) ?? names.find((name) => isNear(word, name, 1) && word.length > 3)
  return name === undefined ? '' : `; ${name} is a setting: write ${name}=… before the command`
}
