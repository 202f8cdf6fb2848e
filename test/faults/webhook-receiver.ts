import { type ChildProcess, fork } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { newFolder } from '../support/program.ts'

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown
const accept: Answer = (response) => response.writeHead(204).end()
/** The ways in which a receiver may behave. */
const MOODS = {
  accepts: accept,
  'is slow': (response, request) => setTimeout(() => accept(response, request), 200),
  hangs: () => {},
  'answers 500': (response) => response.writeHead(500).end('no'),
  'answers 429': (response) => response.writeHead(429, { 'retry-after': '1' }).end(),
  'answers no HTTP': (_, { socket }) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
  'answers a megabyte': (response) => response.writeHead(200).end('x'.repeat(1_048_576)),
  'is gone': (response) => response.writeHead(410).end(),
} satisfies Record<string, Answer>
export type Mood = keyof typeof MOODS
const ACCEPTING: readonly Mood[] = ['accepts', 'is slow', 'answers a megabyte']

/** A webhook that was received. */
export type Received = {
  readonly path: string
  readonly id: string
  readonly timestamp: string
  readonly signature: string
  readonly body: string
}

/** Notes each webhook in a file before it accepts it, so that a kill loses nothing that the sender knows to be accepted. */
const receive = (path: string, port: number): void => {
  let mood: Mood = 'accepts'
  const server = createServer(async (request, response) => {
    const { headers, url } = request
    const chunks = await request.toArray().catch(() => null)
    if (chunks === null) return
    const received = {
      path: url,
      id: headers['webhook-id'],
      timestamp: headers['webhook-timestamp'],
      signature: headers['webhook-signature'],
      body: Buffer.concat(chunks).toString(),
    }
    const now = mood
    if (now === 'is slow') await pause(100)
    if (ACCEPTING.includes(now)) appendFileSync(path, `${JSON.stringify(received)}\n`)
    MOODS[now](response, request)
  })
  server.listen(port, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
  process.on('message', (next: Mood) => {
    mood = next
  })
  process.once('disconnect', () => process.exit())
}

/** A receiver in a separate process, which ends with the test. */
export const startReceiver = async (t: Test) => {
  const path = join(newFolder(t), 'received')
  let port = 0
  let child: ChildProcess
  const start = async (mood: Mood = 'accepts') => {
    child = fork(import.meta.filename, [path, String(port)])
    port = await new Promise<number>((resolve) => child.once('message', resolve as () => void))
    child.send(mood)
  }
  const kill = async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
  await start()
  t.teardown(kill)
  return {
    url: `http://127.0.0.1:${port}`,
    be: (mood: Mood) => void child.send(mood),
    /** SIGKILL, and a new one on the same port. */
    restart: async (mood: Mood) => {
      await kill()
      await start(mood)
    },
    /** Webhooks accepted at this path so far. */
    received: (at: string): Received[] =>
      (existsSync(path) ? readFileSync(path, 'utf8') : '')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
        .filter((received) => received.path === at),
  }
}

/** Whether a webhook is signed with this secret, by Standard Webhooks 1.0. */
export const isSigned = (secret: string, { id, timestamp, signature, body }: Received): boolean => {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return signature.split(' ').includes(`v1,${expected}`)
}

if (process.argv[1] === import.meta.filename) receive(String(process.argv[2]), Number(process.argv[3]))
