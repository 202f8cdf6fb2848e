import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

/** A process that ends with this one, whatever becomes of it. */
export const startChild = (command: string, args: readonly string[], options: SpawnOptions): ChildProcess => {
  const child = spawn(command, args, options)
  running.add(child)
  child.once('exit', () => running.delete(child))
  child.once('error', () => running.delete(child))
  return child
}

type Run = { readonly cwd?: string; readonly env?: Readonly<Record<string, string>>; readonly msMax: number }

/** Runs a command to its end and answers its stdout; throws where it fails or takes longer than `msMax`. */
export const run = (command: string, args: readonly string[], { cwd, env, msMax }: Run): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = startChild(command, args, {
      cwd,
      env: env ? { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env } : process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream]?.setEncoding('utf8').on('data', (text: string) => {
        said[stream] += text
      })
    const timer = setTimeout(() => child.kill('SIGKILL'), msMax)
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(timer)
      if (code === 0) resolve(said.stdout)
      else
        reject(
          new Error(`${command} ended with ${code}: ${said.stderr.slice(-2_000)}${said.stdout.slice(-500)}`),
        )
    })
  })

/** Ends a process of ours: politely, and after `msMax` not. */
export const stopChild = async (child: ChildProcess, msMax = 15_000): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), msMax)
  await ended
  clearTimeout(timer)
}
