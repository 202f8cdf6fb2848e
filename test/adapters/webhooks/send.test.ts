import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import {
  type AddressInfo,
  createServer as createSocketServer,
  isIP,
  type Server,
  type Socket,
} from 'node:net'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { createAddresses } from '../../../src/adapters/webhooks/addresses.ts'
import { createSendWebhook } from '../../../src/adapters/webhooks/send.ts'

const LOCAL = { allowedNetworks: ['127.0.0.0/8', '::1/128'] }
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const SOON_MS = 300
const NEVER_STOPPED = new AbortController().signal
const body = '{"type":"prospect.created","timestamp":"2026-01-01T00:00:00.000Z","data":{"name":"Zoë"}}'

type Settings = Parameters<typeof createAddresses>[0]
type SenderOptions = {
  msMax?: number
  clock?: () => number
  headers?: Record<string, string>
  method?: 'POST' | 'PUT' | 'PATCH'
  mayKeep?: () => boolean
}
const sender = ({
  msMax = 15_000,
  clock = Date.now,
  headers = {},
  method = 'POST',
  mayKeep,
  ...settings
}: Settings & SenderOptions) => {
  const addresses = { ...createAddresses({ ...LOCAL, ...settings }), ...(mayKeep && { mayKeep }) }
  const send = createSendWebhook({ addresses, clock, userAgent: 'prospect-pages/1', msMax })
  return (url: string, stop = NEVER_STOPPED, isKept = true) =>
    send({ url, method, body, secrets: [SECRET], headers, eventId: 'event_01', hops: 2 }, stop, isKept)
}
const listening = async (t: Test, server: Server): Promise<string> => {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
const receiver = async (t: Test, listener: RequestListener) =>
  `http://${await listening(t, createServer(listener))}/hook`
/** A receiver that writes raw bytes as soon as a connection has sent something. */
const rawReceiver = async (t: Test, answer: (socket: Socket) => void) =>
  `http://${await listening(
    t,
    createSocketServer((socket) => socket.once('data', () => answer(socket))),
  )}/hook`

t.test('a webhook is a signed POST of JSON, and any 2xx is a success', async (t) => {
  const seen: unknown[] = []
  let status = 200
  const url = await receiver(t, async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const { method, headers } = request
    const verified = new Webhook(SECRET).verify(text, headers as Record<string, string>)
    seen.push({ method, headers, verified })
    response.writeHead(status++).end('thanks')
  })
  const send = sender({})
  t.match(await send(url), { status: 200, error: null, retryAfterMs: null, answer: null })
  t.match(await send(url), { status: 201, error: null, retryAfterMs: null, answer: null })
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'prospect-pages/1',
    'content-length': `${Buffer.byteLength(body)}`,
    'webhook-id': 'event_01',
    'webhook-hops': '2',
  }
  t.match(seen[0], { method: 'POST', headers, verified: JSON.parse(body) })
})

t.test('a PUT or PATCH is sent like a POST', async (t) => {
  for (const method of ['PUT', 'PATCH'] as const) {
    const url = await receiver(t, async (request, response) => {
      const text = Buffer.concat(await request.toArray()).toString()
      new Webhook(SECRET).verify(text, request.headers as Record<string, string>)
      response.writeHead(request.method === method ? 200 : 405).end()
    })
    t.match(await sender({ method })(url), { status: 200 })
  }
})

t.test('any other status is a failure, and its error quotes nothing of the answer', async (t) => {
  const cases = [
    { status: 500, error: 'The receiver answered 500.' },
    { status: 410, error: 'The receiver answered 410.' },
    { status: 404, error: 'The receiver answered 404.' },
    { status: 304, error: 'The receiver answered 304; redirects are not followed.' },
  ]
  for (const { status, error } of cases) {
    const url = await receiver(t, (_, response) => response.writeHead(status).end('a secret'))
    t.match(await sender({})(url), { status, error, retryAfterMs: null, answer: null })
  }
})

t.test('a redirect is not followed', async (t) => {
  let called = false
  const target = await receiver(t, (_, response) => {
    called = true
    response.end()
  })
  for (const status of [301, 302, 303, 307, 308]) {
    const url = await receiver(t, (_, response) => response.writeHead(status, { location: target }).end())
    for (const method of ['POST', 'PUT', 'PATCH'] as const)
      t.match(await sender({ method })(url), { status, error: /redirects are not followed/ })
  }
  t.notOk(called)
})

t.test('Retry-After is seconds or a date, at most a day', async (t) => {
  const nowMs = Date.UTC(2026, 0, 1)
  const cases = [
    { header: '120', retryAfterMs: 120_000 },
    { header: 'Thu, 01 Jan 2026 00:02:00 GMT', retryAfterMs: 120_000 },
    { header: 'Wed, 31 Dec 2025 00:00:00 GMT', retryAfterMs: null },
    { header: '99999999999999999999', retryAfterMs: 86_400_000 },
    { header: 'Fri, 01 Jan 2100 00:00:00 GMT', retryAfterMs: 86_400_000 },
    { header: '0', retryAfterMs: null },
    { header: '-5', retryAfterMs: null },
    { header: 'soon', retryAfterMs: null },
  ]
  for (const { header, retryAfterMs } of cases) {
    const url = await receiver(t, (_, response) => response.writeHead(429, { 'retry-after': header }).end())
    t.match(await sender({ clock: () => nowMs })(url), { status: 429, retryAfterMs }, header)
  }
})

t.test('a receiver that does not answer in time is a failure, even if it trickles', async (t) => {
  const trickle = (text: string) => (socket: Socket) => {
    let sent = 0
    const timer = setInterval(() => socket.write(text[sent++] ?? 'x'), 5)
    socket.on('close', () => clearInterval(timer))
  }
  const late = { status: null, error: 'No complete answer within 0.3 s.', retryAfterMs: null }
  const silent = await rawReceiver(t, () => {})
  const slowHead = await rawReceiver(t, trickle(`HTTP/1.1 200 OK\r\nx-long: `))
  const informing = await rawReceiver(t, trickle('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000)))
  for (const url of [silent, slowHead, informing]) t.match(await sender({ msMax: SOON_MS })(url), late)
  const slowBody = await rawReceiver(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n')
    trickle('')(socket)
  })
  t.match(await sender({ msMax: SOON_MS })(slowBody), { status: 200, error: null }, 'the status counts')
})

t.test('custom headers are sent in addition to the standard ones', async (t) => {
  const seen: unknown[] = []
  const url = await receiver(t, ({ headers }, response) => {
    seen.push(headers)
    response.end()
  })
  await sender({ headers: { Authorization: 'Bearer 4711', 'X-Key': '1' } })(url)
  const all = { authorization: 'Bearer 4711', 'x-key': '1', 'webhook-id': 'event_01' }
  t.match(seen, [{ ...all, 'content-type': 'application/json' }])
})

t.test('the first 1 KiB of a response is kept, as storable text', async (t) => {
  const cases = [
    { sent: '', answer: '' },
    { sent: 'No such list: Zoë', answer: 'No such list: Zoë' },
    { sent: 'x'.repeat(9_000), answer: 'x'.repeat(1_024) },
    { sent: `${'x'.repeat(1_023)}ë`, answer: 'x'.repeat(1_023) },
    { sent: Buffer.from([0x61, 0xff, 0, 0x62]), answer: 'a\ufffd\ufffdb' },
  ]
  for (const { sent, answer } of cases) {
    const url = await receiver(t, (_, response) => response.writeHead(500).end(sent))
    t.match(await sender({ mayKeep: () => true })(url), { status: 500, answer })
  }
  const cut = await rawReceiver(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nso far')
  })
  t.match(await sender({ mayKeep: () => true, msMax: SOON_MS })(cut), { status: 200, answer: 'so far' })
})

t.test('a large answer is read only in part', async (t) => {
  let written = 0
  const url = await receiver(t, (_, response) => {
    response.writeHead(200)
    const write = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384
    }
    response.on('drain', write)
    write()
  })
  t.match(await sender({})(url), { status: 200, error: null })
  t.ok(written < 32 * 1_048_576, `${written}`)
})

t.test('an answer that is not HTTP is a failure', async (t) => {
  const secretText = /secret/
  for (const text of [
    'a secret\r\n\r\n',
    'HTTP/1.1 OK\r\n\r\n',
    `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(70_000)}\r\n\r\n`,
  ]) {
    const url = await rawReceiver(t, (socket) => socket.end(text))
    const answer = await sender({})(url)
    t.match(answer, { status: null, error: /^The answer was not valid HTTP \(HPE_\w+\)\.$/ })
    t.notMatch(answer.error, secretText)
  }
  const upgrading = await rawReceiver(t, (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  )
  t.match(await sender({})(upgrading), { status: null, error: /./ })
  const closing = await rawReceiver(t, (socket) => socket.destroy())
  t.match(await sender({})(closing), {
    status: null,
    error: 'The receiver closed the connection without an answer.',
  })
})

t.test('an unreachable receiver is a failure', async (t) => {
  const server = createSocketServer()
  const host = await listening(t, server)
  server.close()
  t.match(await sender({})(`http://${host}`), { error: 'The receiver does not accept connections.' })
  const lookup = lookupFailing('ESERVFAIL')
  t.match(await sender({ lookup })('https://hooks.example'), {
    error: /could not be looked up: DNS did not answer/,
  })
  const failing = sender({ lookup: lookupFailing('ENOPLAN') })
  t.match(await failing('https://hooks.example'), { error: 'The connection failed (ENOPLAN).' })
})
type Lookup = NonNullable<Settings['lookup']>
const lookupFailing =
  (code: string): Lookup =>
  (_host, _options, done) =>
    done(Object.assign(new Error('why'), { code }), [])
/** A name that has the next of these addresses at each look-up. */
const lookupReturning = (...addresses: string[]): Lookup => {
  const left = [...addresses]
  return (_host, _options, done) => {
    const address = left.shift() ?? ''
    done(null, [{ address, family: isIP(address) }])
  }
}

t.test('a host that does not exist looks the same as one whose address must not be called', async (t) => {
  const lookups = [lookupReturning('10.0.0.1'), lookupFailing('ENOTFOUND'), lookupFailing('ENODATA')]
  const answers = lookups.map((lookup) => sender({ lookup, allowedNetworks: [] })('https://hooks.example'))
  const error = 'The host is unknown, or not public and not allowed by allowedHosts or allowedNetworks.'
  for (const answer of await Promise.all(answers))
    t.match(answer, { status: null, error, retryAfterMs: null, isRefused: true })
  const allowed = sender({ lookup: lookupFailing('ENOTFOUND'), allowedHosts: ['hooks.example'] })
  t.match(
    await allowed('https://hooks.example'),
    { error: 'The name of the receiver does not exist in DNS.', isRefused: undefined },
    'unless the host is allowed',
  )
})

t.test(
  'connections are kept alive, and a connection that was closed meanwhile is replaced at once',
  async (t) => {
    const requests: number[] = []
    const server = createSocketServer((socket) => {
      const connection = requests.push(0) - 1
      socket.on('data', () => {
        requests[connection] = (requests[connection] ?? 0) + 1
        if (requests[connection] < 3) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
        // Like a receiver that closes the connection while the request is in flight.
        else socket.resetAndDestroy()
      })
    })
    const send = sender({})
    const url = `http://${await listening(t, server)}`
    for (let i = 0; i < 3; i++) t.match(await send(url), { status: 200, error: null })
    t.strictSame(requests, [3, 1])
  },
)

t.test('a connection that should not be kept is closed', async (t) => {
  const seen: unknown[] = []
  const url = await receiver(t, ({ headers }, response) => {
    seen.push(headers.connection)
    response.end()
  })
  const send = sender({})
  await send(url)
  await send(url, NEVER_STOPPED, false)
  t.strictSame(seen, ['keep-alive', 'close'])
})

t.test('a connection that dies with its first request is a failure, not a second request', async (t) => {
  let connections = 0
  const url = await rawReceiver(t, (socket) => {
    connections++
    socket.destroy()
  })
  t.match(await sender({})(url), { status: null })
  t.equal(connections, 1)
})

t.test('a non-public address is never connected to, even if it was public when it was checked', async (t) => {
  let calls = 0
  const url = await receiver(t, (_, response) => {
    calls++
    response.writeHead(200, { connection: 'close' }).end()
  })
  t.match(await sender({ allowedNetworks: [] })(url.replace('http:', 'https:')), {
    status: null,
    error: /^The URL must have a public address, unless allowedHosts or allowedNetworks/,
    isRefused: true,
  })
  const lookup = lookupReturning('127.0.0.1', '10.0.0.1', '::ffff:169.254.169.254')
  const send = sender({ lookup, allowedNetworks: ['127.0.0.0/8'] })
  const named = url.replace('127.0.0.1', 'hooks.example')
  t.match(await send(named), { status: 200 })
  const error = /not public and not allowed by allowedHosts or allowedNetworks/
  for (let i = 0; i < 2; i++) t.match(await send(named), { status: null, error, isRefused: true })
  t.equal(calls, 1)
})

t.test('a stop ends the sending at once', async (t) => {
  const stopping = new AbortController()
  const url = await rawReceiver(t, () => stopping.abort())
  const stopped = { status: null, error: 'The service is stopping.' }
  t.match(await sender({})(url, stopping.signal), stopped)
  t.match(await sender({})(url, stopping.signal), stopped)
})

const withOpenssl = {
  skip: spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed',
}
t.test('a certificate that is not trusted, or no TLS at all, is a failure', withOpenssl, async (t) => {
  const keyOptions = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    '-',
    '-days',
    '1',
  ]
  const { stdout } = spawnSync('openssl', ['req', '-x509', ...keyOptions, '-subj', '/CN=hooks.example'], {
    encoding: 'utf8',
  })
  const server = createTlsServer({ key: stdout, cert: stdout }, (_, response) => response.end())
  const secure = await listening(t, server)
  t.match(await sender({})(`https://${secure}`), {
    status: null,
    error: 'The certificate of the receiver is self-signed.',
  })
  const plain = await receiver(t, (_, response) => response.end())
  t.match(await sender({})(plain.replace('http:', 'https:')), {
    status: null,
    error: /^The receiver could not agree on an encrypted connection\./,
  })
})
