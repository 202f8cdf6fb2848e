import { spawnSync } from 'node:child_process'

/** What a process does to files, to SQLite and to sockets is counted, and it kills itself right after the nth of these. */
const preload = (nth: number): string => `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  import net from 'node:net'
  import { DatabaseSync, StatementSync } from 'node:sqlite'
  let left = ${nth}
  const count = (owner, names) => {
    for (const name of names) {
      const real = owner[name]
      owner[name] = function (...args) {
        const answer = real.apply(this, args)
        if (--left === 0) process.kill(process.pid, 'SIGKILL')
        return answer
      }
    }
  }
  count(fs, ['fsyncSync', 'linkSync', 'renameSync', 'rmSync'])
  count(DatabaseSync.prototype, ['exec'])
  count(StatementSync.prototype, ['run'])
  count(net.Socket.prototype, ['write'])
  syncBuiltinESMExports()`

const POINTS_MAX = 100

/**
 * Runs a module again and again, each time killed one step later, until it ends by itself. Each run gets what `prepare`
 * makes; `judge` names what is left of it. Answers how often each outcome occurred.
 */
export const killAtEachStep = async <World extends { readonly args: readonly string[] }>(
  script: string,
  prepare: (nth: number) => Promise<World> | World,
  judge: (world: World, wasKilled: boolean) => Promise<string> | string,
): Promise<Readonly<Record<string, number>>> => {
  const outcomes: Record<string, number> = {}
  for (let nth = 1; nth <= POINTS_MAX; nth++) {
    const world = await prepare(nth)
    const code = `data:text/javascript,${encodeURIComponent(preload(nth))}`
    const { signal, status, stderr } = spawnSync(
      process.execPath,
      ['--import', code, '--input-type=module', '--eval', script, ...world.args],
      { encoding: 'utf8' },
    )
    if (signal === null && status !== 0) throw new Error(stderr)
    const outcome = await judge(world, signal !== null)
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    if (signal === null) return outcomes
  }
  throw new Error(`still running after ${POINTS_MAX} steps`)
}
