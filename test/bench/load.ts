import { existsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Request } from './cases.ts'
import { run } from './children.ts'
import { newFolder, removeFolder } from './folders.ts'

export type Target = {
  readonly url: string
  readonly apiKey: string
  /** The header that carries the key; `x-api-key` by default. */
  readonly keyHeader?: string
}
export type Force = { readonly callers: number; readonly seconds: number }
export type Sample = {
  /** Answers per second. */
  readonly rate: number
  readonly meanMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly requests: number
  /** Requests that had no answer, or none with 2xx. */
  readonly failed: number
  /** Processor time of the service for one request, in microseconds; absent if unknown. */
  readonly cpuUs?: number
  /** How long after the load the service went on working at what it had answered. */
  readonly settleMs?: number
}

const here = (path: string) => fileURLToPath(new URL(`load/${path}`, import.meta.url))
const findInPath = (name: string): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(existsSync)

const wrk = process.env['BENCH_LOAD'] === 'autocannon' ? undefined : findInPath('wrk')
/** The program that makes the load, in one thread. */
export const LOAD_TOOL = wrk === undefined ? 'autocannon' : 'wrk'

/**
 * As many callers as asked for, each on a separate connection that is kept alive, each sending the next request
 * when it has its answer. Throws where more fail than may: none, unless said.
 */
export const load = async (
  target: Target,
  requests: readonly Request[],
  { callers, seconds }: Force,
  failedPartMax = 0,
): Promise<Sample> => {
  const folder = newFolder('load')
  try {
    const plan = join(folder, 'plan')
    const said = await (wrk === undefined
      ? withAutocannon(plan, target, requests, { callers, seconds })
      : withWrk(wrk, plan, target, requests, { callers, seconds }))
    const [, result] = /^RESULT (.*)$/m.exec(said) ?? []
    if (result === undefined) throw new Error(`${LOAD_TOOL} told nothing: ${said}`)
    return sampleOf(JSON.parse(result), requests, failedPartMax)
  } finally {
    removeFolder(folder)
  }
}

type Result = Readonly<Record<'requests' | 'us' | 'meanUs' | 'p50Us' | 'p99Us' | 'failed', number>>

const sampleOf = (result: Result, [first]: readonly Request[], failedPartMax: number): Sample => {
  if (result.failed > result.requests * failedPartMax || result.requests === 0)
    throw new Error(
      `${result.failed} requests like ${first?.method} ${first?.path} failed, ${result.requests} answered`,
    )
  return {
    rate: (result.requests * 1e6) / result.us,
    meanMs: result.meanUs / 1e3,
    p50Ms: result.p50Us / 1e3,
    p99Ms: result.p99Us / 1e3,
    requests: result.requests,
    failed: result.failed,
  }
}

const MS_TO_SPARE = 30_000

const withWrk = (wrk: string, plan: string, target: Target, requests: readonly Request[], force: Force) => {
  writeFileSync(plan, `return {\n${requests.map((request) => luaOf(request, target)).join(',\n')}\n}\n`)
  const { callers, seconds } = force
  const flags = ['-t1', `-c${callers}`, `-d${seconds}s`, '--timeout', '10s', '-s', here('wrk.lua')]
  return run(wrk, [...flags, target.url, '--', plan], { msMax: seconds * 1e3 + MS_TO_SPARE })
}

const withAutocannon = (plan: string, target: Target, requests: readonly Request[], force: Force) => {
  writeFileSync(plan, JSON.stringify({ ...target, requests, ...force }))
  return run(process.execPath, [here('autocannon.js'), plan], { msMax: force.seconds * 1e3 + MS_TO_SPARE })
}

const NUMBER = '{n}'
const NUMBER_LENGTH = 10

/** A request as bytes, cut in two where its number goes. */
const luaOf = ({ method, path, body }: Request, { url, apiKey, keyHeader = 'x-api-key' }: Target): string => {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${new URL(url).host}`, `${keyHeader}: ${apiKey}`]
  if (body === null) return `{${luaText(`${lines.join('\r\n')}\r\n\r\n`)}}`
  const [before = '', after] = body.split(NUMBER)
  const length = Buffer.byteLength(body) + (after === undefined ? 0 : NUMBER_LENGTH - NUMBER.length)
  const head = [...lines, 'Content-Type: application/json', `Content-Length: ${length}`].join('\r\n')
  const first = luaText(`${head}\r\n\r\n${before}`)
  return after === undefined ? `{${first}}` : `{${first},${luaText(after)}}`
}

/** JSON's escapes of ASCII text are also Lua's. */
const luaText = (text: string): string => JSON.stringify(text)
