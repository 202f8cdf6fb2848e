import { spawn, spawnSync } from 'node:child_process'

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }
/** A container, or what stands for one, in which the service listens. */
export type Running = {
  readonly url: string
  /** Where it listens as it sees it itself. */
  readonly portInside: string
  readonly stdout: () => string
  /** Runs a program in it, as the same user. */
  readonly exec: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Ended>
  /** SIGTERM; answers the exit code. */
  readonly stop: () => Promise<number | null>
}
export type Image = {
  /** As the image says it. */
  readonly user: string
  readonly healthCheck: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  /** Runs the image's entry point with these arguments in a separate container, to its end. */
  readonly run: (args: readonly string[]) => Promise<Ended>
  readonly start: () => Promise<Running>
  readonly remove: () => Promise<void>
}
/** A way to make an image of the Containerfile and to run it. */
export type Way = {
  readonly name: string
  /** Why it does not work here, or null. */
  readonly whyNot: () => string | null
  readonly build: () => Promise<Image>
}

export const ROOT = new URL('../../', import.meta.url).pathname
/** Another base than the Containerfile's, as `BASE`. */
export const BASE = process.env['CONTAINER_BASE'] ?? 'docker.io/library/node:24-slim'
export const TAG = `localhost/prospect-pages-test:${process.pid}`

/** Runs a program to its end. */
export const ended = (
  program: string,
  args: readonly string[],
  options: Parameters<typeof spawn>[2] = {},
): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const said = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream]?.on('data', (chunk) => {
        said[stream] += chunk
      })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...said }))
  })

/** The same, where it must end well; answers its stdout. */
export const done = async (program: string, args: readonly string[], options = {}): Promise<string> => {
  const { code, stdout, stderr } = await ended(program, args, options)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
  return stdout.trim()
}

export const works = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore', timeout: 120_000 }).status === 0

/** A process whose log says where it listens. */
export const listening = async (
  child: ReturnType<typeof spawn>,
): Promise<{ pid: number; port: number; stdout: () => string; code: Promise<number | null> }> => {
  let [out, log] = ['', '']
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  child.stdout?.on('data', (chunk) => {
    out += chunk
  })
  const where = await new Promise<{ pid: number; port: number }>((resolve, reject) => {
    child.stderr?.on('data', (chunk) => {
      log += chunk
      const line = log.split('\n').find((one) => one.includes('"msg":"listening"'))
      if (line?.endsWith('}')) resolve(JSON.parse(line))
    })
    void code.then((it) => reject(new Error(`it ended with ${it}: ${log}`)))
  })
  return { ...where, stdout: () => out, code }
}
