import { spawnSync } from 'node:child_process'

/** More steps than any of these programs takes. */
const STEPS_MAX = 100

type Killing<Scene> = {
  /** A module that is run in a separate process. */
  readonly script: string
  /** What a run works on; `args` are its arguments. */
  readonly prepare: () => Promise<Scene> | Scene
  /** Checks what a run has left, and names the outcome. */
  readonly judge: (scene: Scene, wasKilled: boolean) => Promise<string> | string
}

/**
 * Runs a script again and again, each time killed one step later, until it completes. Returns how often each outcome
 * occurred.
 */
export const killAtEachStep = async <Scene extends { readonly args: readonly string[] }>({
  script,
  prepare,
  judge,
}: Killing<Scene>): Promise<Readonly<Record<string, number>>> => {
  const outcomes: Record<string, number> = {}
  for (let step = 1; step <= STEPS_MAX; step++) {
    const scene = await prepare()
    const wasKilled = runUntilStep(step, script, scene.args)
    const outcome = await judge(scene, wasKilled)
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    if (!wasKilled) return outcomes
  }
  throw new Error(`still running after ${STEPS_MAX} steps`)
}

/** Runs a script, and kills it after this step. Returns false if it completed before. */
const runUntilStep = (step: number, script: string, args: readonly string[]): boolean => {
  const preload = `data:text/javascript,${encodeURIComponent(killAfter(step))}`
  const { signal, status, stderr } = spawnSync(
    process.execPath,
    ['--import', preload, '--input-type=module', '--eval', script, ...args],
    { encoding: 'utf8' },
  )
  if (signal === null && status !== 0) throw new Error(stderr)
  return signal !== null
}

/** A module that counts a process's calls to files, SQLite and sockets, and kills it right after one of them. */
const killAfter = (step: number): string => `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  import net from 'node:net'
  import { DatabaseSync, StatementSync } from 'node:sqlite'
  let stepsLeft = ${step}
  const count = (owner, names) => {
    for (const name of names) {
      const original = owner[name]
      owner[name] = function (...args) {
        const result = original.apply(this, args)
        stepsLeft--
        if (stepsLeft === 0) process.kill(process.pid, 'SIGKILL')
        return result
      }
    }
  }
  count(fs, ['fsyncSync', 'linkSync', 'renameSync', 'rmSync'])
  count(DatabaseSync.prototype, ['exec'])
  count(StatementSync.prototype, ['run'])
  count(net.Socket.prototype, ['write'])
  syncBuiltinESMExports()`
