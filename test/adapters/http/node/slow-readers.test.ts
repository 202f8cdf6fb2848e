import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t from 'tap'
import { createHttpServer } from '../../../../src/adapters/http/node/server.ts'
import { limitPendingWrites } from '../../../../src/adapters/http/node/slow-readers.ts'

const MEBIBYTE = 1_048_576
const MS = 60_000
// More than the system takes for a caller that reads nothing.
const ANSWER_BYTES = 16 * MEBIBYTE

const serve = async (t: { teardown: (end: () => unknown) => void }, unsentBytesMax: number) => {
  const body = 'x'.repeat(ANSWER_BYTES)
  const http = createHttpServer({
    api: async () => ({ status: 200, headers: { 'content-length': String(body.length) }, body }),
    limits: {
      bodyBytesMax: 1_024,
      batchBytesMax: 8_192,
      headersMsMax: MS,
      requestMsMax: MS,
      keepAliveMs: MS,
      connectionsMax: 100,
      unsentBytesMax,
    },
    newRequestId: () => 'request',
    onMalformed: () => {},
  })
  const port = await http.listen('127.0.0.1', 0)
  t.teardown(() => http.drain(0))
  return {
    /** Resolves once the next connection has come and gone. */
    closed: async () => {
      const [socket] = (await once(http.server, 'connection')) as [Socket]
      await closeOf(socket)
    },
    /** Asks, and hears nothing until it is told to. */
    ask: async (): Promise<Socket> => {
      const answering = once(http.server, 'request')
      const socket = connect(port, '127.0.0.1').pause()
      socket.on('error', () => {})
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
      await answering
      await new Promise((resolve) => setImmediate(resolve))
      return socket
    },
  }
}

/** Whatever the reason. */
const closeOf = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))

/** How many bytes come until all have come, or the connection ends. */
const bytesOn = async (socket: Socket): Promise<number> => {
  let bytes = 0
  const ended = closeOf(socket)
  const all = new Promise<void>((resolve) =>
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > ANSWER_BYTES) resolve()
    }),
  )
  socket.resume()
  if (!socket.closed) await Promise.race([all, ended])
  socket.destroy()
  return bytes
}

t.test('the oldest unread answers are dropped, and the others arrive complete', async (t) => {
  const { ask } = await serve(t, 2.5 * ANSWER_BYTES)
  const sockets: Socket[] = []
  for (let i = 0; i < 5; i++) sockets.push(await ask())
  const whole = (await Promise.all(sockets.map(bytesOn))).map((bytes) => bytes > ANSWER_BYTES)
  t.strictSame(whole, [false, false, false, true, true])
})

t.test('answers that were read no longer count', async (t) => {
  const { ask } = await serve(t, 1.5 * ANSWER_BYTES)
  for (let i = 0; i < 4; i++) t.ok((await bytesOn(await ask())) > ANSWER_BYTES)
})

t.test('answers of callers who disconnected no longer count', async (t) => {
  const { ask, closed } = await serve(t, 2.5 * ANSWER_BYTES)
  const patient = await ask()
  for (let i = 0; i < 4; i++) {
    const gone = closed()
    const socket = await ask()
    socket.destroy()
    await gone
  }
  t.ok((await bytesOn(patient)) > ANSWER_BYTES)
})

t.test('an answer that is never read is abandoned after a time', async (t) => {
  const limitPending = limitPendingWrites(2 * ANSWER_BYTES, 50)
  const server = createServer((req, res) => {
    res.end('x'.repeat(req.url === '/small' ? 10 : ANSWER_BYTES))
    limitPending(res)
  })
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo

  const answered = connect(port, '127.0.0.1')
  answered.write('GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(answered, 'data')
  const held = connect(port, '127.0.0.1').pause()
  held.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [, res] = await once(server, 'request')
  await closeOf(res.socket)
  t.notOk(answered.closed, 'a connection whose answers were taken stays')
  t.ok((await bytesOn(held)) < ANSWER_BYTES)
  answered.destroy()
})

t.test('a dropped answer that waits behind another one closes its connection', async (t) => {
  const limitPending = limitPendingWrites(2 * ANSWER_BYTES)
  const server = createServer((req, res) => {
    if (req.url === '/never') return
    res.end('x'.repeat(ANSWER_BYTES))
    limitPending(res)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1').resume()
  socket.on('error', () => {})
  for (const path of ['/never', '/a', '/b', '/c'])
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await closeOf(socket)
  t.pass('closed')
})
