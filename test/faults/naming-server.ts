import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

type Behaviour = (response: ServerResponse, request: IncomingMessage) => void
type Owner = { readonly teardown: (end: () => void) => void }

const naming =
  (content: unknown): Behaviour =>
  (response) =>
    response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] }))
const answering =
  (text: string | Uint8Array, headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    response.writeHead(200, headers).end(text)
/** Bytes instead of an answer. */
const raw =
  (text: string): Behaviour =>
  (_, request) =>
    request.socket.end(text)
/** Sends a text again and again, as fast as it is read. */
const endlessly =
  (text: string): Behaviour =>
  (response) => {
    const send = () => {
      while (!response.destroyed && response.write(text)) {}
    }
    response.on('drain', send)
    send()
  }
/** So much of it that it would fill any memory, and slow enough that other work in this process goes on. */
const endlesslyRaw =
  (text: string, beginning = ''): Behaviour =>
  (_, { socket }) => {
    socket.write(beginning)
    const much = text.repeat(Math.ceil(8_192 / text.length))
    const timer = setInterval(() => socket.writableNeedDrain || socket.write(much), 5)
    socket.on('close', () => clearInterval(timer))
  }
const nowAndThen =
  (text: string): Behaviour =>
  (response) => {
    const timer = setInterval(() => response.write(text), 50)
    response.on('close', () => clearInterval(timer))
  }

const KIBIBYTE = 'x'.repeat(1_024)

/** Each ends without a name. */
export const NAMELESS: Readonly<Record<string, Behaviour>> = {
  'never answers': () => {},
  'answers a byte now and then': nowAndThen('x'),
  'breaks the connection': (response) => response.destroy(),
  'breaks in the middle': (response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('{"choices":')
    setTimeout(() => response.destroy(), 50)
  },
  'answers no HTTP': raw('SSH-2.0-OpenSSH_9.2\r\n'),
  'answers endless headers': endlesslyRaw(`x-filler: ${KIBIBYTE}\r\n`, 'HTTP/1.1 200 OK\r\n'),
  'answers endless interim answers': endlesslyRaw('HTTP/1.1 103 Early Hints\r\n\r\n'),
  'answers an endless body': endlessly(KIBIBYTE),
  'answers an endless text of JSON': endlessly(`{"choices":[{"message":{"content":"${KIBIBYTE}`),
  'answers a hundred megabytes in a hundred kilobytes': answering(gzipSync(new Uint8Array(100 * 1_048_576)), {
    'content-encoding': 'gzip',
  }),
  'answers a megabyte': answering('x'.repeat(1_048_576)),
  'answers a name of 100 kB': naming('Spring '.repeat(100_000 / 7)),
  'answers HTML': answering('<!doctype html><title>Sign in</title>', { 'content-type': 'text/html' }),
  'answers no text': answering(Uint8Array.from([0xff, 0xfe, 0x00, 0xc3, 0x28])),
  'answers very deep JSON': answering('['.repeat(30_000) + ']'.repeat(30_000)),
  'answers an error': (response) => response.writeHead(500).end('{}'),
  'answers that it is overloaded': (response) => response.writeHead(429, { 'retry-after': '3600' }).end('{}'),
  'sends elsewhere': (response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  'answers choices that are none': answering('{"choices":{"__proto__":{"0":1},"length":1}}'),
  'answers no choices': answering('null'),
  'names with a number': naming(42),
  'names with a list': naming(['Spring']),
  'names with nothing': naming(''),
  'names with what nobody sees': naming('\u200b\u2060\u202e\ufeff\u0000'),
  'names with halves of pairs': naming('\ud83d\ud83d \udc00'),
}

/** Each ends with the name beside it. */
export const NAMES: Readonly<Record<string, readonly [Behaviour, string | RegExp]>> = {
  'names well': [naming('Spring Flowers'), 'Spring Flowers'],
  'names in HTML': [naming('<script>alert(1)</script>'), '<script>alert(1)</script>'],
  'names in SQL': [naming("x'); drop table pages; --"), "x'); drop table pages; --"],
  'names over many lines': [naming('Spring\r\n\r\nX-Api-Key: 1\u2028Flowers'), 'Spring X-Api-Key: 1 Flowers'],
  'names with control characters': [
    naming('\u001b[31mSpring\u0007\u0000 \u009bFlowers'),
    '[31mSpring Flowers',
  ],
  'names from right to left': [naming('Spring\u202e srewolF\u2066\u200f'), 'Spring srewolF'],
  'names with half of a pair': [naming('Spring \ud83d Flowers'), /^Spring\s+Flowers$/],
  'names with an escaped NUL': [
    answering('{"choices":[{"message":{"content":"Spring\\u0000\\ud800Flowers"}}]}'),
    /^Spring ?Flowers$/,
  ],
  'names with members twice': [
    answering('{"choices":[],"choices":[{"message":{"content":"Twice","__proto__":{"content":"No"}}}]}'),
    'Twice',
  ],
  'names at length': [naming('Spring flowers '.repeat(4_000)), /^(Spring flowers ){7}Spring flowers$/],
  'names with marks upon marks': [naming(`S${'\u0301'.repeat(20_000)}`), /^S\u0301{119}$/],
}

/** The mark in a page's context that makes the naming server behave so. */
const markOf = (behaviour: string) => `[${behaviour}]`
export const contextFor = (behaviour: string) => `A page whose namer ${behaviour} ${markOf(behaviour)}`

/** A naming server that behaves for each page as its context says, and names all others well. */
export const startNamingServer = async (t: Owner, port = 0) => {
  const behaviours = new Map<string, Behaviour>([
    ...Object.entries(NAMELESS),
    ['names slowly', (...it) => setTimeout(() => naming('Late Flowers')(...it), 500)],
    ...Object.entries(NAMES).map(([name, [behaviour]]) => [name, behaviour] as const),
  ])
  let calls = 0
  let open = 0
  const server = createServer(async (request, response) => {
    calls++
    open++
    response.on('error', () => {}).on('close', () => open--)
    const asked = (await request.setEncoding('utf8').toArray()).join('')
    const [, named = ''] = /\[([^[\]]+)\]"/.exec(asked) ?? []
    const behave = behaviours.get(named) ?? naming('Well named')
    behave(response, request)
  })
  server.on('connection', (socket) => socket.on('error', () => {}))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  t.teardown(close)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return { url, calls: () => calls, open: () => open, close }
}
