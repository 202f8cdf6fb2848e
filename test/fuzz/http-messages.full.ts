import t from 'tap'
import { inTime, startTarget } from './program.ts'

t.setTimeout(0)
const target = await startTarget(t)
const { textOf, get, postOf, logOf, codesAfter } = target
const BAD = 'invalid_request'
const TOO_LARGE = 'headers_too_large'
const health = (line: string, ...headers: string[]) =>
  [line, 'Host: localhost', ...headers, '', ''].join('\r\n')
const asBytes = (hex: string) => Buffer.from(hex, 'hex').toString('latin1')
const many = (count: number, line: string) => Array.from({ length: count }, () => line)

const MESSAGES: readonly (readonly [what: string, text: string, code: string | number])[] = [
  // The request line
  ['a method in lower case', health('get /healthz HTTP/1.1'), BAD],
  ['a method that nobody knows', health('BREW /healthz HTTP/1.1'), BAD],
  ['a method that the path has not', textOf('PROPFIND /v0/page_groups'), 'method_not_allowed'],
  ['the method of another protocol', health('SETUP /healthz RTSP/1.0'), 'method_not_allowed'],
  ['no target', health('GET HTTP/1.1'), BAD],
  ['two blanks', health('GET  /healthz HTTP/1.1'), 200],
  ['a tab for a blank', health('GET\t/healthz HTTP/1.1'), BAD],
  ['a blank before the method', health(' GET /healthz HTTP/1.1'), BAD],
  ['empty lines before the method', `\r\n\r\n${get}`, 200],
  ['a blank behind the version', health('GET /healthz HTTP/1.1 '), BAD],
  ['HTTP/0.9', health('GET /healthz HTTP/0.9'), BAD],
  ['HTTP/1.2', health('GET /healthz HTTP/1.2'), BAD],
  ['HTTP/2.0', health('GET /healthz HTTP/2.0'), BAD],
  ['http in lower case', health('GET /healthz http/1.1'), BAD],
  ['a version of two digits', health('GET /healthz HTTP/1.11'), BAD],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', BAD],
  ['the hello of TLS', asBytes('16030100c8010000c40303'.padEnd(410, '00')), BAD],
  ['bytes of nothing', asBytes('00ff00ff0a0d0a0d'), BAD],
  // The target
  ['the target of another host', textOf('GET http://other.example:1/v0/page_groups'), 200],
  ['a target with a user', textOf('GET http://a:b@x/v0/page_groups'), 200],
  ['a target that is no path', health('GET healthz HTTP/1.1'), BAD],
  ['a star', health('OPTIONS * HTTP/1.1'), 'not_found'],
  ['a path behind a star', health('GET */healthz HTTP/1.1'), 'not_found'],
  ['two slashes', textOf('GET //v0/page_groups'), 'not_found'],
  ['a fragment', textOf('GET /v0/page_groups#limit=0'), 200],
  ['bytes beyond ASCII in a query', textOf('GET /v0/page_groups?x=\xc3\xa9\xff'), BAD],
  ['bytes beyond ASCII in a path', textOf('GET /v0/page_groups/\xff/pages'), BAD],
  ['NUL in a target', health('GET /healthz\0 HTTP/1.1'), BAD],
  ['a line feed in a target', health('GET /heal\nthz HTTP/1.1'), BAD],
  ['a long path', textOf(`GET /${'x'.repeat(15_000)}`), 'not_found'],
  ['a path without end', textOf(`GET /${'x'.repeat(100_000)}`), TOO_LARGE],
  // Headers
  ['a blank before the colon', health('GET /healthz HTTP/1.1', 'x-a : 1'), BAD],
  ['a blank in a name', health('GET /healthz HTTP/1.1', 'x a: 1'), BAD],
  ['brackets in a name', health('GET /healthz HTTP/1.1', '(x): 1'), BAD],
  ['bytes beyond ASCII in a name', health('GET /healthz HTTP/1.1', '\xe9: 1'), BAD],
  ['no colon', health('GET /healthz HTTP/1.1', 'x-a'), BAD],
  ['a header that goes on in the next line', health('GET /healthz HTTP/1.1', 'x-a: 1', ' 2'), BAD],
  ['a blank before the first header', 'GET /healthz HTTP/1.1\r\n Host: x\r\n\r\n', BAD],
  ['NUL in a value', health('GET /healthz HTTP/1.1', 'x-a: \0'), BAD],
  ['NUL in a name', health('GET /healthz HTTP/1.1', 'x\0: 1'), BAD],
  ['a carriage return in a value', health('GET /healthz HTTP/1.1', 'x-a: 1\r2'), BAD],
  ['line feeds alone', get.replaceAll('\r\n', '\n'), BAD],
  ['a line feed alone before a header', get.replace('\r\nHost', '\nHost'), BAD],
  ['carriage returns alone', get.replaceAll('\r\n', '\r'), BAD],
  ['bytes beyond ASCII in a value', get.replace('Host:', 'x-a: \xff\xc3\xa9\r\nHost:'), 200],
  ['prototype names', get.replace('Host:', '__proto__: x\r\nconstructor: y\r\ntoString: z\r\nHost:'), 200],
  ['a key that is to be forgotten', get.replace('Host:', 'Connection: x-api-key\r\nHost:'), 200],
  ['no value for Host', get.replace('localhost', ''), 200],
  ['some hundred headers', get.replace('Host:', `${many(300, 'a:').join('\r\n')}\r\nHost:`), 200],
  // Node would drop some of more than two thousand without a word; it takes them for too large before that.
  ['two thousand headers', get.replace('Host:', `${many(2_001, 'a:').join('\r\n')}\r\nHost:`), TOO_LARGE],
  // Asking for another protocol
  [
    'an upgrade to WebSocket',
    textOf('GET /v0/page_groups', ['Connection: Upgrade', 'Upgrade: websocket']),
    200,
  ],
  ['an upgrade with a body', logOf(undefined, ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c']), 201],
  ['another version in a header', postOf(['HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'], ''), 'invalid_json'],
]

for (const [what, text, code] of MESSAGES)
  t.test(`${what}: ${code}`, async (t) => {
    t.strictSame(await codesAfter(text, 1), [code])
    await target.stillFine()
  })

t.test(
  'HTTP/1.0 is answered with or without a host, and its connection ends unless it is to be kept',
  async (t) => {
    const old = (text: string) => text.replace('HTTP/1.1', 'HTTP/1.0')
    t.strictSame(await codesAfter(old(get), 1), [200])
    t.strictSame(await codesAfter(old(logOf()), 1), [201])
    const line = target.dial().send(old(get))
    await inTime(line.closed())
    const kept = target.dial().send(old(get.replace('Host:', 'Connection: keep-alive\r\nHost:')))
    await inTime(kept.answers(1))
    await inTime(kept.send(get).answers(2))
    kept.hangUp()
  },
)

t.test('a caller that is gone in the middle of its headers harms nobody', async (t) => {
  for (let length = 1; length < get.length; length += 7) target.dial().send(get.slice(0, length)).hangUp()
  for (let length = 1; length < get.length; length += 23) {
    const heard = await inTime(target.dial().send(get.slice(0, length)).finish().closed())
    t.ok(heard.length <= 1, 'at most one answer')
  }
  await target.stillFine()
})

t.test('nothing went wrong within the program', async () => {
  await target.stillFine()
  await target.endsWell()
})
