import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { codesOf } from '../support/dial.ts'
import { ACTIVITY, inTime, startTarget } from './program.ts'

t.setTimeout(0)
const target = await startTarget(t)
const { textOf, get, postOf, logOf, codesAfter, logged } = target
const BAD = 'invalid_request'
const OTHER = 'unsupported_media_type'
const CHUNKED = 'Transfer-Encoding: chunked'
const LENGTH = `Content-Length: ${ACTIVITY.length}`
const chunked = (...chunks: string[]) => postOf([CHUNKED], chunks.join(''))
const chunk = (text: string, size = text.length.toString(16)) => `${size}\r\n${text}\r\n`
const many = (count: number, text: string) => Array.from({ length: count }, () => text)
const END = '0\r\n\r\n'

/** Nothing of it may be stored. */
const REFUSED: readonly (readonly [what: string, text: string, code: string])[] = [
  // Lengths
  ['a negative length', postOf(['Content-Length: -1']), BAD],
  ['a length with a sign', postOf([`Content-Length: +${ACTIVITY.length}`]), BAD],
  ['a length in hexadecimal', postOf(['Content-Length: 0x1d']), BAD],
  ['a length with a point', postOf([`Content-Length: ${ACTIVITY.length}.0`]), BAD],
  ['two lengths in one', postOf([`Content-Length: ${ACTIVITY.length}, ${ACTIVITY.length}`]), BAD],
  ['two lengths with a blank', postOf(['Content-Length: 2 9']), BAD],
  ['no digits', postOf(['Content-Length: many']), BAD],
  ['an empty length', postOf(['Content-Length: ']), BAD],
  ['a length beyond 64 bits', postOf(['Content-Length: 99999999999999999999999']), BAD],
  ['both lengths', postOf([LENGTH, CHUNKED], chunk(ACTIVITY) + END), BAD],
  ['both lengths, the other way round', postOf([CHUNKED, LENGTH], chunk(ACTIVITY) + END), BAD],
  ['no length', postOf([], ''), 'invalid_json'],
  // Transfer codings
  ['a coding that is not chunked', postOf(['Transfer-Encoding: gzip']), BAD],
  ['identity', postOf(['Transfer-Encoding: identity']), BAD],
  ['a coding behind chunked', postOf(['Transfer-Encoding: chunked, gzip'], chunk(ACTIVITY) + END), BAD],
  [
    'another coding before chunked',
    postOf(['Transfer-Encoding: gzip, chunked'], chunk(ACTIVITY) + END),
    OTHER,
  ],
  ['a coding like chunked', postOf(['Transfer-Encoding: xchunked'], chunk(ACTIVITY) + END), BAD],
  // Chunks
  ['a size that is no number', chunked(chunk(ACTIVITY, 'x')), BAD],
  ['a negative size', chunked(chunk(ACTIVITY, '-1d')), BAD],
  ['a size with a prefix', chunked(chunk(ACTIVITY, '0x1d')), BAD],
  ['a blank before the size', chunked(chunk(ACTIVITY, ' 1d')), BAD],
  ['no size', chunked(chunk(ACTIVITY, '')), BAD],
  ['a size beyond 64 bits', chunked(chunk(ACTIVITY, 'f'.repeat(17))), BAD],
  ['a size that is too small', chunked(chunk(ACTIVITY, '1c'), END), BAD],
  ['a size with a line feed alone', chunked(`1d\n${ACTIVITY}\r\n`, END), BAD],
  ['data with a line feed alone', chunked(`1d\r\n${ACTIVITY}\n`, END), BAD],
  ['an extension without end', chunked(chunk(ACTIVITY, `1d;${'x'.repeat(100_000)}`), END), BAD],
  ['much said of each chunk', chunked(...many(200, chunk(' ', `1;${'x'.repeat(200)}`)), END), 'invalid_json'],
  ['a trailer that is none', chunked(chunk(ACTIVITY), '0\r\nx\r\n\r\n'), BAD],
  ['chunks of nothing', chunked(END), 'invalid_json'],
]
for (const [what, text, code] of REFUSED)
  t.test(`${what}: ${code}`, async (t) => {
    const before = (await logged()).length
    t.strictSame(await codesAfter(text, 1), [code])
    await target.stillFine()
    t.equal((await logged()).length, before, 'nothing is stored')
  })

const TAKEN: readonly (readonly [what: string, text: string])[] = [
  ['a length with zeros before it', postOf([`Content-Length: 000${ACTIVITY.length}`])],
  ['a length with blanks around it', postOf([`Content-Length:  ${ACTIVITY.length} `])],
  ['chunks of a byte', chunked(...[...ACTIVITY].map((byte) => chunk(byte)), END)],
  ['chunks with zeros and capitals in their size', chunked(chunk(ACTIVITY, '0001D'), END)],
  ['chunks with extensions', chunked(chunk(ACTIVITY, '1d;a=b;c="d"'), END)],
  ['trailers', chunked(chunk(ACTIVITY), '0\r\nx-api-key: wrong\r\nIdempotency-Key: late\r\n\r\n')],
  ['another expectation', logOf(undefined, ['Expect: 200-ok'])],
  ['an expectation in another spelling', logOf(undefined, ['Expect: 100-Continue']).replace(ACTIVITY, '')],
]
for (const [what, text] of TAKEN)
  t.test(`${what}: taken`, async (t) => {
    const before = (await logged()).length
    if (text.endsWith(ACTIVITY) || text.includes(CHUNKED)) t.strictSame(await codesAfter(text, 1), [201])
    else {
      const line = target.dial().send(text)
      t.strictSame(codesOf(await inTime(line.answers(1))), [100])
      t.strictSame(codesOf(await inTime(line.send(ACTIVITY).answers(2))), [100, 201])
      line.hangUp()
    }
    await target.stillFine()
    const after = await logged()
    t.equal(after.length, before + 1)
    t.notOk(
      after.some(({ idempotency_key }) => idempotency_key === 'late'),
      'a trailer is no header',
    )
  })

t.test('a body that comes without being waited for is read, asked for or not', async (t) => {
  const line = target.dial().send(logOf(undefined, ['Expect: 100-continue']))
  t.strictSame(codesOf(await inTime(line.answers(2))), [100, 201])
  t.strictSame(codesOf(await inTime(line.send(get).answers(3))), [100, 201, 200])
  line.hangUp()
})

t.test('a body that is refused before it comes is not asked for, and not taken for a request', async (t) => {
  const refused = logOf(get, ['Expect: 100-continue']).replace(/x-api-key: .*/, 'x-api-key: wrong')
  t.strictSame(codesOf(await inTime(target.dial().send(refused).closed())), ['invalid_api_key'])
  await target.stillFine()
})

t.test('HTTP/1.0 is not asked for its body, and must not send it in chunks', async (t) => {
  const text = logOf(undefined, ['Expect: 100-continue']).replace('HTTP/1.1', 'HTTP/1.0')
  t.strictSame(await codesAfter(text, 1), [201])
  t.strictSame(await codesAfter(chunked(chunk(ACTIVITY), END).replace('HTTP/1.1', 'HTTP/1.0'), 1), [
    'invalid_request',
  ])
})

t.test('a body that ends early is stored by nobody, whether its sender listens or is gone', async (t) => {
  const before = (await logged()).length
  const texts = [
    postOf([LENGTH], ACTIVITY.slice(0, -1)),
    postOf(['Content-Length: 1000']),
    chunked(chunk(ACTIVITY)),
  ]
  for (const text of [...texts, postOf([CHUNKED], '1d\r\n{"source"'), postOf([CHUNKED], '')]) {
    const heard = codesOf(await inTime(target.dial().send(text).finish().closed()))
    t.match(heard, heard.length === 0 ? [] : [BAD], text)
    for (let i = 0; i < 10; i++) target.dial().send(text).hangUp()
  }
  await target.stillFine()
  t.equal((await logged()).length, before)
})

t.test('a sender that takes its time within the limits is served', async (t) => {
  const line = target.dial()
  const text = textOf(
    'POST /v0/prospect_logs',
    [CHUNKED, 'Content-Type: application/json'],
    chunk(ACTIVITY) + END,
  )
  for (let at = 0; at < text.length; at += 2) {
    line.send(text.slice(at, at + 2))
    await pause(10)
  }
  t.strictSame(codesOf(await inTime(line.answers(1))), [201])
  line.hangUp()
})

t.test('nothing went wrong within the program', async () => {
  await target.stillFine()
  await target.endsWell()
})
