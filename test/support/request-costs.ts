import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CountedRequest } from './count-requests.ts'
import { BIN, type Environment, NODE, startServer } from './program.ts'

const COUNTING = fileURLToPath(new URL('count-requests.ts', import.meta.url))
/** Nothing is collected while bytes of the heap are counted. */
const YOUNG_MIB = 256

type Request = { readonly line: string; readonly body?: object }
/** The operations that are counted, in this order: the nth request of each. */
export const CASES = {
  'log, known': (n: number) => log(`person-${n % 10}@example.com`, n),
  'log, new': (n: number) => log(`new-${n}@example.com`, n),
  batch: (n: number) => ({
    line: 'POST /v0/prospect_logs/batch',
    body: { items: Array.from({ length: 100 }, (_, i) => log(`person-${i % 10}@example.com`, n).body) },
  }),
  'create a page': (n: number, pages: string) => ({
    line: `POST ${pages}`,
    body: { supplementaryContext: `A page about ${n}` },
  }),
  groups: () => ({ line: 'GET /v0/page_groups' }),
  'read a page': (_: number, pages: string, pageId: string) => ({ line: `GET ${pages}/${pageId}` }),
} satisfies Readonly<Record<string, (n: number, pages: string, pageId: string) => Request>>
export type Case = keyof typeof CASES
const log = (email: string, n: number) => ({
  line: 'POST /v0/prospect_logs',
  body: { source: 'crm', type: 'form', email, payload: { form: 'contact', n } },
})

type Counts = CountedRequest['before']
type Counted = Omit<Counts, 'heap'> & { readonly heap: number | null }
type Options = {
  readonly env: Environment
  readonly apiKey: string
  readonly callers?: number
  readonly warmUp?: number
  /** Requests of each case that are counted. */
  readonly times?: number
  readonly bin?: string
  readonly cases?: readonly Case[]
}
type Owner = Parameters<typeof startServer>[0]

/**
 * The cost of a request of each case. With one caller: the least of all requests, up to the answer, because
 * work in the background only adds to it. With more: the mean, with that work.
 */
export const requestCosts = async (t: Owner, options: Options) => {
  const { env, apiKey, callers = 1, warmUp = 20, times = 20, bin = BIN } = options
  const { cases = Object.keys(CASES) as Case[] } = options
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  const file = join(folder, 'counts.json')
  const young = [`--max-semi-space-size=${YOUNG_MIB}`, `--min-semi-space-size=${YOUNG_MIB}`]
  const line = [NODE, ...young, '--import', COUNTING, bin, 'serve']
  const server = await startServer(t, { ...env, COUNTS_FILE: file }, undefined, line)
  const sockets: Socket[] = []
  for (let i = 0; i < callers; i++) sockets.push(connect(Number(new URL(server.url).port), '127.0.0.1'))
  /** Sends these requests, each caller its next one after each answer. Returns the last answer. */
  const send = async (requests: readonly Request[]): Promise<string> => {
    let next = 0
    let last = ''
    const run = async (socket: Socket) => {
      for (let one = requests[next++]; one !== undefined; one = requests[next++])
        last = await answerTo(socket, one, apiKey)
    }
    await Promise.all(sockets.map(run))
    return last
  }
  const group = { line: 'POST /v0/page_groups', body: { name: 'offers', title: 'Offers' } }
  const { pageGroupId } = JSON.parse(await send([group]))
  const pages = `/v0/page_groups/${pageGroupId}/pages`
  const { pageId } = JSON.parse(await send([CASES['create a page'](0, pages)]))
  const numbered = (name: Case, from: number, length: number) =>
    Array.from({ length }, (_, i) => CASES[name](from + i, pages, pageId))
  // All cases, so that the first one does not run code that the compiler has only seen with it.
  for (const name of cases) await send(numbered(name, 0, warmUp * callers))
  for (const name of cases) await send(numbered(name, warmUp * callers, times * callers))
  for (const socket of sockets) socket.destroy()
  await server.stop()
  const all = JSON.parse(readFileSync(file, 'utf8')) as CountedRequest[]
  rmSync(folder, { recursive: true })
  const counted = all.slice(-cases.length * times * callers)
  return new Map(
    cases.map((name, i) => [
      name,
      costOf(counted.slice(i * times * callers, (i + 1) * times * callers), callers),
    ]),
  )
}

const costOf = (requests: readonly CountedRequest[], callers: number): Counted => {
  const first = requests[0]?.before
  const last = requests.at(-1)?.after
  if (first === undefined || last === undefined) throw new Error('no request was counted')
  const each = (name: keyof Counts) =>
    requests.map(({ before, after }) => after[name] - before[name]).sort((a, b) => a - b)
  const mean = (name: keyof Counts) => (last[name] - first[name]) / requests.length
  const costs = (Object.keys(first) as (keyof Counts)[]).map((name) => [
    name,
    callers > 1 ? mean(name) : (each(name)[0] ?? 0),
  ])
  // A collection now and then makes it smaller; several callers make it at once.
  const heap = callers > 1 ? null : (each('heap')[Math.floor(requests.length / 2)] ?? null)
  return { ...Object.fromEntries(costs), heap }
}

/** Sends a request on a connection that stays open, and resolves to the body of its answer. */
const answerTo = (socket: Socket, { line, body }: Request, apiKey: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body)
    const length = text === '' ? [] : ['content-type: application/json', `content-length: ${text.length}`]
    const head = [`${line} HTTP/1.1`, 'host: localhost', `x-api-key: ${apiKey}`, ...length]
    let answer = ''
    const take = (chunk: Buffer) => {
      answer += chunk
      const end = answer.indexOf('\r\n\r\n') + 4
      const [, bytes] = /^content-length: (\d+)/im.exec(answer) ?? []
      if (end < 4 || Buffer.byteLength(answer) < end + Number(bytes)) return
      socket.off('data', take)
      if (answer.startsWith('HTTP/1.1 2')) resolve(answer.slice(end))
      else reject(new Error(answer))
    }
    socket.on('data', take)
    socket.write(`${head.join('\r\n')}\r\n\r\n${text}`)
  })
