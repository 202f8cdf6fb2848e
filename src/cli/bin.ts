#!/usr/bin/env node
// Runs the command line, under a Node that is new enough: where the one that was asked is too old, under the Node that
// a checkout brings with it. Nothing that an old Node could not load may be imported from here.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const isNewEnough = major > 22 || (major === 22 && minor >= 13)
const ownNode = fileURLToPath(new URL('../../node_modules/node/bin/node', import.meta.url))

// Node 22 warns that its SQLite is experimental, in words among lines of JSON; the tests run on it.
const emitWarning = process.emitWarning as (...args: unknown[]) => void
process.emitWarning = (...args: unknown[]) => {
  if (!String(args[0]).startsWith('SQLite is an experimental')) emitWarning.apply(process, args)
}

if (isNewEnough) {
  // Started from the other branch: the end of that process, however it comes, is the end of this one.
  if (process.env['PROSPECT_PAGES_PARENT'] !== undefined && process.channel) {
    process.channel.unref()
    process.once('disconnect', () => process.exit(1))
    // The workers have a parent of their own.
    delete process.env['PROSPECT_PAGES_PARENT']
  }
  const { main } = await import('./main.ts')
  await main(process.argv.slice(2))
} else if (existsSync(ownNode)) {
  const child = spawn(ownNode, process.argv.slice(1), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PROSPECT_PAGES_PARENT: String(process.pid) },
  })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code) => process.exit(code ?? 1))
} else {
  process.stderr.write(`prospect-pages needs Node 22.13 or newer; this is ${process.versions.node}\n`)
  process.exitCode = 1
}
