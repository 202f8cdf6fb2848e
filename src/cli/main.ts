import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createLog } from '../adapters/log.ts'
import { realWorld } from '../compose.ts'
import { type Config, readConfig } from '../config.ts'
import { DomainFailure } from '../core/failures.ts'
import { writeJson } from '../core/write-json.ts'
import { settingsHelp } from '../settings.ts'
import { BACKUP } from './backup.ts'
import { type Command, WRONG_USE, wrongUse } from './command.ts'
import { DOCTOR } from './doctor.ts'
import { keyCommands } from './keys.ts'
import type { LoneCommand } from './lone-command.ts'
import { MOVE } from './move.ts'
import { pageGroupCommands } from './page-groups.ts'
import { serve } from './serve.ts'
import { tenantCommands } from './tenants.ts'

const MIGRATE: Command = {
  words: 'migrate',
  usage: '',
  help: 'brings the database to the schema of this program',
  options: {},
  operands: [],
  prepare: () => async () => ({ migrated: true }),
}
/** All but `serve`. Each finds its database migrated, apart from those that see to it themselves. */
const COMMANDS: readonly (Command | LoneCommand)[] = [
  MIGRATE,
  ...tenantCommands,
  ...keyCommands,
  ...pageGroupCommands,
  DOCTOR,
  BACKUP,
  MOVE,
]

/** Exit codes: 0, 1 refused, 2 wrong use. Answers are JSON on stdout, refusals JSON on stderr. */
export const main = async (argv: readonly string[]): Promise<void> => {
  try {
    await run(argv)
  } catch (error) {
    if (error instanceof DomainFailure) {
      const { kind: code, message: detail, cause, facts } = error
      const why = cause instanceof Error ? { cause: cause.message } : {}
      process.stderr.write(`${JSON.stringify({ code, detail, ...why, ...facts })}\n`)
      process.exitCode = 1
    } else if (error instanceof Error && (error.cause === WRONG_USE || isArgumentsError(error))) {
      process.stderr.write(`${error.message}\nprospect-pages --help tells the commands and settings\n`)
      process.exitCode = 2
    } else {
      const { message } = error instanceof Error ? error : { message: String(error) }
      process.stderr.write(`${JSON.stringify({ code: 'refused', detail: message })}\n`)
      process.exitCode = 1
    }
  }
}

const run = async (argv: readonly string[]): Promise<void> => {
  if (argv.includes('--help') || argv.includes('-h') || argv[0] === 'help') return print(helpText())
  if (argv.includes('--version')) return print(`${version()}\n`)
  const words = argv.filter((arg) => !arg.startsWith('-'))
  if (words.length === 0 || words[0] === 'serve') {
    if (argv.length > 1 || (argv.length === 1 && argv[0] !== 'serve'))
      wrongUse('serve takes no options: see its settings')
    return serveOrExit(readConfig(process.env))
  }
  const command = COMMANDS.find(({ words: name }) => ` ${words.join(' ')} `.startsWith(` ${name} `))
  if (command === undefined) return wrongUse(`there is no command ${words.slice(0, 2).join(' ')}`)
  return runCommand(command, argv)
}

const runCommand = async (command: Command | LoneCommand, argv: readonly string[]): Promise<void> => {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: command.options,
    allowPositionals: true,
  })
  const operands = positionals.slice(command.words.split(' ').length)
  if (operands.length !== command.operands.length)
    wrongUse(`${command.words} takes ${command.operands.join(' ') || 'nothing'} without a flag`)
  if ('prepareAlone' in command) {
    const answer = await command.prepareAlone(values, operands)(process.env)
    return print(`${writeJson(answer)}\n`)
  }
  const job = command.prepare(values, operands)
  const config = readConfig(process.env)
  if (config.database.kind === 'memory') wrongUse('DATABASE_URL is memory: nothing would be kept')
  const world = realWorld(config, createLog('warn', 'at once'))
  try {
    await world.store.migrate()
    const answer = await job(world)
    for (const one of Array.isArray(answer) ? answer : [answer]) print(`${writeJson(one)}\n`)
  } finally {
    await world.store.close()
    // Whatever the driver still holds on to, a command ends.
    setTimeout(() => process.exit(), 5_000).unref()
  }
}

const serveOrExit = async (config: Config): Promise<void> => {
  try {
    await serve(config)
  } catch (error) {
    // What was already opened, the socket above all, would keep the process alive.
    setImmediate(() => process.exit())
    throw error
  }
}

const isArgumentsError = (error: Error): boolean =>
  String((error as { code?: unknown }).code ?? '').startsWith('ERR_PARSE_ARGS')

const print = (text: string): void => {
  process.stdout.write(text)
}

const version = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version

const helpText = (): string => {
  const commands = COMMANDS.map(({ words, usage, help }) => `  ${words} ${usage}\n      ${help}`)
  const settings = settingsHelp().map(
    ({ name, default: fallback, help }) => `  ${name.padEnd(26)}${help}${fallback && ` [${fallback}]`}`,
  )
  return `prospect-pages [command]

Commands; each answers JSON on stdout; exit code 0, 1 refused, 2 wrong use:
  serve
      migrates, serves and publishes; the default
${commands.join('\n')}

Settings, from the environment [default]:
${settings.join('\n')}
`
}
