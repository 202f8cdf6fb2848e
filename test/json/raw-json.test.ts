import t from 'tap'
import { isJson, jsonDepth, scanMembers } from '../../src/json/is-json.ts'
import { eachChild, endOfValue, membersOf, NESTING_MAX } from '../../src/json/raw-json.ts'
import { splitAt } from '../../src/json/split-json.ts'

const textsOf = (text: string) =>
  Object.fromEntries([...membersOf(text).members].map(([name, { rawJson }]) => [name, rawJson]))
const depthOf = (text: string) => membersOf(text).depth
/** If `JSON.parse` accepts the text. */
const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
/** Each beginning and end of a text, the text without each character, and with each of `added` at each place. */
const damaged = (whole: string, added: string): string[] => {
  const texts: string[] = []
  for (let i = 0; i <= whole.length; i++) {
    const before = whole.slice(0, i)
    texts.push(before, whole.slice(i), before + whole.slice(i + 1))
    for (const char of added) texts.push(before + char + whole.slice(i))
  }
  return texts
}
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

t.test('each member is returned as its exact text', async (t) => {
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

t.test('blanks around a member are dropped, and those inside it are kept', async (t) => {
  t.strictSame(textsOf(' \n{\t"a" \r\n: 1 , "b"\n:\n{ } }\n '), { a: '1', b: '{ }' })
})

t.test('a number keeps all of its digits', async (t) => {
  t.equal(textsOf('{"n":12345678901234567890.10}')['n'], '12345678901234567890.10')
  t.equal(textsOf('{"n":1e131071}')['n'], '1e131071')
})

t.test('brackets, commas and quotes inside a string end nothing', async (t) => {
  const payload = String.raw`{"x":"}],{[\"","\\":"\\\\","y":"\\\""}`
  t.strictSame(textsOf(`{"a":"}","payload":${payload},"b":2}`), { a: '"}"', payload, b: '2' })
})

t.test('escapes are kept unchanged', async (t) => {
  const payload = String.raw`{"nul":"\u0000","half":"\ud800","slash":"\/"}`
  t.equal(textsOf(`{"payload":${payload}}`)['payload'], payload)
})

t.test('of members with the same name only the last counts, however the name is escaped', async (t) => {
  t.strictSame(textsOf(String.raw`{"payload":{"a":1},"pay\u006coad":{"a":2}}`), { payload: '{"a":2}' })
  t.strictSame(textsOf(String.raw`{"a\"":1,"a\\":2}`), { 'a"': '1', 'a\\': '2' })
})

t.test('a member named __proto__ is a member', async (t) => {
  t.equal(membersOf('{"__proto__":{"a":1}}').members.get('__proto__')?.rawJson, '{"a":1}')
})

t.test('an empty object has no members, and neither has any other value', async (t) => {
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

t.test('the members are those that JSON.parse finds', async (t) => {
  const text = String.raw`{"a":{"b":"\\\"","c":[1,{"d":null}]},"\u0065":"\\","f":[ "]" , {}],"":0}`
  const parsed = Object.entries(textsOf(text)).map(([name, value]) => [name, JSON.parse(value)])
  t.strictSame(Object.fromEntries(parsed), JSON.parse(text))
})

t.test('each element of an array is returned as its exact text', async (t) => {
  const elements = [
    '{"a":[1,{"b":"],["}]}',
    '12345678901234567890',
    '"\\"],\\\\"',
    '[ ]',
    'null',
    '-1E+2',
    '{ }',
  ]
  const elementsOf = (array: string) => splitAt(`{"a":${array}}`, 'a', 10)?.elements
  t.strictSame(elementsOf(`[${elements}]`), elements)
  t.strictSame(elementsOf(` [\n${elements.join(' ,\t')}\r\n ] `), elements)
  for (const empty of ['[]', ' [ \n] ']) t.strictSame(elementsOf(empty), [])
  t.equal(elementsOf(`[${'{},'.repeat(99)}{}]`)?.length, 11, 'it ends after the maximum and one')
})

t.test('an object is split at the last member of a name, however that is escaped', async (t) => {
  const split = (text: string) => splitAt(text, 'a', 10)
  t.strictSame(split('{"b":[1], "a" :[ 1 ,2],"c":{"a":[3]}} '), {
    elements: ['1', '2'],
    rest: '{"b":[1], "a" :[],"c":{"a":[3]}} ',
  })
  t.match(split(String.raw`{"a":[1],"\u0061":[2]}`), { elements: ['2'] })
  t.match(split('{"a":[1],"a":7}'), { elements: null, rest: '{"a":[1],"a":7}' })
  t.strictSame(split('[{"a":[1]}]'), { elements: null, rest: '[]' }, 'no object has no members')
})

t.test('a split text is well-formed if and only if its parts are', async (t) => {
  const whole = String.raw`{ "b" : "\"]", "a":[1 ,{"c":[{}]},"]"], "d":{"a":[2]}, "\u0061":["\\",null]}`
  const texts = damaged(whole, '",:[]{}1\\\u000b ')
  const differ = texts.filter((text) => {
    const found = splitAt(text, 'a', 10)
    const isWhole = found !== null && [found.rest, ...(found.elements ?? [])].every(parses)
    return text.startsWith('{') && isWhole !== parses(text)
  })
  t.ok(texts.some(parses))
  t.strictSame(differ, [])
})

const MIXED = String.raw`{ "b" : "\\\u00e9\n]", "":[-1.5e+3 ,{"c":[{}, [],0 ]},true],"d":{"a":null, "e":false}}`
const FLAT = '{"z":[{"a":1,"b":"x"},{},{ "c" : null , "d":[ {"e":0},{"f":1} ,{}]},{"g":-2.5},{"h":true},{}]}'
const SHORT = ['1', '"x"', ' null ', '[]', '01', '1.', '.5', '-', '+1', 'nul', '"', '"\t"', '"\\x"', '', ' ']
const ADDED = '",:[]{}01.e-\\\u000b\u0001 tx\u00a0'
const TEXTS = [...SHORT, ...damaged(MIXED, ADDED), ...damaged(FLAT, ADDED)]

t.test('a text is JSON if and only if JSON.parse accepts it', async (t) => {
  const differ = TEXTS.filter((text) => isJson(text) !== parses(text))
  t.strictSame(differ, [])
  t.ok(TEXTS.filter(parses).length > 50)
})

t.test('a scan finds the members of an object, and nothing in any other text', async (t) => {
  const repeated = ['{"a":1,"a":[2] , "\\u0061b":{"c":[{"d":1}]}}', '{}', ' {"a":"}"} ']
  const objects = [...TEXTS, ...repeated].filter((text) => parses(text) && /^\s*\{/.test(text))
  for (const text of objects) {
    t.equal(Number(jsonDepth(text)) - 1, membersOf(text).depth)
    t.strictSame(scanMembers(text, Number.POSITIVE_INFINITY), membersOf(text))
  }
  const others = TEXTS.filter((text) => !objects.includes(text))
  for (const text of others) t.equal(scanMembers(text, Number.POSITIVE_INFINITY), null, text)
})

t.test('a scan ends with one member too many', async (t) => {
  const scanned = scanMembers('{"a":1,"b":{"c":2},"d":3,"e":4} no JSON', 2)
  t.equal(scanned?.depth, 1)
  t.strictSame([...(scanned?.members.keys() ?? [])], ['a', 'b', 'd'])
})

t.test('a text that is nested too deep is not read to its end', (t) => {
  const endless = '['.repeat(1_000_000)
  t.equal(jsonDepth(endless), NESTING_MAX + 1)
  t.equal(jsonDepth(`{"a":${endless}`), NESTING_MAX + 1)
  t.equal(scanMembers(`{"first":1,"a":${endless}`, 9)?.depth, NESTING_MAX + 1)
  t.equal(jsonDepth(nested(NESTING_MAX)), NESTING_MAX)
  t.equal(jsonDepth('['.repeat(NESTING_MAX)), null, 'one that only ends too early is no JSON')
  t.end()
})

t.test('a text that ends early is an error, and never an endless walk', async (t) => {
  const text = '{"a": [1, {"b": "x\\"y"}, "z"], "c": {"d": [true, null]}}'
  const walk = (part: string, at: number): number =>
    '{['.includes(part[at] ?? ' ')
      ? eachChild(part, at, (_name, begin) => walk(part, begin))
      : endOfValue(part, at).end
  for (let length = 1; length < text.length; length++)
    t.throws(() => walk(text.slice(0, length), 0), SyntaxError, text.slice(0, length))
})
