import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Activity, createClient, type Logged, type LogResult } from '../../src/client/prospect-pages.ts'
import type { Random } from '../store-contract/random.ts'
import { embeddedDatabase, newFolder, type Program, seed, startServer } from './program.ts'

/**
 * The fate of a request: it passes; its connection ends before it arrives, once it was carried out, or in the middle of
 * the answer; it waits; the proxy answers in place of the server.
 */
type Fate =
  | 'passes'
  | 'cut before'
  | 'cut after'
  | 'cut within'
  | { readonly delayMs: number }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
type Owner = { readonly teardown: (end: () => void) => void }

/** A proxy before a server that may move. Answers its URL. */
const startCuttingProxy = async (t: Owner, target: () => string, fateOf: () => Fate): Promise<string> => {
  const server = createServer(async (request, response) => {
    const fate = fateOf()
    const end = () => {
      request.socket.destroy()
    }
    if (fate === 'cut before') {
      end()
      return
    }
    const body = Buffer.concat(await request.toArray().catch(() => []))
    if (typeof fate === 'object' && 'status' in fate) {
      response.writeHead(fate.status, fate.headers).end(fate.body)
      return
    }
    if (typeof fate === 'object') await new Promise((resolve) => setTimeout(resolve, fate.delayMs))
    const answer = await ask(target(), request, body).catch(() => null)
    if (answer === null || fate === 'cut after') end()
    else pass(answer, response, fate === 'cut within')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Answer = { readonly head: IncomingMessage; readonly body: Buffer }
const ask = (url: string, { method, headers, url: path }: IncomingMessage, body: Buffer): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = forward(url + path, { method, headers }, (head) => {
      head.toArray().then((chunks) => resolve({ head, body: Buffer.concat(chunks) }), reject)
    })
    sent.on('error', reject).end(body)
  })
const pass = ({ head, body }: Answer, response: ServerResponse, isCut: boolean): void => {
  const { connection: _, 'transfer-encoding': __, ...headers } = head.headers
  response.writeHead(head.statusCode ?? 502, { ...headers, 'content-length': body.length })
  if (!isCut) response.end(body)
  else response.write(body.subarray(0, body.length / 2), () => response.destroy())
}

const CUTS = ['cut before', 'cut after', 'cut within'] as const
const OTHERS: readonly Fate[] = [
  { status: 503, headers: { 'retry-after': '0' }, body: '{"code":"unavailable"}' },
  { status: 429, headers: { 'retry-after': '0' }, body: '{"code":"rate_limited"}' },
  { status: 200, body: '<html>Welcome</html>' },
  { delayMs: 20 },
]
/** The connections of four requests in ten are cut, and one is answered in the place of the server, or late. */
export const fateBy = ({ below }: Random): Fate => {
  const chance = below(10)
  if (chance < 4) return CUTS[below(CUTS.length)] ?? 'cut before'
  return (chance === 4 && OTHERS[below(OTHERS.length)]) || 'passes'
}

/** A server behind a proxy that cuts connections, and a client of it that does not give up. */
export const loggingScene = async (t: Test, random: Random) => {
  const database = embeddedDatabase(join(newFolder(t), 'test.db'))
  const { apiKey } = await seed(database.env)
  const start = async (): Promise<Program> => {
    const server = await startServer(t, database.env)
    return server
  }
  let server = await start()
  const url = await startCuttingProxy(
    t,
    () => server.url,
    () => fateBy(random),
  )
  const client = createClient({ url, key: apiKey, tries: 100 })
  const activities = (way: string, count: number): Activity[] =>
    Array.from({ length: count }, (_, n) => ({
      source: way,
      email: `person-${n % 50}@example.com`,
      payload: { n },
      idempotencyKey: `${way}-${n}`,
    }))

  return {
    client,
    /** SIGKILL, and the same database again. */
    restart: async (): Promise<void> => {
      await server.kill()
      server = await start()
    },
    /** Each activity by this way: what became of all of them. */
    log: {
      singly: async (count: number, callers: number): Promise<Logged[]> => {
        const left = activities('singly', count).entries()
        const logged: Logged[] = []
        const caller = async () => {
          for (const [i, activity] of left) logged[i] = await client.logActivity(activity)
        }
        await Promise.all(Array.from({ length: callers }, caller))
        return logged
      },
      inLists: (count: number) => client.logActivities(activities('in lists', count)),
      buffered: async (count: number, max: number): Promise<Logged[]> => {
        const buffer = client.buffer({ max, waitingMax: count })
        const logged = activities('buffered', count).map((activity) => buffer.log(activity))
        t.strictSame(await buffer.close({ ms: 600_000 }), [], 'everything is sent')
        return Promise.all(logged)
      },
    },
    /** Faults of the rows stored under the receipts of each way. */
    faults: async (logged: Readonly<Record<string, readonly LogResult[]>>) => {
      type Row = { way: string; key: string; id: string }
      const rows = await database.rows<Row>(
        'select source as way, idempotency_key as key, prospect_log_id as id from prospect_logs',
      )
      const ids = new Map(rows.map(({ key, id }) => [key, id]))
      const receipts = Object.entries(logged).flatMap(([way, all]) =>
        all.map(({ receipt }, n) => ({ key: `${way}-${n}`, id: receipt?.prospectLogId })),
      )
      return {
        lost: receipts.filter(({ key, id }) => id === undefined || ids.get(key) !== id),
        doubled: rows.length - ids.size,
        unknown: ids.size - receipts.length,
      }
    },
  }
}
