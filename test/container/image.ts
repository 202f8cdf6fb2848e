import { spawn, spawnSync } from 'node:child_process'

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }
/** A container in which the service listens, or a replacement for one. */
export type Running = {
  readonly url: string
  /** The port as programs inside the container see it. */
  readonly portInside: string
  readonly stdout: () => string
  /** Runs a program in it, as the same user. */
  readonly exec: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Ended>
  /** Sends SIGTERM, and returns the exit code. */
  readonly stop: () => Promise<number | null>
}
export type Image = {
  /** The user that the image names. */
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
  /** Why it does not work on this machine, or null if it does. */
  readonly whyNot: () => string | null
  readonly build: () => Promise<Image>
}

export const ROOT = new URL('../../', import.meta.url).pathname
/** The base image, which the Containerfile takes as `BASE`. */
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
    const output = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream]?.on('data', (chunk) => {
        output[stream] += chunk
      })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...output }))
  })

/** Runs a program that must succeed, and returns its stdout. */
export const done = async (program: string, args: readonly string[], options = {}): Promise<string> => {
  const { code, stdout, stderr } = await ended(program, args, options)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
  return stdout.trim()
}

export const works = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore', timeout: 120_000 }).status === 0

/** Waits until the log of the process says where it listens. */
export const listening = async (
  child: ReturnType<typeof spawn>,
): Promise<{ pid: number; port: number; stdout: () => string; code: Promise<number | null> }> => {
  let out = ''
  let log = ''
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  child.stdout?.on('data', (chunk) => {
    out += chunk
  })
  const address = await new Promise<{ pid: number; port: number }>((resolve, reject) => {
    child.stderr?.on('data', (chunk) => {
      log += chunk
      const line = log.split('\n').find((text) => text.includes('"msg":"listening"'))
      if (line?.endsWith('}')) resolve(JSON.parse(line))
    })
    void code.then((exitCode) => reject(new Error(`the process ended with ${exitCode}: ${log}`)))
  })
  return { ...address, stdout: () => out, code }
}
