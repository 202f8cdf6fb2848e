import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { partsIn } from '../../src/core/hooks/multipart.ts'
import { documentOf } from '../../src/core/hooks/read-body.ts'
import { pointerTree } from '../../src/json/find-in-json.ts'

const RUNS = 2_000
const NO_PLACES = pointerTree([])
/** No field has the last of these, so it is looked for in every field that holds an object. */
const PLACES = pointerTree(['/a', '/a/b', '/nowhere'])
const text = fc.string({ unit: 'binary', maxLength: 20 }).map((given) => given.toWellFormed())
// An empty name of a file is not encoded by Node.
const file = fc.record({ name: text.filter(Boolean), bytes: fc.uint8Array({ maxLength: 50 }) })
const fields = fc.array(fc.tuple(text, fc.oneof(text, file)), { maxLength: 8 })
type Fields = typeof fields extends fc.Arbitrary<infer Value> ? Value : never

const typeOf = (response: Response) => response.headers.get('content-type') ?? ''
/** The form as Node's own `fetch` sends it. */
const encoded = async (given: Fields) => {
  const form = new FormData()
  for (const [name, value] of given)
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, new Blob([Buffer.from(value.bytes)], { type: 'a/b' }), value.name)
  const response = new Response(form)
  return { type: typeOf(response), body: Buffer.from(await response.arrayBuffer()) }
}
const delivery = (body: Uint8Array, type: string) => {
  return { headers: { 'content-type': type }, body, method: 'POST', url: null }
}
/** Lines end as the encoding of a form ends them. */
const sent = (value: string) => value.replace(/\r\n?|\n/g, '\r\n')

t.test('a form that is encoded by another program is read as it was', async (t) => {
  await fc.assert(
    fc.asyncProperty(fields, async (given) => {
      const { type, body } = await encoded(given)
      const parts = partsIn(body, type)
      assert.ok(Array.isArray(parts), String(parts))
      assert.deepEqual(
        parts.map((part) => [
          part.name.toString(),
          'value' in part ? part.value.toString() : { name: part.file.toString(), bytes: part.bytes },
        ]),
        given.map(([name, value]) => [
          sent(name),
          typeof value === 'string' ? sent(value) : { name: value.name, bytes: value.bytes.length },
        ]),
      )
    }),
    { numRuns: RUNS },
  )
  t.pass(`${RUNS} forms`)
})

t.test('any bytes as any type become an object of JSON', async (t) => {
  const types = fc.constantFrom(
    ...['multipart/form-data; boundary=X', 'multipart/form-data', 'application/json', 'text/plain', ''],
    ...['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded; charset=utf-16'],
  )
  const pieces = fc.constantFrom(
    ...[
      '--X',
      '--X--',
      '\r\n',
      '\n',
      '\r',
      'content-disposition: form-data; name=',
      '"a"',
      '"',
      '\\',
      ';',
      '=',
    ],
    ...[
      '{"a":',
      '[',
      ']',
      '{}',
      '}',
      '&',
      '%',
      '%FF',
      '%u0041',
      '+',
      '\ufeff',
      'é',
      '__proto__',
      'filename*=',
    ],
  )
  const mixed = fc.array(fc.oneof(pieces, fc.string({ maxLength: 3 })), { maxLength: 30 })
  const bytes = fc.oneof(
    mixed.map((all) => Buffer.from(all.join(''))),
    mixed.map((all) => Buffer.from(all.join(''), 'latin1')),
    fc.uint8Array({ maxLength: 100 }),
  )
  fc.assert(
    fc.property(bytes, types, fc.constantFrom(null, ''), (body, type, each) => {
      const { textFor, payload } = documentOf(delivery(body, type), each, (what) =>
        assert.equal(typeof what, 'string'),
      )
      JSON.parse(textFor(NO_PLACES))
      JSON.parse(textFor(PLACES))
      assert.equal(payload().rawJson[0], '{')
      JSON.parse(payload().rawJson)
    }),
    { numRuns: RUNS * 5 },
  )
  t.pass(`${RUNS * 5} bodies`)
})

t.test('a form that is cut off anywhere is read to its end, or not at all', async (t) => {
  const { type, body } = await encoded([
    ['email', 'ada@example.com'],
    ['note', ''],
  ])
  for (let end = 0; end < body.length - 4; end++)
    assert.equal(typeof partsIn(body.subarray(0, end), type), 'string')
  t.equal(partsIn(body, type).length, 2)
})
