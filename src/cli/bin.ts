#!/usr/bin/env node
// Runs the command line. If this Node is too old, it starts the one among the dependencies of a checkout. Only import
// here what an old Node can load.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const isNewEnough = major > 22 || (major === 22 && minor >= 13)
const bundledNode = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))

// Node 22 prints that its SQLite is experimental, between our lines of JSON.
const emitWarning = process.emitWarning as (...args: unknown[]) => void
process.emitWarning = (...args: unknown[]) => {
  if (!String(args[0]).startsWith('SQLite is an experimental')) emitWarning.apply(process, args)
}

if (isNewEnough) {
  // Started by the branch below: this process ends with that one, however it ends.
  if (process.env['PROSPECT_PAGES_PARENT'] !== undefined && process.channel) {
    process.channel.unref()
    process.once('disconnect', () => process.exit(1))
    // Workers must not inherit it: their parent is this process.
    delete process.env['PROSPECT_PAGES_PARENT']
  }
  const { main } = await import('./main.ts')
  await main(process.argv.slice(2))
} else if (existsSync(bundledNode)) {
  const child = spawn(bundledNode, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PROSPECT_PAGES_PARENT: String(process.pid) },
  })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => process.exit(code ?? 1))
} else {
  process.stderr.write(`prospect-pages needs Node 22.13 or newer; this is ${process.versions.node}\n`)
  process.exitCode = 1
}
