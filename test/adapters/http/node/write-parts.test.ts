import { once } from 'node:events'
import { createServer, get } from 'node:http'
import { connect as connectHttp2, constants, createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, connect, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createHttpServer } from '../../../../src/adapters/http/node/server.ts'
import type { Api } from '../../../../src/adapters/http/requests.ts'
import { createHandler } from '../../../../src/entry/http.ts'
import { until } from '../../../support/program.ts'

t.setTimeout(0)

const MEBIBYTE = 1_048_576
const MS = 60_000
/** More than the system takes for a reader who reads nothing. */
const PARTS = 32

/** An API whose answers are made of large parts. `wait` is called before each. */
const streaming = () => {
  const state = { made: 0, ended: 0, wait: async (_: number) => {} }
  async function* makeParts() {
    try {
      for (let i = 0; i < PARTS; i++) {
        await state.wait(i)
        state.made++
        yield 'x'.repeat(MEBIBYTE)
      }
    } finally {
      state.ended++
    }
  }
  const api: Api = async () => {
    const parts = makeParts()
    const cancel = async () => void (await parts.return(undefined))
    return { status: 200, headers: {}, body: { parts, cancel }, tenantId: 'tenant' }
  }
  return { state, api }
}

const serve = async (t: Test, unsentBytesMax = 64 * MEBIBYTE) => {
  const { state, api } = streaming()
  const http = createHttpServer({
    api,
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
  /** Asks, and reads nothing until it is resumed. */
  const ask = (requests = 1) => {
    const socket = connect(port, '127.0.0.1').pause()
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(requests))
    return socket
  }
  /** Something was made, and nothing more in 1,000 turns of the event loop: the reader has to go on first. */
  const stalls = async () => {
    for (let turns = 0, made = 0; turns < 1_000; turns = made > 0 && made === state.made ? turns + 1 : 0) {
      made = state.made
      await new Promise(setImmediate)
    }
  }
  const read = async (agent = false) => {
    const [answer] = await once(get({ port, agent }), 'response')
    return { headers: answer.headers, text: await text(answer) }
  }
  return { http, state, ask, stalls, read }
}

t.test('the parts are one text, and the connection ends with it', async (t) => {
  const { read, state } = await serve(t)
  const { headers, text } = await read()
  t.equal(text.length, PARTS * MEBIBYTE)
  t.match(headers, { 'transfer-encoding': 'chunked', connection: 'close' })
  t.equal(state.ended, 1)
})

t.test('no part is produced for a reader who does not read, until it continues', async (t) => {
  const { ask, stalls, state } = await serve(t)
  const socket = ask()
  await stalls()
  t.ok(state.made < PARTS, String(state.made))
  socket.resume()
  await once(socket, 'close')
  t.strictSame([state.made, state.ended], [PARTS, 1])
})

t.test('the answer ends when its reader disconnects', async (t) => {
  const { ask, stalls, state } = await serve(t)
  const socket = ask()
  await stalls()
  const { made } = state
  socket.destroy()
  await until('it has ended', () => state.ended === 1)
  t.equal(state.made, made, 'and nothing more is made for it')
})

t.test('answers queued behind another one are not started, and end with it', async (t) => {
  const { ask, stalls, state } = await serve(t)
  const socket = ask(3)
  await stalls()
  socket.destroy()
  await until('the first one has ended', () => state.ended === 1)
  t.ok(state.made < PARTS)
})

t.test('an error in the middle ends the connection, not the answer', async (t) => {
  const { read, state } = await serve(t)
  state.wait = async (i) => {
    if (i === 2) throw new Error('away')
  }
  await t.rejects(read())
  t.equal(state.ended, 1)
})

t.test('readers who do not read lose their answers if all answers hold too much', async (t) => {
  const { ask, stalls, state } = await serve(t, 2.5 * MEBIBYTE)
  for (let i = 0; i < 6; i++) ask()
  await until('some have ended', () => state.ended >= 3)
  await stalls()
  t.ok(state.ended < 6, 'the others are kept')
})

t.test('readers who read lose nothing, even if the limit is small', async (t) => {
  const { read } = await serve(t, 4 * MEBIBYTE)
  for (let i = 0; i < 3; i++) t.equal((await read()).text.length, PARTS * MEBIBYTE)
})

t.test('a stopping server lets the answer end', async (t) => {
  const { http, read, state } = await serve(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  state.wait = (i) => (i === 2 ? promise : Promise.resolve())
  const reading = read()
  await until('it has begun', () => state.made === 2)
  const drained = http.drain(MS)
  resolve()
  t.equal((await reading).text.length, PARTS * MEBIBYTE)
  await drained
})

t.test('a stopping server cuts the answer off after a time', async (t) => {
  const { http, ask, stalls, state } = await serve(t)
  ask()
  await stalls()
  await http.drain(1)
  t.strictSame([state.ended, state.made < PARTS], [1, true])
})

t.test('the handler streams in another server, over HTTP/2 too', async (t) => {
  const { state, api } = streaming()
  const handler = createHandler(api)
  const listening = async (server: Server) => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => new Promise((resolve) => server.close(resolve)))
    return (server.address() as AddressInfo).port
  }
  const port = await listening(createServer(handler))
  const [answer] = await once(get({ port, agent: false }), 'response')
  t.equal((await text(answer)).length, PARTS * MEBIBYTE)
  const session = connectHttp2(`http://127.0.0.1:${await listening(createHttp2Server(handler as never))}`)
  t.equal((await text(session.request({ ':path': '/' }))).length, PARTS * MEBIBYTE)
  const left = session.request({ ':path': '/' })
  await once(left, 'response')
  left.close(constants.NGHTTP2_CANCEL)
  await until('it has ended', () => state.ended === 3)
  session.close()
})
