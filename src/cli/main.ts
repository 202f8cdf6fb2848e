import { readFileSync } from 'node:fs'
import { createLog } from '../adapters/log.ts'
import { createRuntime } from '../compose.ts'
import { type Config, readConfig } from '../config.ts'
import { BACKUP } from './backup.ts'
import { type Command, type Described, wrongUse } from './command.ts'
import { DOCTOR } from './doctor.ts'
import { commandHelp, groupHelp, programHelp } from './help.ts'
import { keyCommands } from './keys.ts'
import type { LoneCommand } from './lone-command.ts'
import { MOVE } from './move.ts'
import { pageGroupCommands } from './page-groups.ts'
import { commandIn, groupIn, prepared, refuseOptionsOfServe, unknownCommand, wordsIn } from './parse.ts'
import { present } from './present.ts'
import { showProgress } from './progress.ts'
import { refused } from './refusals.ts'
import { screenOf } from './screen.ts'
import { serve } from './serve.ts'
import { tenantCommands } from './tenants.ts'

const SERVE: Described = {
  words: 'serve',
  usage: '',
  help: 'migrates, serves and publishes until SIGTERM or SIGINT; the default',
  options: {},
  details: [
    'On an embedded or memory database without any key it creates a tenant, a key and a page group, and prints the key and calls to paste. All else is said by settings, from the environment.',
  ],
  examples: [
    { does: 'on its own database file, on port 8080', line: 'prospect-pages serve' },
    {
      does: 'on PostgreSQL, for other machines too',
      line: 'HOST=0.0.0.0 DATABASE_URL=postgres://user:password@host/database prospect-pages serve',
    },
  ],
}
const MIGRATE: Command = {
  words: 'migrate',
  usage: '',
  help: 'brings the database to the schema of this program',
  options: {},
  examples: [{ does: 'before the first server of a new release', line: 'prospect-pages migrate' }],
  operands: [],
  prepare: () => async () => ({ migrated: true }),
}
/** All but `serve`. Each finds its database migrated, apart from those that see to it themselves. */
export const COMMANDS: readonly (Command | LoneCommand)[] = [
  MIGRATE,
  ...tenantCommands,
  ...keyCommands,
  ...pageGroupCommands,
  DOCTOR,
  BACKUP,
  MOVE,
]
const DESCRIBED: readonly Described[] = [SERVE, ...COMMANDS]

/**
 * Exit codes: 0, 1 refused, 2 wrong use. Answers on stdout, refusals on stderr: JSON on a pipe or with `--json`, and for
 * people on a terminal.
 */
export const main = async (argv: readonly string[]): Promise<void> => {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', unlessNobodyReads)
  try {
    await run(argv)
  } catch (error) {
    const screen = screenOf(process.stderr, process.env)
    const { exitCode, text } = refused(error, screen, !screen.isTerminal || argv.includes('--json'))
    process.stderr.write(text)
    process.exitCode = exitCode
  }
}

/** `… | head` may leave before the end: what is under way is done all the same. */
const unlessNobodyReads = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE') throw error
}

const run = async (argv: readonly string[]): Promise<void> => {
  if (argv.includes('--help') || argv.includes('-h') || argv[0] === 'help') return print(helpFor(argv))
  if (argv.includes('--version')) return print(`${version()}\n`)
  const words = wordsIn(argv)
  if (words.length === 0 || words[0] === 'serve') {
    refuseOptionsOfServe(argv)
    return serveOrExit(readConfig(process.env))
  }
  const command = commandIn(words, COMMANDS)
  return command === undefined ? unknownCommand(argv, DESCRIBED) : runCommand(command, argv)
}

const helpFor = (argv: readonly string[]): string => {
  const screen = screenOf(process.stdout, process.env)
  const words = wordsIn(argv[0] === 'help' ? argv.slice(1) : argv)
  if (words.length === 0) return programHelp(DESCRIBED, screen)
  const command = commandIn(words, DESCRIBED)
  if (command !== undefined) return commandHelp(command, screen)
  const group = groupIn(words, DESCRIBED)
  return group.length > 0 ? groupHelp(group, screen) : unknownCommand(words, DESCRIBED)
}

const runCommand = async (command: Command | LoneCommand, argv: readonly string[]): Promise<void> => {
  const screen = screenOf(process.stdout, process.env)
  const lookOf = (isJson: boolean) => ({ ...command.look, isJson: isJson || !screen.isTerminal })
  if ('prepareAlone' in command) {
    const { job, isJson } = prepared(command, argv, command.prepareAlone)
    return present(job(process.env), lookOf(isJson), screen, { print, end: () => {} })
  }
  const { job, isJson } = prepared(command, argv, command.prepare)
  const config = readConfig(process.env)
  if (config.database.kind === 'memory')
    wrongUse('DATABASE_URL is memory: nothing would be kept\nprospect-pages --help tells what else it can be')
  const world = createRuntime(config, createLog('warn', 'at once'))
  const { progress, end } = showProgress({
    screen: screenOf(process.stderr, process.env),
    write: (text) => process.stderr.write(text),
    nowMs: () => performance.now(),
  })
  try {
    await world.store.migrate()
    await present(job(world, progress), lookOf(isJson), screen, { print, end })
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

const print = (text: string): void => {
  process.stdout.write(text)
}

const version = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
