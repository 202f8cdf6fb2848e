import t from 'tap'
import { writeJson } from '../../src/json/write-json.ts'

t.test('an answer is written as JSON.stringify writes it', async (t) => {
  const answers = [
    {},
    [],
    null,
    'a"\\\n\u0000\u2028\ud800',
    -1.5,
    true,
    { items: [{ a: 1, b: null }, [], ['x', { c: false }]], hasMore: true, left: undefined, title: 'Ünï' },
    { first: undefined, second: 1 },
  ]
  for (const answer of answers) t.equal(writeJson(answer), JSON.stringify(answer))
})

t.test('a value that is kept as text goes in as that text, unread', async (t) => {
  const rawJson = '[ 12345678901234567890, {"a":1,"a":2}, "\\u0000" ]'
  t.equal(writeJson({ actions: { rawJson }, n: 1 }), `{"actions":${rawJson},"n":1}`)
  t.equal(writeJson([{ rawJson }]), `[${rawJson}]`)
})
