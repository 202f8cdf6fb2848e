// Loaded into a service by `--import`: counts what its requests cost, without a clock. Writes the counts to the file
// `COUNTS_FILE` when the process ends. `COUNTS_PROMISES` counts promises, which makes everything else slower and larger.
import { createHook } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { getHeapStatistics } from 'node:v8'

const { COUNTS_FILE = '', COUNTS_PROMISES } = process.env
/** Counts since the process began. `sent`: bytes to the database; `written`: bytes to callers. */
const counts = { promises: 0, statements: 0, sent: 0, written: 0 }

if (COUNTS_PROMISES)
  createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') counts.promises++
    },
  }).enable()

/**
 * Counts the messages that run a statement: `B` one with parameters, `Q` one without. The driver never splits a message
 * between two writes.
 */
const countStatements = (bytes: Uint8Array): void => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // A message is its type, one byte, and its length, four bytes, which do not count the type.
  for (let at = 0; at + 5 <= bytes.length; at += 1 + view.getUint32(at + 1)) {
    const type = String.fromCharCode(view.getUint8(at))
    if (type === 'B' || type === 'Q') counts.statements++
  }
}
const callers = new WeakSet<Socket>()
const { write } = Socket.prototype
Socket.prototype.write = function (this: Socket, chunk: string | Uint8Array, ...rest: never[]) {
  if (callers.has(this)) counts.written += chunk.length
  else if (typeof chunk !== 'string') {
    counts.sent += chunk.length
    countStatements(chunk)
  }
  return write.call(this, chunk, ...rest)
} as typeof write

const { StatementSync } = await import('node:sqlite')
const statement = StatementSync.prototype as unknown as Record<string, (...args: unknown[]) => unknown>
for (const name of ['all', 'get', 'iterate', 'run']) {
  const call = statement[name]
  statement[name] = function (this: unknown, ...args) {
    counts.statements++
    return call?.apply(this, args)
  }
}

/** The counts so far, and the bytes of the heap. */
const snapshot = () => ({ ...counts, heap: getHeapStatistics().used_heap_size })
type Counts = ReturnType<typeof snapshot>
/** Each request: its line, and the counts when it arrived and when its answer was written. */
export type CountedRequest = { readonly line: string; readonly before: Counts; after: Counts }
const requests: CountedRequest[] = []
const unanswered = new WeakMap<IncomingMessage, CountedRequest>()
type Message = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly socket: Socket
}
subscribe('http.server.request.start', (message) => {
  const { request, socket } = message as Message
  callers.add(socket)
  const before = snapshot()
  const counted = { line: `${request.method} ${request.url}`, before, after: before }
  unanswered.set(request, counted)
  requests.push(counted)
})
subscribe('http.server.response.finish', (message) => {
  const counted = unanswered.get((message as Message).request)
  if (counted) counted.after = snapshot()
})
process.on('exit', () => writeFileSync(COUNTS_FILE, JSON.stringify(requests)))
