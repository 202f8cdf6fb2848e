import t from 'tap'
import { canonicalJson } from '../../src/json/canonical-json.ts'

const SAME: readonly (readonly [string, string])[] = [
  ['{"a":1,"b":2}', '{"b":2,"a":1}'],
  ['{"a":[1,{"b":true}]}', ' {\n"a" : [ 1 , {"b"\t:true\r\n} ] } '],
  ['{"a":"é/\\n"}', '{"\\u0061":"\\u00e9\\/\\u000a"}'],
  ['{"a":"\\ud83d\\ude00"}', '{"a":"😀"}'],
  ['{"a":"\\u00E9"}', '{"a":"\\u00e9"}'],
  ['{"a":1,"a":2}', '{"a":2}'],
  ['{"a":1,"b":2,"\\u0061":3}', '{"a":3,"b":2}'],
  ['{"__proto__":1,"a":2}', '{"a":2,"__proto__":1}'],
  ['{"2":1,"10":2,"":3}', '{"":3,"10":2,"2":1}'],
  ['{"a":{},"b":[],"c":""}', '{ "c":"", "b":[ ], "a":{ } }'],
  ['[]', ' [ ] '],
  ['"a"', ' "\\u0061" '],
]
for (const [one, other] of SAME)
  t.test(`${one} has the value of ${other}`, async (t) => t.equal(canonicalJson(one), canonicalJson(other)))

const DIFFERENT: readonly (readonly [string, string])[] = [
  ['{"a":1}', '{"a":1.0}'],
  ['{"a":100}', '{"a":1e2}'],
  ['{"a":1e2}', '{"a":1E2}'],
  ['{"a":0}', '{"a":-0}'],
  ['{"a":9007199254740993}', '{"a":9007199254740992}'],
  ['{"a":1}', '{"a":"1"}'],
  ['{"a":null}', '{}'],
  ['{"a":[1,2]}', '{"a":[2,1]}'],
  ['{"a":[1]}', '{"a":1}'],
  ['{"a":[]}', '{"a":{}}'],
  ['{"a":[""]}', '{"a":[]}'],
  ['{"a":[[],[]]}', '{"a":[[[]]]}'],
  ['{"a":" b"}', '{"a":"b"}'],
  ['{"a":"é"}', '{"a":"e\u0301"}'],
  ['{"a":1,"a":2}', '{"a":2,"a":1}'],
  ['{"a":{"b":1},"c":2}', '{"a":{"b":1,"c":2}}'],
  ['{"a":"\\ud800"}', '{"a":"\ufffd"}'],
]
for (const [one, other] of DIFFERENT)
  t.test(`${one} has another value than ${other}`, async (t) =>
    t.not(canonicalJson(one), canonicalJson(other)),
  )

t.test('the canonical text has the same value', async (t) => {
  const text = '{ "b" : [1, {"d":"\\u0041","c":null}, -1.50], "a" : {"x":[]} }'
  t.equal(canonicalJson(text), '{"a":{"x":[]},"b":[1,{"c":null,"d":"A"},-1.50]}')
  t.strictSame(JSON.parse(canonicalJson(text)), JSON.parse(text))
})

t.test('values may nest at any depth', async (t) => {
  const depth = 100_000
  const nested = (blank: string) => `${`{"a":${blank}[`.repeat(depth)}${`${blank}]}`.repeat(depth)}`
  t.ok(canonicalJson(nested('')) === canonicalJson(nested(' ')))
  t.not(canonicalJson(nested('')).length, canonicalJson(nested('').replace('[]', '[1]')).length)
})

for (const text of ['', ' ', '{', '[', '{"a":', '[1,', ']', '}', '{"a"'])
  t.test(`the text ${JSON.stringify(text)} is not well-formed, and is refused`, async (t) =>
    t.throws(() => canonicalJson(text), SyntaxError),
  )
