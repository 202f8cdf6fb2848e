// Runs a layer of the tests, see README.md beside this file: `node test/run.ts quick`; or the files that are named.
import { spawnSync } from 'node:child_process'
import { chmodSync, globSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { run } from 'node:test'
import { startSharedPostgres } from './support/postgres.ts'
import report from './support/reporter.ts'

type Layer = {
  readonly files: readonly string[]
  readonly without?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly atOnce?: number
}
const LAYERS: Readonly<Record<string, Layer>> = {
  quick: {
    files: [
      'test/{core,cli,json,operations,shapes,config,compose}/**/*.test.ts',
      'test/adapters/**/*.test.ts',
      'test/contract/memory.test.ts',
      'test/project/imports.test.ts',
    ],
    // Sockets and waits for them; documents.
    without: [
      'test/adapters/http/node/*.test.ts',
      'test/adapters/http/{events-wait,openapi,docs}.test.ts',
      'test/adapters/webhooks/names.test.ts',
    ],
    env: { STORES: 'memory', SIMULATION_STEPS: '300' },
  },
  product: { files: ['test/**/*.test.ts'], env: { SIMULATION_STEPS: '150' } },
  full: { files: ['test/**/*.full.ts'], env: { SIMULATION_STEPS: '1000' } },
  // What must hold on a real PostgreSQL, whatever else the machine does meanwhile.
  kept: {
    files: [
      'test/{contract,fuzz,project,typed-client,upgrade}/*.full.ts',
      'test/e2e/{doctor-postgres,pg-dump,pooler}.full.ts',
      'test/faults/kill-*.fault.ts',
    ],
    // The package; the contract once more, on an embedder's driver; and processes that are killed a hundred times.
    without: [
      'test/project/package.full.ts',
      'test/contract/instance.full.ts',
      'test/faults/kill-{backups,migrations}.fault.ts',
    ],
    env: { SIMULATION_STEPS: '1000', FAULTS_TIMES: '0.5' },
  },
  // How long something may take is part of what these say: they run two at a time, and floods and shares alone.
  faults: {
    files: ['test/faults/*.fault.ts'],
    without: ['test/faults/{floods,fair-share}.fault.ts'],
    atOnce: 2,
  },
}
/** What takes longest comes first, so that none of it is left to run alone at the end. Folders, and a file. */
const LONGEST = [
  'project',
  'faults',
  'contract/postgres.test.ts',
  'e2e',
  'contract',
  'entry',
  'fuzz',
  'client',
]
/** For what hangs. A test that is slow on a busy machine has not failed. */
const FILE_MS_MAX = 600_000

/** A folder in memory, where no test waits for the disk; undefined where there is none that has room and runs programs. */
const folderInMemory = (): string | undefined => {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (bavail * bsize < 4e9) return undefined
    const folder = mkdtempSync('/dev/shm/prospect-pages-')
    // As of the system's folder: PostgreSQL runs as another user if the tests run as root.
    chmodSync(folder, 0o1777)
    const program = join(folder, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    if (spawnSync(program).status === 0) return folder
    rmSync(folder, { recursive: true })
  } catch {
    // Not on this system.
  }
  return undefined
}

const root = join(import.meta.dirname, '..')
process.chdir(root)
const [layer = 'product', ...more] = process.argv.slice(2)
const { files, without = [], env = {}, atOnce = 6 }: Layer = LAYERS[layer] ?? { files: [layer, ...more] }
const chosen = globSync([...files], { exclude: [...without, '**/node_modules'] })
const rankOf = (file: string): number => {
  const rank = LONGEST.findIndex((start) => relative('test', file).startsWith(start))
  return rank < 0 ? LONGEST.length : rank
}
const ordered = chosen.sort((a, b) => rankOf(a) - rankOf(b) || a.localeCompare(b))

// Compiled code is shared by all processes of this run and of the next.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/node')
// tap ends a file after half a minute by default.
process.env['TAP_TIMEOUT'] ??= '0'
Object.assign(process.env, env)
const memory = folderInMemory()
if (memory !== undefined) process.env['TMPDIR'] = memory
const postgres = await startSharedPostgres()
const tests = run({
  files: ordered.map((file) => join(root, file)),
  concurrency: Number(process.env['TEST_CONCURRENCY'] ?? atOnce),
  timeout: FILE_MS_MAX,
})
tests.on('test:fail', () => {
  process.exitCode = 1
})
for await (const text of report(tests)) process.stdout.write(text)
await postgres?.stop()
if (memory !== undefined) rmSync(memory, { recursive: true, force: true })
