import { accessSync, constants } from 'node:fs'
import { resolve } from 'node:path'
import { createLogOn } from '../adapters/log.ts'
import { appliedMigrations } from '../adapters/sqlite/last-migration.ts'
import { readiness, readMigrations } from '../adapters/stores/migrations.ts'
import { createRuntime } from '../compose/service.ts'
import { readConfig } from '../config/config.ts'
import { VERSION } from '../config/version.ts'
import { readyToRead } from '../core/engine/obstacles.ts'
import type { Store } from '../core/ports/store.ts'
import { openReadOnly } from '../maintenance/read-only.ts'
import { apiCommand } from './api.ts'
import { type Command, type Input, type Open, type Shell, type Texts, WrongUse, wrongUse } from './command.ts'
import { consoleCommand } from './console.ts'
import { commandHelp, listOf, programHelp } from './help.ts'
import { hookCommands } from './hooks.ts'
import { keyCommands } from './keys.ts'
import { operationCommands } from './maintenance.ts'
import { printAnswers, withCommand } from './output.ts'
import { commandIn, groupIn, parse, unknownCommand } from './parse.ts'
import { prospectLogCommands } from './prospect-logs.ts'
import { prospectCommands } from './prospects.ts'
import { databaseNames, refusalText } from './refusals.ts'
import { tenantCommands } from './tenants.ts'
import { usageCommand } from './usage.ts'

export const COMMANDS = [
  operationCommands,
  tenantCommands,
  keyCommands,
  usageCommand,
  consoleCommand,
  apiCommand,
  hookCommands,
  prospectLogCommands,
  prospectCommands,
].flat()

/** Answers go to stdout, refusals to stderr. Exit codes: 0, 1 refused, 2 incorrect use. */
export const main = async (argv: readonly string[], shell: Shell = process): Promise<void> => {
  const { stdout, stderr } = shell
  const isJson = argv.includes('--json') || !stderr.isTTY
  // In `… | head` the reader may leave early; the command still finishes its work.
  for (const stream of [stdout, stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return
      stderr.write(refusalText(`stdout could not be written: ${error.message}`, isJson))
      shell.exit(1)
    })
  const args = argv[0] === undefined || argv[0].startsWith('-') ? ['serve', ...argv] : argv
  const command = commandIn(args, COMMANDS)
  let texts: Texts = {}
  try {
    if (argv.includes('--help') || argv.includes('-h') || argv[0] === 'help')
      stdout.write(withCommand(helpFor(argv, stdout), shell))
    else {
      const known = command ?? unknownCommand(args, COMMANDS)
      const input = parse(known, args)
      texts = input.texts
      if (input.values['version'] === true) stdout.write(`${VERSION}\n`)
      else await run(known, input, shell)
    }
  } catch (error) {
    const database = error instanceof WrongUse ? undefined : databaseNames(texts, shell, error)
    stderr.write(refusalText(error, isJson, command, database, shell))
    shell.exitCode = error instanceof WrongUse ? 2 : 1
  }
}

const helpFor = (argv: readonly string[], stdout: NodeJS.WritableStream): string => {
  const words = argv.filter((arg, i) => !arg.startsWith('-') && !(i === 0 && arg === 'help'))
  if (words.length === 0) return programHelp(COMMANDS, stdout)
  const command = commandIn(words, COMMANDS)
  if (command !== undefined) return commandHelp(command, stdout)
  const group = groupIn(words, COMMANDS)
  return group.length > 0 ? listOf(group, stdout) : unknownCommand(words, COMMANDS)
}

const run = async (command: Command, input: Input, shell: Shell): Promise<void> => {
  const isJson = input.values['json'] === true || !shell.stdout.isTTY
  let store: Store | undefined
  const open: Open = async (migrates) => {
    const config = readConfig(shell.env)
    if (config.database.kind === 'memory') wrongUse('DATABASE_URL is memory: nothing would be kept')
    if (!migrates && config.database.kind === 'sqlite') refuseUnready(config.database.path)
    const world = await createRuntime(config, createLogOn(migrates ? 'info' : 'warn', shell.stderr))
    store = world.store
    if (!migrates) await readyToRead(store)
    return { store, clock: world.clock, newId: world.newId }
  }
  try {
    const format = input.values['follow'] ? { isLines: true as const } : command.format
    await printAnswers(command.run(input, open, shell), format, isJson, shell)
  } finally {
    await store?.close()
    // A connection that the driver still holds must not keep the process alive.
    if (store !== undefined) setTimeout(() => shell.exit(), 5_000).unref()
  }
}

/** Runs before anything that would create the file or change it. */
const refuseUnready = (path: string): void =>
  openReadOnly(path, (file) => {
    accessSync(path, constants.W_OK)
    readiness(readMigrations('sqlite'), resolve(path))(appliedMigrations(file))
  })
