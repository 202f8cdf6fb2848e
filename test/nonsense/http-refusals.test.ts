import t from 'tap'
import { codesOf } from '../support/dial.ts'
import { inTime, startTarget } from './program.ts'

t.setTimeout(0)
const target = await startTarget(t)
const { textOf, get, postOf, logOf, logged } = target
const BAD = 'invalid_request'
/** Everything that is heard until the other side ends the connection. */
const heardAfter = async (text: string) => codesOf(await inTime(target.dial().say(text).closed()))

for (const [what, bad] of [
  ['what is no HTTP', 'GARBAGE\r\n\r\n'],
  ['a body longer than it was said to be', 'xxxx'],
  ['headers that are too large', textOf('GET /healthz', [`x-a: ${'x'.repeat(20_000)}`])],
  ['a body that is no chunk', postOf(['Transfer-Encoding: chunked'], 'x\r\n')],
] as const)
  t.test(`a request is answered before what follows it is refused: ${what}`, async (t) => {
    t.strictSame(await heardAfter(bad), [BAD], 'alone')
    t.strictSame(await heardAfter(logOf() + bad), [201, BAD])
    t.strictSame(await heardAfter(get + bad), [200, BAD])
    t.strictSame(await heardAfter(logOf() + get + logOf() + bad), [201, 200, 201, BAD])
    await target.stillFine()
  })

t.test('what follows a request that ends its connection is passed over', async (t) => {
  const last = textOf('GET /v0/page_groups', ['Connection: close'])
  for (const more of [get, 'GARBAGE\r\n\r\n', logOf(undefined, ['Idempotency-Key: after the end'])])
    t.strictSame(await heardAfter(last + more), [200])
  t.notOk((await logged()).some(({ idempotency_key }) => idempotency_key === 'after the end'))
})

t.test('nothing went wrong within the program', async () => {
  await target.stillFine()
  await target.endsWell()
})
