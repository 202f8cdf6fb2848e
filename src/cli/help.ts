import { settingsHelp } from '../settings.ts'
import type { Described, Example } from './command.ts'
import { inPairs, wrapped } from './layout.ts'
import type { Screen } from './screen.ts'

const NAME = 'prospect-pages'

/** Options that every command has. */
const COMMON = [
  ['--json', 'JSON on a terminal too; a pipe or file always gets JSON'],
  ['--help, -h', 'this text'],
] as const

const SETTINGS_LINE = `Settings, DATABASE_URL above all, come from the environment: ${NAME} --help lists them.`

/** `prospect-pages --help`: every command and every setting. */
export const programHelp = (commands: readonly Described[], screen: Screen): string => {
  const { width, paint } = screen
  const lines = commands.map(({ words, usage, help }) => block(`${words} ${usage}`.trimEnd(), help, screen))
  const settings = settingsHelp().map(
    ({ name, default: fallback, help }) => [name, `${help}${fallback && ` [${fallback}]`}`] as const,
  )
  const paragraphs = [
    `${NAME} help COMMAND, or COMMAND --help, tells the options of one, with examples. --version tells the version.`,
    'Answers are JSON where stdout is a pipe or a file, and a table or a list on a terminal; --json makes them JSON there too. Refusals stand on stderr. Exit code: 0, 1 refused, 2 wrong use.',
    'Colours only on a terminal; NO_COLOR turns them off.',
  ]
  return [
    `${NAME} [command]\n`,
    `${paint('bold', 'Commands')}\n${lines.join('')}`,
    ...paragraphs.map((text) => `${wrapped(text, width).join('\n')}\n`),
    `${paint('bold', 'Settings, from the environment [default]')}\n${inPairs(settings, { width, indent: 2, paintLeft: (text) => paint('cyan', text) })}`,
  ].join('\n')
}

/** `prospect-pages keys --help`: the commands that begin with a word. */
export const groupHelp = (commands: readonly Described[], screen: Screen): string => {
  const lines = commands.map(({ words, usage, help }) => block(`${words} ${usage}`.trimEnd(), help, screen))
  const more = `${NAME} help ${commands[0]?.words ?? 'COMMAND'} tells the options of that one, with examples.`
  return `${lines.join('')}\n${wrapped(more, screen.width).join('\n')}\n`
}

/** `prospect-pages keys create --help`. */
export const commandHelp = (
  { words, usage, help, options, details, examples }: Described,
  screen: Screen,
): string => {
  const { width, paint } = screen
  const title = (text: string) => paint('bold', text)
  const own = Object.entries(options).map(([name, { value, help = '', default: fallback, short }]) => {
    const flag = `--${name}${value === undefined ? '' : ` ${value}`}${short === undefined ? '' : `, -${short}`}`
    return [flag, `${help}${fallback === undefined ? '' : ` [${fallback}]`}`.trim()] as const
  })
  const lines = (examples ?? []).map(({ does, line }) => `  ${paint('dim', `# ${does}`)}\n  ${line}\n`)
  return [
    block(`${NAME} ${words} ${usage}`.trimEnd(), help, screen, 0),
    ...(details ?? []).map((text) => `${wrapped(text, width).join('\n')}\n`),
    `${title('Options')}\n${inPairs([...own, ...COMMON], { width, indent: 2, paintLeft: (text) => paint('cyan', text) })}`,
    ...(lines.length > 0 ? [`${title(`Examples${idsIn(examples)}`)}\n${lines.join('')}`] : []),
    `${wrapped(SETTINGS_LINE, width).join('\n')}\n`,
  ].join('\n')
}

/** The examples name ids by variables, so that they can be pasted. */
const idsIn = (examples: readonly Example[] = []): string => {
  const names = examples.flatMap(({ line }) => line.match(/(?<="\$)(TENANT|KEY_ID|GROUP)(?=")/g) ?? [])
  return names.length === 0 ? '' : `, with an id in ${[...new Set(names)].join(' and ')}`
}

const HARD_BLANK = '\u00a0'
/** `[--name N]` stays on one line. */
const unbroken = (usage: string): string =>
  usage.replaceAll(/\[[^\]]*\]|--[\w-]+ [A-Z]+/g, (part) => part.replaceAll(' ', HARD_BLANK))

/** How a command is written, and below it what it does. */
const block = (usage: string, help: string, { width, paint }: Screen, indent = 2): string => {
  const [first = '', ...rest] = wrapped(unbroken(usage), width - indent - 4).map((line) =>
    line.replaceAll(HARD_BLANK, ' '),
  )
  const margin = ' '.repeat(indent)
  const lines = [
    margin + paint('cyan', first),
    ...rest.map((line) => `${margin}    ${paint('cyan', line)}`),
    ...wrapped(help, width - indent - 4).map((line) => `${margin}    ${line}`),
  ]
  return lines.map((line) => `${line}\n`).join('')
}
