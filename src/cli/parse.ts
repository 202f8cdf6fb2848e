import { parseArgs } from 'node:util'
import { settingsHelp } from '../settings.ts'
import { type Command, type Described, type Option, type Values, WRONG_USE, wrongUse } from './command.ts'
import { didYouMean, nearest } from './suggest.ts'

export const wordsIn = (argv: readonly string[]): string[] => argv.filter((arg) => !arg.startsWith('-'))

/** The command that the words begin with. */
export const commandIn = <D extends Described>(
  words: readonly string[],
  commands: readonly D[],
): D | undefined => commands.find(({ words: name }) => ` ${words.join(' ')} `.startsWith(` ${name} `))

/** The commands that begin with this one word: `keys`. */
export const groupIn = (words: readonly string[], commands: readonly Described[]): Described[] =>
  words.length === 1 ? commands.filter(({ words: name }) => name.startsWith(`${words[0]} `)) : []

const MORE = 'prospect-pages --help tells the commands and settings'

/** Refuses words that are no command, and says which one may be meant. */
export const unknownCommand = (argv: readonly string[], commands: readonly Described[]): never => {
  const words = wordsIn(argv)
  const group = groupIn(words, commands)
  if (group.length > 0) {
    const verbs = group.map(({ words: name }) => name.split(' ').slice(1).join(' '))
    wrongUse(
      `${words[0]} needs one more word: ${verbs.join(', ')}\nprospect-pages ${words[0]} --help tells more`,
    )
  }
  const setting = settingAmong(argv)
  if (setting !== undefined) wrongUse(`${setting}\n${MORE}`)
  const names = commands.map(({ words: name }) => name)
  const firsts = names.flatMap((name) => (name.includes(' ') ? [name.split(' ')[0] ?? name] : []))
  const [first = '', second] = words
  const meant =
    second === undefined
      ? nearest(first, [...names, ...firsts])
      : (nearest(`${first} ${second}`, names) ??
        nearest(`${second} ${first}`, names) ??
        nearest(first, names))
  return wrongUse(`there is no command ${words.slice(0, 2).join(' ')}${didYouMean(meant)}\n${MORE}`)
}

/** `serve` takes nothing: what others have as options are settings here. */
export const refuseOptionsOfServe = (argv: readonly string[]): void => {
  const rest = argv[0] === 'serve' ? argv.slice(1) : argv
  if (rest.length === 0) return
  wrongUse(`${settingAmong(rest) ?? 'serve takes no options: see its settings'}\n${MORE}`)
}

const settingAmong = (argv: readonly string[]): string | undefined => {
  const names = settingsHelp().map(({ name }) => name)
  const option = argv.find((arg) => names.includes(settingOf(arg)))
  return option && `${nameOf(option)} is no option: set ${settingOf(option)} in the environment`
}
const settingOf = (option: string): string =>
  option.startsWith('--') ? nameOf(option).slice(2).toUpperCase().replaceAll('-', '_') : ''

const JSON_OPTION: Readonly<Record<string, Option>> = { json: { type: 'boolean' } }

/** The job of a command as it was told, and whether its answer shall be JSON everywhere. Refuses wrong use. */
export const prepared = <Job>(
  command: Omit<Command, 'prepare'>,
  argv: readonly string[],
  prepare: (values: Values, operands: readonly string[]) => Job,
) => {
  try {
    const options = { ...JSON_OPTION, ...command.options }
    const unknown = argv.find((arg) => /^--\w/.test(arg) && !(nameOf(arg).slice(2) in options))
    if (unknown !== undefined && !argv.includes('--')) {
      const meant = nearest(nameOf(unknown).slice(2), Object.keys(options))
      wrongUse(
        `${command.words} has no option ${nameOf(unknown)}${didYouMean(meant === undefined ? undefined : `--${meant}`)}`,
      )
    }
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true })
    const operands = positionals.slice(command.words.split(' ').length)
    const surplus = operands.slice(command.operands.length)
    if (surplus.length > 0) wrongUse(`there is nothing to do with ${surplus.join(' ')}`)
    const missing = command.operands[operands.length]
    if (missing !== undefined) wrongUse(`${missing} is missing`)
    return { job: prepare(values, operands), isJson: values['json'] === true }
  } catch (error) {
    if (!(error instanceof Error) || !isWrongUse(error)) throw error
    const { words, usage } = command
    return wrongUse(
      `${error.message}\nusage: prospect-pages ${`${words} ${usage}`.trimEnd()}\nprospect-pages ${words} --help tells more, with examples`,
    )
  }
}

const nameOf = (option: string): string => option.split('=')[0] ?? option

const isWrongUse = (error: Error): boolean =>
  error.cause === WRONG_USE || String((error as { code?: unknown }).code ?? '').startsWith('ERR_PARSE_ARGS')
