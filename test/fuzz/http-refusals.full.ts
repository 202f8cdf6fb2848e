import t from 'tap'
import { codesOf } from '../support/dial.ts'
import { ACTIVITY, inTime, startTarget } from './program.ts'

t.setTimeout(0)
const target = await startTarget(t)
const { textOf, get, postOf, logOf, codesAfter, logged } = target
const BAD = 'invalid_request'
/** Everything that is heard until the other side ends the connection. */
const heardAfter = async (text: string) => codesOf(await inTime(target.dial().send(text).closed()))

for (const [what, bad, code = BAD] of [
  ['what is no HTTP', 'GARBAGE\r\n\r\n'],
  ['a body longer than it was said to be', 'xxxx'],
  ['headers that are too large', textOf('GET /healthz', [`x-a: ${'x'.repeat(20_000)}`]), 'headers_too_large'],
  ['a body that is no chunk', postOf(['Transfer-Encoding: chunked'], 'x\r\n')],
  ['a connection to be passed on', 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n'],
] as const)
  t.test(`a request is answered before what follows it is refused: ${what}`, async (t) => {
    t.strictSame(await heardAfter(bad), [code], 'alone')
    t.strictSame(await heardAfter(logOf() + bad), [201, code])
    t.strictSame(await heardAfter(get + bad), [200, code])
    t.strictSame(await heardAfter(logOf() + get + logOf() + bad), [201, 200, 201, code])
    await target.stillFine()
  })

t.test('what follows a request that ends its connection is passed over', async (t) => {
  const last = textOf('GET /v0/page_groups', ['Connection: close'])
  for (const more of [get, 'GARBAGE\r\n\r\n', logOf(undefined, ['Idempotency-Key: after the end'])])
    t.strictSame(await heardAfter(last + more), [200])
  t.notOk((await logged()).some(({ idempotency_key }) => idempotency_key === 'after the end'))
})

t.test('a request that is refused before its body has come is refused once', async (t) => {
  const before = (await logged()).length
  const large = postOf(['Content-Length: 9007199254740991'], ACTIVITY)
  t.strictSame(await codesAfter(large, 1), ['payload_too_large'])
  t.strictSame(await codesAfter(postOf(['Content-Length: 100'], ACTIVITY).replace('x-api-key', 'x'), 1), [
    'missing_api_key',
  ])
  await target.stillFine()
  t.equal((await logged()).length, before)
})

t.test('a sender of far too much can read why it is refused', async (t) => {
  for (const text of [
    `GET /healthz HTTP/1.1\r\n${'x-a: 1\r\n'.repeat(200_000)}`,
    textOf('GET /healthz', [`x-a: ${'x'.repeat(2_000_000)}`]),
    postOf(['Transfer-Encoding: chunked'], `1d\r\n${ACTIVITY}\r\n0\r\n${'x-a: 1\r\n'.repeat(200_000)}`),
  ])
    t.strictSame(await heardAfter(text), ['headers_too_large'])
  await target.stillFine()
})

t.test('nothing went wrong within the program', async () => {
  await target.stillFine()
  await target.endsWell()
})
