import { type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Cluster = {
  /** Where the programs of PostgreSQL are. */
  readonly bin: string
  /** The folder that is made. */
  readonly data: string
  /** As whom, where, and in which environment its programs run. */
  readonly options: SpawnOptions
  /** More arguments of `initdb`. */
  readonly initdb: readonly string[]
}

/**
 * Makes the folder of a new PostgreSQL. `initdb` takes more than a second, and the tests want dozens of them: where
 * nothing else is asked of it, one that was made before is copied. That one stays in the system's folder for such things.
 */
export const makeCluster = async ({ bin, data, options, initdb }: Cluster): Promise<void> => {
  if (initdb.length > 0) return make(bin, data, options, initdb)
  const { stdout } = spawnSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' })
  const mark = createHash('sha256')
    .update(`${bin} ${stdout} ${process.getuid?.()}`)
    .digest('hex')
    .slice(0, 12)
  const kept = join(realpathSync(tmpdir()), `prospect-pages-cluster-${mark}`)
  if (!existsSync(kept)) await keep(bin, kept, options)
  await done('cp', ['-R', kept, data], options)
}

let made = 0
/** Whoever is first gives it the name: several may be made at once, by this process too. */
const keep = async (bin: string, kept: string, options: SpawnOptions): Promise<void> => {
  const own = `${kept}-${process.pid}-${made++}`
  await make(bin, own, options, [])
  try {
    renameSync(own, kept)
  } catch (error) {
    rmSync(own, { recursive: true })
    if (!existsSync(kept)) throw error
  }
}

const make = (bin: string, data: string, options: SpawnOptions, more: readonly string[]): Promise<void> =>
  done(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', ...more],
    options,
  )

const done = async (program: string, args: readonly string[], options: SpawnOptions): Promise<void> => {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${program} ended with ${code}: ${stderr}`)),
    )
  })
}
