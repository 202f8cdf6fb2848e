import t from 'tap'
import { canonicalJson, membersOf, NESTING_MAX } from '../../src/core/raw-json.ts'

const textsOf = (text: string) =>
  Object.fromEntries([...membersOf(text).members].map(([name, { rawJson }]) => [name, rawJson]))
const depthOf = (text: string) => membersOf(text).depth
const canonical = (rawJson: string) => canonicalJson({ rawJson })
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

t.test('each member comes as its exact text', async (t) => {
  t.strictSame(textsOf('{"a":1.0,"b":"x","c":{ "d" : [1, 2] },"e":[],"f":true,"g":null,"h":-1E+2}'), {
    a: '1.0',
    b: '"x"',
    c: '{ "d" : [1, 2] }',
    e: '[]',
    f: 'true',
    g: 'null',
    h: '-1E+2',
  })
})

t.test('blanks around a member are not its own, those within are', async (t) => {
  t.strictSame(textsOf(' \n{\t"a" \r\n: 1 , "b"\n:\n{ } }\n '), { a: '1', b: '{ }' })
})

t.test('a number keeps all of its digits', async (t) => {
  t.equal(textsOf('{"n":12345678901234567890.10}')['n'], '12345678901234567890.10')
  t.equal(textsOf('{"n":1e131071}')['n'], '1e131071')
})

t.test('brackets, commas and quotes in a text end nothing', async (t) => {
  const payload = String.raw`{"x":"}],{[\"","\\":"\\\\","y":"\\\""}`
  t.strictSame(textsOf(`{"a":"}","payload":${payload},"b":2}`), { a: '"}"', payload, b: '2' })
})

t.test('escapes stay as they were written', async (t) => {
  const payload = String.raw`{"nul":"\u0000","half":"\ud800","slash":"\/"}`
  t.equal(textsOf(`{"payload":${payload}}`)['payload'], payload)
})

t.test('of members with the same name the last one counts, however the name is escaped', async (t) => {
  t.strictSame(textsOf(String.raw`{"payload":{"a":1},"pay\u006coad":{"a":2}}`), { payload: '{"a":2}' })
  t.strictSame(textsOf(String.raw`{"a\"":1,"a\\":2}`), { 'a"': '1', 'a\\': '2' })
})

t.test('a member named __proto__ is a member', async (t) => {
  t.equal(membersOf('{"__proto__":{"a":1}}').members.get('__proto__')?.rawJson, '{"a":1}')
})

t.test('an empty object has no members, nor has what is no object', async (t) => {
  for (const text of ['{}', ' { } ', '[{"a":1}]', '"{}"', '1', 'null'])
    t.equal(membersOf(text).members.size, 0, text)
})

t.test('the depth is that of the deepest member', async (t) => {
  t.equal(depthOf('{"a":1}'), 0)
  t.equal(depthOf('{"a":{},"b":[[]],"c":[]}'), 2)
  t.equal(depthOf('{"a":[{"b":[1]},[],{}]}'), 3)
  t.equal(depthOf('{"a":"[[[[","b":[]}'), 1)
  t.equal(depthOf(`{"a":${nested(NESTING_MAX + 1)}}`), 513)
  t.equal(depthOf(`{"a":${nested(100_000)},"a":1}`), 100_000, 'of a member that does not count, too')
})

t.test('what it finds is what JSON.parse finds', async (t) => {
  const text = String.raw`{"a":{"b":"\\\"","c":[1,{"d":null}]},"\u0065":"\\","f":[ "]" , {}],"":0}`
  const parsed = Object.entries(textsOf(text)).map(([name, value]) => [name, JSON.parse(value)])
  t.strictSame(Object.fromEntries(parsed), JSON.parse(text))
})

const equal: [what: string, ...texts: string[]][] = [
  ['the order of members', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
  ['blanks', '{"a":[1,2]}', ' { "a" : [ 1 ,\n2 ] } '],
  ['the escaping of a text', '{"aé":"/\\n"}', '{"\\u0061\\u00e9":"\\/\\u000a"}'],
  ['a member that a later one replaces', '{"a":2}', '{"a":1,"a":2}', '{"a":{"b":[3]},"a":2}'],
  ['the spelling of a number', '1', '1.0', '10e-1', '0.1e1', '1E0', '1e+0', '0.01E2', '100e-2'],
  [
    'the spelling of a big number',
    '12345678901234567890',
    '1234567890123456789e1',
    '12345678901234567890.000',
  ],
  ['the spelling of zero', '0', '-0', '0.0', '0e99999999999999999999', '-0.00E-1'],
]
for (const [what, first, ...others] of equal)
  t.test(`${what} makes no difference`, async (t) => {
    for (const other of others) t.equal(canonical(other), canonical(first ?? ''), other)
  })

const different: [what: string, first: string, second: string][] = [
  ['numbers that a double cannot tell apart', '9007199254740993', '9007199254740992'],
  ['small numbers that a double cannot tell apart', '0.1', '0.1000000000000000055'],
  ['numbers beyond a double', '1e400', '1e401'],
  ['numbers below a double', '1e-400', '0'],
  ['signs', '1', '-1'],
  ['magnitudes', '10', '1'],
  ['a number and its text', '1', '"1"'],
  ['null and its text', 'null', '"null"'],
  ['null and a missing member', '{"a":null}', '{}'],
  ['the order of elements', '[1,2]', '[2,1]'],
  ['the nesting of elements', '[[1],2]', '[[1,2]]'],
  ['an empty object and an empty array', '{}', '[]'],
  ['a list of one empty text and an empty list', '[""]', '[]'],
  ['a text that looks like two members', '{"a":"1,\\"b\\":2"}', '{"a":1,"b":2}'],
  ['half pairs', '"\\ud800"', '"\\ud801"'],
  ['composed and decomposed letters', '"\\u00e9"', '"e\\u0301"'],
  ['members named __proto__', '{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}'],
  ['__proto__ and nothing', '{"__proto__":1}', '{}'],
]
for (const [what, first, second] of different)
  t.test(`${what} are told apart`, async (t) => {
    t.not(canonical(first), canonical(second))
  })

t.test('members of an object that is replaced later leave nothing behind', async (t) => {
  t.equal(
    canonical('[{"a":1.5,"a":9007199254740993},9007199254740993]'),
    '[{"a":9007199254740993e0},9007199254740993e0]',
  )
})

t.test('values nested as deep as may be are compared too', async (t) => {
  t.equal(canonical(nested(NESTING_MAX)), nested(NESTING_MAX))
})

t.test('a number with very many zeros is one number among others', async (t) => {
  const zeros = '0'.repeat(300_000)
  t.equal(canonical(`1${zeros}`), canonical('1e300000'))
  t.equal(canonical(`0.${zeros}1`), canonical('1e-300001'))
  t.equal(canonical(`1${zeros}1.${zeros}`), canonical(`1${zeros}1`))
})
