import { readFileSync } from 'node:fs'
import { createLog } from '../adapters/log.ts'
import { createRuntime } from '../compose/service.ts'
import { readConfig } from '../config/config.ts'
import type { Store } from '../core/ports/store.ts'
import { type Command, type CommandDeps, WrongUse, wrongUse } from './command.ts'
import { commandHelp, listOf, programHelp, usageHint } from './help.ts'
import { keyCommands } from './keys.ts'
import { operationCommands } from './operations.ts'
import { printAnswers, refusalText, reportProgress, wrongUseText } from './output.ts'
import { pageGroupCommands } from './page-groups.ts'
import { commandIn, groupIn, parse, unknownCommand } from './parse.ts'
import { tenantCommands } from './tenants.ts'

export const COMMANDS = [operationCommands, tenantCommands, keyCommands, pageGroupCommands].flat()

/** Answers go to stdout, refusals to stderr. Exit codes: 0, 1 refused, 2 incorrect use. */
export const main = async (argv: readonly string[]): Promise<void> => {
  // In `… | head` the reader may leave early; the command still finishes its work.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  const args = argv[0] === undefined || argv[0].startsWith('-') ? ['serve', ...argv] : argv
  const command = commandIn(args, COMMANDS)
  try {
    if (argv.includes('--help') || argv.includes('-h') || argv[0] === 'help')
      process.stdout.write(helpFor(argv))
    else if (argv.includes('--version')) process.stdout.write(`${version()}\n`)
    else await run(command ?? unknownCommand(args, COMMANDS), args)
  } catch (error) {
    const isWrongUse = error instanceof WrongUse
    const isJson = argv.includes('--json') || !process.stderr.isTTY
    const text = isWrongUse ? wrongUseText(error.message, usageHint(command)) : refusalText(error, isJson)
    process.stderr.write(text)
    process.exitCode = isWrongUse ? 2 : 1
  }
}

const helpFor = (argv: readonly string[]): string => {
  const words = argv.filter((arg, i) => !arg.startsWith('-') && !(i === 0 && arg === 'help'))
  if (words.length === 0) return programHelp(COMMANDS)
  const command = commandIn(words, COMMANDS)
  if (command !== undefined) return commandHelp(command)
  const group = groupIn(words, COMMANDS)
  return group.length > 0 ? listOf(group) : unknownCommand(words, COMMANDS)
}

const run = async (command: Command, args: readonly string[]): Promise<void> => {
  const input = { ...parse(command, args), env: process.env }
  const isJson = input.values['json'] === true || !process.stdout.isTTY
  let store: Store | undefined
  const open = async (): Promise<CommandDeps> => {
    const config = readConfig(process.env)
    if (config.database.kind === 'memory') wrongUse('DATABASE_URL is memory: nothing would be kept')
    const world = createRuntime(config, createLog('warn', 'at once'))
    store = world.store
    await store.migrate()
    return world
  }
  try {
    await printAnswers(command.run(input, open, reportProgress()), command.format, isJson)
  } finally {
    await store?.close()
    // A connection that the driver still holds must not keep the process alive.
    if (store !== undefined) setTimeout(() => process.exit(), 5_000).unref()
  }
}

const version = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
