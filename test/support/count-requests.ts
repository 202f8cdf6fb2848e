// Loaded into a service by `--import`: counts what its requests cost, without a clock. Writes the counts to the file
// `COUNTS_FILE` when the process ends. `COUNTS_PROMISES` counts promises, which makes all else slower and larger.
import { createHook } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { getHeapStatistics } from 'node:v8'

const { COUNTS_FILE = '', COUNTS_PROMISES } = process.env
/** All since the start of the process. `sent`: bytes to the database; `written`: bytes to callers. */
const counts = { promises: 0, statements: 0, sent: 0, written: 0 }

if (COUNTS_PROMISES)
  createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') counts.promises++
    },
  }).enable()

// No message is left over: the driver writes whole ones. `B` runs a statement with parameters, `Q` one without.
const countStatements = (bytes: Uint8Array): void => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at + 5 <= bytes.length; at += 1 + view.getUint32(at + 1))
    if ('BQ'.includes(String.fromCharCode(view.getUint8(at)))) counts.statements++
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
const statement = StatementSync.prototype as unknown as Record<string, (...given: unknown[]) => unknown>
for (const name of ['all', 'get', 'iterate', 'run']) {
  const call = statement[name]
  statement[name] = function (this: unknown, ...given) {
    counts.statements++
    return call?.apply(this, given)
  }
}

const now = () => ({ ...counts, heap: getHeapStatistics().used_heap_size })
type Counts = ReturnType<typeof now>
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
  const before = now()
  const counted = { line: `${request.method} ${request.url}`, before, after: before }
  unanswered.set(request, counted)
  requests.push(counted)
})
subscribe('http.server.response.finish', (message) => {
  const counted = unanswered.get((message as Message).request)
  if (counted) counted.after = now()
})
process.on('exit', () => writeFileSync(COUNTS_FILE, JSON.stringify(requests)))
