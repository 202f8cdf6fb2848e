import { closeSync, openSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { startChild, stopChild } from '../children.ts'

/** A service of one process, on a separate port. */
export type Service = {
  readonly url: string
  /** From the start of the process to its first answer, and to the first one that it is ready. */
  readonly startMs: number
  readonly readyMs: number
  readonly memory: () => Memory
  /** Processor time so far, all threads; null where the system does not tell. */
  readonly cpuMs: () => number | null
  readonly stop: () => Promise<void>
}
export type Memory = { readonly residentMib: number | null; readonly peakMib: number | null }
type Start = {
  /** Node by default. */
  readonly command?: string
  readonly script: string
  readonly args?: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Its output goes there. */
  readonly logPath: string
  /** Answers 200 once the process listens. */
  readonly alivePath?: string
  /** Answers 200 once the service can work. */
  readonly readyPath: string
}

const START_MS_MAX = 60_000

export const startService = async ({
  command = process.execPath,
  script,
  args = [],
  env,
  logPath,
  alivePath = '/healthz',
  readyPath,
}: Start): Promise<Service> => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const log = openSync(logPath, 'w')
  const began = performance.now()
  const child = startChild(command, [script, ...args], {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', HOST: '127.0.0.1', PORT: String(port), ...env },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const answered = async (path: string): Promise<number> => {
    while (!(await isOk(url + path))) {
      if (child.exitCode !== null || performance.now() - began > START_MS_MAX) {
        await stopChild(child)
        throw new Error(`${script} does not answer: ${readFileSync(logPath, 'utf8').slice(-2_000)}`)
      }
      await pause(2)
    }
    return performance.now() - began
  }
  const startMs = await answered(alivePath)
  const readyMs = await answered(readyPath)
  return {
    url,
    startMs,
    readyMs,
    memory: () => memoryOf(child.pid),
    cpuMs: () => cpuMsOf(child.pid),
    stop: () => stopChild(child),
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })

const isOk = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    get(url, { agent: false }, (res) => {
      res.resume()
      resolve(res.statusCode === 200)
    }).once('error', () => resolve(false))
  })

const memoryOf = (pid: number | undefined): Memory => {
  const status = procFile(pid, 'status')
  const mib = (name: string) => {
    const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status) ?? []
    return kib === undefined ? null : Number(kib) / 1024
  }
  return { residentMib: mib('VmRSS'), peakMib: mib('VmHWM') }
}

/** The kernel counts in hundredths of a second, whatever its clock rate. */
const TICK_MS = 10

const cpuMsOf = (pid: number | undefined): number | null => {
  // The name of the program, in brackets, may hold anything; after it come the fields from the third on.
  const fields = procFile(pid, 'stat').split(') ').at(-1)?.split(' ') ?? []
  const ticks = Number(fields[11]) + Number(fields[12])
  return Number.isNaN(ticks) ? null : ticks * TICK_MS
}

const procFile = (pid: number | undefined, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}
