import { settingsHelp } from '../config/settings.ts'
import { COMMON_OPTIONS, type Command, type Option, type Shell } from './command.ts'
import { inPairs, paint, withCommand } from './output.ts'

/** `keys create --tenant T [--name N] …` */
const usageOf = ({ words, operands = [], options = {} }: Command): string => {
  const flags = Object.entries(options).flatMap(([name, option]) => {
    if (option.short) return [] // `--version` takes the place of a command
    const flag = flagOf(name, option)
    return `${option.required ? flag : `[${flag}]`}${option.multiple ? '…' : ''}`
  })
  return [words, ...operands, ...flags].join(' ')
}

const flagOf = (name: string, { value }: Option): string => `--${name}${value ? ` ${value}` : ''}`

/** A hint that follows a message about incorrect use. */
export const usageHint = (command: Command | undefined, shell?: Shell): string =>
  withCommand(
    command === undefined
      ? 'prospect-pages --help lists the commands'
      : `usage: prospect-pages ${usageOf(command)}\nprospect-pages ${command.words} --help describes the options`,
    shell,
  )

export const programHelp = (
  commands: readonly Command[],
  stdout?: NodeJS.WritableStream,
): string => `prospect-pages [command]

${paint('bold', 'Commands', stdout)}
${listOf(commands, stdout)}
prospect-pages COMMAND --help describes one command, with examples. --version prints the version.

A pipe or a file gets JSON, one line for each answer; a terminal gets a table, or JSON with --json.
Refusals go to stderr. Exit codes: 0 success, 1 refused, 2 incorrect use. NO_COLOR turns colors off.

${paint('bold', 'Settings, from the environment [default]', stdout)}
${inPairs(
  settingsHelp().map((setting) => [`  ${setting.name}`, withDefault(setting.help, setting.default)]),
  stdout,
)}`

export const commandHelp = (command: Command, stdout?: NodeJS.WritableStream): string => {
  const { help, details = [], options, examples } = command
  const { json, ...common } = COMMON_OPTIONS
  const answers = json && command.words !== 'serve' ? { json } : {}
  const flags = Object.entries({ ...options, ...answers, ...common }).map(([name, option]) => [
    `  ${flagOf(name, option)}${option.short ? `, -${option.short}` : ''}`,
    withDefault(`${option.help}${option.required ? ' (required)' : ''}`, option.default),
  ])
  return `prospect-pages ${paint('cyan', usageOf(command), stdout)}
  ${[help, ...details].join('\n  ')}

${paint('bold', 'Options', stdout)}
${inPairs(flags, stdout)}
${paint('bold', 'Examples', stdout)}
${Object.entries(examples)
  .map(([does, line]) => `  ${paint('dim', `# ${does}`, stdout)}\n  ${line}\n`)
  .join('')}
Settings such as DATABASE_URL come from the environment: prospect-pages --help lists them.
`
}

/** `prospect-pages keys --help` */
export const listOf = (commands: readonly Command[], stdout?: NodeJS.WritableStream): string =>
  inPairs(
    commands.map(({ words, help }) => [`  ${words}`, help]),
    stdout,
  )

const withDefault = (help: string, fallback: Option['default']): string =>
  fallback ? `${help} [${fallback}]` : help
