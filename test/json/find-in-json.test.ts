import t from 'tap'
import { findInJson, pointerTree } from '../../src/json/find-in-json.ts'
import { randomBy } from '../store-contract/random.ts'

/** RFC 6901 as it reads, over a parsed value. */
const valueAt = (value: unknown, pointer: string): unknown => {
  let at = value
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    const isIndex = /^(0|[1-9]\d*)$/.test(name)
    if (typeof at !== 'object' || at === null || (Array.isArray(at) && !isIndex)) return undefined
    at = Object.hasOwn(at, name) ? (at as Record<string, unknown>)[name] : undefined
  }
  return at
}
const found = (text: string, ...pointers: string[]) =>
  Object.fromEntries(findInJson(text, pointerTree(pointers)))

t.test('the texts of values are found as they are, in objects and arrays', async (t) => {
  const text = ' { "a" : [ 1.0 , { "b" : "\\u0041" } ] , "c/d" : 12345678901234567890, "~": null } '
  t.strictSame(found(text, '/a/0', '/a/1/b', '/c~1d', '/~0', '/a/1'), {
    '/a/0': '1.0',
    '/a/1/b': '"\\u0041"',
    '/a/1': '{ "b" : "\\u0041" }',
    '/c~1d': '12345678901234567890',
    '/~0': 'null',
  })
  t.strictSame(found('[[1]]', '', '/0/0'), { '': '[[1]]', '/0/0': '1' })
})

t.test('what leads nowhere is not found', async (t) => {
  const text = '{"a":[1],"text":"abc"}'
  t.strictSame(
    found(text, '/a/-', '/a/1', '/a/00', '/a/0/0', '/text/0', '/text/length', '/b', '/a/length'),
    {},
  )
})

t.test('of members with the same name the last one counts, with all that is in it', async (t) => {
  t.strictSame(found('{"a":{"b":1},"a":{"c":2}}', '/a/b', '/a/c'), { '/a/c': '2' })
  t.strictSame(found('{"a":1,"\\u0061":2}', '/a'), { '/a': '2' })
})

t.test('it finds what parsing finds', async (t) => {
  const chance = randomBy(Number(process.env['SEED'] ?? 7))
  const names = ['a', 'b', '', '0', '1', 'a/b', '~', '__proto__', 'é']
  const make = (depth: number): string => {
    if (depth === 0 || chance.onceIn(4))
      return chance.oneOf(['1', '-2.50e3', '"x\\"]}"', 'null', 'true', '""', '{}', '[]'])
    const items = Array.from({ length: chance.below(4) }, () => make(depth - 1))
    const blank = chance.oneOf(['', ' ', '\n'])
    if (chance.onceIn(2)) return `[${blank}${items.join(`${blank},${blank}`)}${blank}]`
    return `{${items.map((item) => `${blank}${JSON.stringify(chance.oneOf(names))}${blank}:${blank}${item}`)}${blank}}`
  }
  const pointer = () =>
    Array.from(
      { length: chance.below(4) },
      () => `/${chance.oneOf(names).replaceAll('~', '~0').replaceAll('/', '~1')}`,
    ).join('')
  for (let i = 0; i < 3_000; i++) {
    const text = make(4)
    const pointers = Array.from({ length: 5 }, pointer)
    const parsed = JSON.parse(text)
    const expected = pointers
      .map((at) => [at, valueAt(parsed, at)])
      .filter(([, value]) => value !== undefined)
    const actual = Object.entries(found(text, ...pointers)).map(([at, json]) => [at, JSON.parse(json)])
    if (JSON.stringify(Object.fromEntries(actual)) !== JSON.stringify(Object.fromEntries(expected)))
      t.strictSame(Object.fromEntries(actual), Object.fromEntries(expected), `${text} ${pointers}`)
  }
})
