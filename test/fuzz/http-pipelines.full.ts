import t from 'tap'
import { codesOf } from '../support/dial.ts'
import { inTime, startTarget } from './program.ts'

t.setTimeout(0)
const target = await startTarget(t)
const { textOf, get, postOf, logOf, codesAfter } = target
const keyed = (key: string | number) => logOf(undefined, [`Idempotency-Key: ${key}`])

t.test('two requests in one packet are answered one after the other', async (t) => {
  t.strictSame(await codesAfter(logOf() + get, 2), [201, 200])
  t.strictSame(await codesAfter(get + logOf(), 2), [200, 201])
})

t.test('as many as come are answered in their order, each once', async (t) => {
  const keys = Array.from({ length: 30 }, (_, i) => `${i}`)
  const line = target.dial().send(keys.map(keyed).join(''))
  const answers = await inTime(line.answers(keys.length))
  line.hangUp()
  const again = await Promise.all(
    keys.map(async (key) => (await inTime(target.dial().send(keyed(key)).answers(1)))[0]?.body),
  )
  t.strictSame(
    again,
    answers.map(({ body }) => body),
    'the answer of each is its own',
  )
  t.equal(new Set(again).size, keys.length)
})

t.test('requests that are cut into packets anywhere are the same requests', async (t) => {
  const text = keyed('cut') + get + logOf('{}') + get
  for (let at = 1; at < text.length; at += 31) {
    const line = target.dial().send(text.slice(0, at), text.slice(at))
    t.strictSame(codesOf(await inTime(line.answers(4))), [201, 200, 'invalid_request', 200])
    line.hangUp()
  }
})

t.test('a body of another request is no request', async (t) => {
  const hidden = textOf('DELETE /healthz')
  const line = target.dial().send(logOf(hidden) + get)
  t.strictSame(codesOf(await inTime(line.answers(2))), ['invalid_json', 200])
  line.hangUp()
  const ofGet = target.dial().send(textOf('GET /healthz', [`Content-Length: ${hidden.length}`], hidden) + get)
  const codes = codesOf(await inTime(ofGet.finish().closed()))
  t.ok(codes.length <= 2 && codes.every((code) => code === 200), codes.join())
})

t.test('two lengths do not hide a request from the reader of the other', async (t) => {
  const hidden = textOf('GET /v0/page_groups')
  for (const text of [
    postOf([`Content-Length: ${hidden.length + 5}`, 'Transfer-Encoding: chunked'], `0\r\n\r\n${hidden}`),
    postOf(['Content-Length: 5', 'Transfer-Encoding: chunked'], `0\r\n\r\n${hidden}`),
    postOf(['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], `0\r\n\r\n${hidden}`),
    postOf(['Transfer-Encoding : chunked', 'Content-Length: 5'], `0\r\n\r\n${hidden}`),
    postOf(['Transfer-Encoding:\x0bchunked', 'Content-Length: 5'], `0\r\n\r\n${hidden}`),
  ]) {
    const codes = codesOf(await inTime(target.dial().send(text).finish().closed()))
    t.strictSame(codes, ['invalid_request'], text)
  }
})

t.test('nothing went wrong within the program', async () => {
  await target.stillFine()
  await target.endsWell()
})
