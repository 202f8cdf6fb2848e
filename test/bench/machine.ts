import { closeSync, fdatasyncSync, openSync, readFileSync, statfsSync, writeSync } from 'node:fs'
import { arch, cpus, release, tmpdir, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { run } from './children.ts'
import { newFolder, removeFolder } from './folders.ts'
import { LOAD_TOOL } from './load.ts'
import { median } from './measure.ts'

export type Machine = Awaited<ReturnType<typeof describeMachine>>
const RIVALS = [
  'fastify',
  'fastify-cli',
  '@fastify/postgres',
  'express',
  'pg',
  'postgres',
  'ajv',
  'pino',
  'autocannon',
]
const HERE = fileURLToPath(new URL('.', import.meta.url))
const TMPFS = 0x01021994

/** The properties of the machine that the figures depend on. */
export const describeMachine = async (postgres: {
  readonly version: string
  readonly sharedBuffersMib: number
}) => ({
  date: new Date().toISOString(),
  /** The share of the processors that is in use before anything is measured: 0 to 1. */
  busyBefore: await busyPart(),
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGib: Math.round(totalmem() / 2 ** 30),
  system: `${type()} ${release()} ${arch()}`,
  /** One write of 8 kB with its flush, where the databases lie. */
  flushMs: flushMs(),
  flushesToMemory: statfsSync(tmpdir()).type === TMPFS,
  node: process.versions.node,
  postgres: postgres.version,
  sharedBuffersMib: postgres.sharedBuffersMib,
  load: LOAD_TOOL,
  prospectPages: versionIn('../../package.json'),
  commit: await commitHere(),
  packages: Object.fromEntries(
    RIVALS.map((name) => [name, versionIn(`node_modules/${name}/package.json`)]),
  ) as Readonly<Record<string, string>>,
})

const commitHere = async (): Promise<string> => {
  const git = run('git', ['describe', '--always', '--dirty', '--exclude=*'], { cwd: HERE, msMax: 10_000 })
  return (await git.catch(() => 'no commit')).trim()
}
const versionIn = (path: string): string => {
  try {
    return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version
  } catch {
    return 'missing'
  }
}

const BUSY_MS = 1_000
const busyPart = async (): Promise<number> => {
  const before = cpuTimes()
  await pause(BUSY_MS)
  const after = cpuTimes()
  return 1 - (after.idle - before.idle) / (after.all - before.all)
}
const cpuTimes = () => {
  const times = cpus().map((cpu) => cpu.times)
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
  return { idle: sum(times.map(({ idle }) => idle)), all: sum(times.flatMap((one) => Object.values(one))) }
}

const FLUSHES = 100
const flushMs = (): number => {
  const folder = newFolder('flush')
  const file = openSync(join(folder, 'file'), 'w')
  const block = Buffer.alloc(8_192)
  const times = Array.from({ length: FLUSHES }, (_, i) => {
    const began = performance.now()
    writeSync(file, block, 0, block.length, i * block.length)
    fdatasyncSync(file)
    return performance.now() - began
  })
  closeSync(file)
  removeFolder(folder)
  return median(times)
}
