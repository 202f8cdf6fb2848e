import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { type Environment, inherited } from './program.ts'
import { programLine } from './terminal.ts'

/** Pastes a line into a shell where `prospect-pages` is installed. */
export const paste = async (line: string, env: Environment, folder = tmpdir()) => {
  const program = `prospect-pages() { ${programLine()} "$@"; }`
  const bash = spawn('bash', ['-euo', 'pipefail', '-c', `${program}\n${line}`], {
    cwd: folder,
    env: { ...inherited(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    bash[stream].on('data', (chunk) => {
      output[stream] += chunk
    })
  const code = await new Promise<number | null>((resolve) => bash.once('close', resolve))
  return { code, ...output }
}
