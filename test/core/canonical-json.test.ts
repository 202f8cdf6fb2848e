import t from 'tap'
import { canonicalJson } from '../../src/core/canonical-json.ts'
import { NESTING_MAX } from '../../src/core/raw-json.ts'

const canonical = (rawJson: string) => canonicalJson({ rawJson })
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

const equal: [what: string, ...texts: string[]][] = [
  ['the order of members', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
  ['blanks', '{"a":[1,2]}', ' { "a" : [ 1 ,\n2 ] } '],
  ['the escaping of a text', '{"aé":"/\\n"}', '{"\\u0061\\u00e9":"\\/\\u000a"}'],
  ['a member that a later one replaces', '{"a":2}', '{"a":1,"a":2}', '{"a":{"b":[3]},"a":2}'],
  [
    'the spelling of a number',
    '1',
    '1.0',
    '10e-1',
    '0.1e1',
    '1E0',
    '1e+0',
    '0.01E2',
    '100e-2',
    '10e-00000000000000000001',
    '1e+0000',
  ],
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

t.test('it is itself the same value, whatever is in it', async (t) => {
  for (const text of [
    '{"b":[1,-2.5e3,{"":"\\u0000\\ud83d"}],"a":[true,false,null,[],{}],"c":"é\\\\\\"/"}',
    ' [ 0 , 10 , 100.0 , -0.0 , 1e5 , "" , " , ] } " ] ',
    '"x"',
    ' null ',
    '-7',
  ]) {
    const written = canonical(text)
    t.strictSame(JSON.parse(written), JSON.parse(text.replaceAll('-0.0', '0')), text)
    t.equal(canonical(written), written)
  }
})

t.test(
  'a text that is not well-formed is thrown out, or read in some way; it never takes for ever',
  async (t) => {
    const texts = [
      '',
      ' ',
      '{',
      '[',
      '"',
      '"\\',
      '{"a',
      '{"a"',
      '{"a":',
      '{"a":1',
      '{"a":1,',
      '[1',
      '[1,',
      '["a',
      '[}',
      '{]',
      '[,',
    ]
    for (const text of texts) t.throws(() => canonical(text), SyntaxError, text)
  },
)
