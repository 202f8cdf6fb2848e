import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'

/** The results of the requests of many callers. */
export type Tally = {
  readonly statuses: Map<number, number>
  /** Refusals that do not say when to come again. */
  withoutRetryAfter: number
  /** Requests whose connection ended before their answer: their outcome is unknown. */
  unanswered: number
  readonly ms: number[]
}
type Crowd = {
  readonly callers: number
  /** The bytes of one request as Latin-1, whatever its answer. */
  readonly request: () => string
  readonly requestsMax?: number
  /** How many requests each caller sends at once, before it has the first answer. */
  readonly pipelined?: number
}

/** The bytes of a request, as Latin-1. */
export const requestText = (
  method: string,
  path: string,
  apiKey: string,
  body: string | Uint8Array = '',
  header = '',
  type = 'application/json',
): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    `x-api-key: ${apiKey}`,
    ...(header ? [header] : []),
    ...(body.length > 0 ? [`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`] : []),
    '',
    Buffer.from(body).toString('latin1'),
  ].join('\r\n')

/**
 * Callers, each on a separate connection, who send the next request when they have their answer, and connect again
 * where the connection ends. `stop` waits for the answers that are under way.
 */
export const startCrowd = (url: string, { callers, request, requestsMax = 1e6, pipelined = 1 }: Crowd) => {
  const tally: Tally = { statuses: new Map(), withoutRetryAfter: 0, unanswered: 0, ms: [] }
  const port = Number(new URL(url).port)
  let left = requestsMax
  let stopped = false

  const note = ({ status, retryAfter }: Heard, ms: number) => {
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1)
    if ((status === 503 || status === 429) && !retryAfter) tally.withoutRetryAfter++
    tally.ms.push(ms)
  }

  const oneConnection = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      const sentAt: number[] = []
      const say = () => {
        if (stopped || left <= 0) return sentAt.length === 0 && socket.end()
        let text = ''
        for (; sentAt.length < pipelined && left > 0; left--) {
          sentAt.push(performance.now())
          text += request()
        }
        return socket.write(text, 'latin1')
      }
      const hear = listen((heard) => {
        note(heard, performance.now() - (sentAt.shift() ?? 0))
        if (sentAt.length === 0) say()
      })
      socket.on('connect', say)
      socket.on('data', hear)
      socket.on('error', () => {})
      socket.on('close', () => {
        tally.unanswered += sentAt.length
        resolve()
      })
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
  const sockets = new Set<Socket>()
  const caller = async (): Promise<void> => {
    while (!stopped && left > 0) await oneConnection()
  }
  const all = Promise.all(Array.from({ length: callers }, caller))

  return {
    tally,
    done: async (): Promise<Tally> => {
      await all
      return tally
    },
    stop: async (): Promise<Tally> => {
      stopped = true
      await all
      return tally
    },
    /** Ends every connection where it is. */
    hangUp: (): void => {
      stopped = true
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Each caller sends these in turn. */
export type CrowdOrder = Omit<Crowd, 'request'> & { readonly url: string; readonly texts: readonly string[] }

/** A crowd in a separate process, so that its work delays no measurement. The tally has no times. */
export const startCrowdProcess = (order: CrowdOrder) => {
  const crowd = fork(fileURLToPath(new URL('crowd-process.ts', import.meta.url)), {
    serialization: 'advanced',
  })
  crowd.send(order)
  const end = async (how: 'hang up' | 'wait'): Promise<Tally> => {
    const answered = once(crowd, 'message')
    crowd.send(how)
    const [tally] = await answered
    await once(crowd, 'exit')
    return tally
  }
  return { hangUp: () => end('hang up'), done: () => end('wait') }
}

type Heard = { readonly status: number; readonly retryAfter: boolean }

/** Hears answers in the bytes of a connection; each must have a length. */
const listen = (told: (heard: Heard) => void) => {
  /** The part of a head that has arrived so far. */
  let text = ''
  let heard: Heard | undefined
  /** Bytes of its body that have not come. */
  let left = 0
  return (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length || heard !== undefined; ) {
      if (heard === undefined) {
        const known = text.length
        text += chunk.toString('latin1', at)
        const end = text.indexOf('\r\n\r\n')
        if (end < 0) return
        const head = text.slice(0, end)
        at += end + 4 - known
        text = ''
        left = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
        heard = { status: Number(head.slice(9, 12)), retryAfter: /\r\nretry-after: \d/i.test(head) }
      }
      const taken = Math.min(left, chunk.length - at)
      left -= taken
      at += taken
      if (left > 0) return
      told(heard)
      heard = undefined
    }
  }
}

export const quantileOf = (values: readonly number[], part: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

export const countOf = ({ statuses }: Tally): number =>
  [...statuses.values()].reduce((sum, count) => sum + count, 0)
