import t from 'tap'
import { findInJson, pointerTree } from '../../src/json/find-in-json.ts'
import { randomBy } from '../store-contract/random.ts'

/** A JSON Pointer of RFC 6901 with selectors, applied to a parsed value. A body that is an array is also its member `items`. */
const valueAt = (value: unknown, pointer: string): unknown => {
  let at = value
  const tokens = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (Array.isArray(value) && tokens[0] === 'items') tokens.shift()
  for (const name of tokens) {
    const isIndex = /^(0|[1-9]\d*)$/.test(name)
    const child =
      typeof at === 'object' && at !== null && Object.hasOwn(at, name) && (isIndex || !Array.isArray(at))
        ? (at as Record<string, unknown>)[name]
        : undefined
    const [, list, member = '', wanted] = /^(.*)\[(.*)=(.*)\]$/.exec(name) ?? []
    const elements = child === undefined ? listAt(at, list) : undefined
    at = elements === undefined ? child : elements.find((element) => hasScalar(element, member, wanted))
  }
  return at
}
/** The array that a selector such as `list[member=wanted]` searches, if there is one. */
const listAt = (value: unknown, list: string | undefined): unknown[] | undefined => {
  if (list === undefined) return undefined
  const found = list === '' ? value : valueAt(value, `/${list}`)
  return Array.isArray(found) ? found : undefined
}
const hasScalar = (element: unknown, member: string, wanted: string | undefined): boolean => {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) return false
  if (!Object.hasOwn(element, member)) return false
  const value = (element as Record<string, unknown>)[member]
  return Object(value) !== value && `${value}` === wanted
}
const found = (text: string, ...pointers: string[]) => {
  const find = findInJson(text, pointerTree(pointers))
  return Object.fromEntries(
    pointers.map((pointer) => [pointer, find(pointer)]).filter(([, json]) => json !== undefined),
  )
}

t.test('values in objects and arrays are found with their exact text', async (t) => {
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

t.test('an element of a list is found by the value of a member', async (t) => {
  const text =
    '{"f":[1,{"t":"\\u0061","v":1},{"t":"a","v":2},{"v":3,"t":"x]"},{"t":7,"v":4},{"t":true,"v":5},{"t":"1/2","v":6},[{"t":"in"}]],"t":"f[t=a]"}'
  t.strictSame(
    found(
      text,
      '/f[t=a]/v',
      '/f[t=x]]/v',
      '/f[t=7]/v',
      '/f[t=true]/v',
      '/f[t=1~12]/v',
      '/f/7[t=in]/t',
      '/f/1/v',
    ),
    {
      '/f[t=a]/v': '1',
      '/f[t=x]]/v': '3',
      '/f[t=7]/v': '4',
      '/f[t=true]/v': '5',
      '/f[t=1~12]/v': '6',
      '/f/7[t=in]/t': '"in"',
      '/f/1/v': '1',
    },
  )
  // A member that is called so goes first; what is no list of objects has no such element.
  t.strictSame(found('{"f[t=a]":1,"f":[{"t":"a"}]}', '/f[t=a]', '/f[t=a]/t'), { '/f[t=a]': '1' })
  for (const none of [
    '{"f":"abc"}',
    '{"f":{"t":"a"}}',
    '{"f":["t=a",["t","a"],{"t":["a"]},{"t":null}]}',
    '[]',
  ])
    t.strictSame(found(none, '/f[t=a]/v', '/f[t=]', '/f[=a]'), {}, none)
  const many = Array.from({ length: 1_000 }, (_, i) => ({ id: `e${i}`, tags: [{ k: i, v: i }] }))
  const nested = JSON.stringify({ many })
  const wide = Array.from({ length: 99 }, (_, i) => `/many[id=e${i * 10}]/tags/0/v`)
  t.strictSame(found(nested, '/many[id=e999]/tags[k=999]/v', '/many[id=e9]/tags[k=8]/v'), {
    '/many[id=e999]/tags[k=999]/v': '999',
  })
  t.strictSame(
    Object.values(found(nested, ...wide)),
    wide.map((_, i) => `${i * 10}`),
  )
  const more = JSON.stringify([...many, { id: 'last', v: 7 }])
  t.strictSame(
    found(more, '/[id=last]/v', '/1000/v'),
    { '/1000/v': '7' },
    'only the first thousand elements are searched',
  )
})

t.test('an array is found as it was sent and as it is stored', async (t) => {
  const both = ['/0/e', '/items/0/e', '/items[e=2]/e', '/items', ''] as const
  t.strictSame(found('[{"e":1},{"e":2}]', ...both), {
    '/0/e': '1',
    '/items/0/e': '1',
    '/items[e=2]/e': '2',
    '/items': '[{"e":1},{"e":2}]',
    '': '[{"e":1},{"e":2}]',
  })
  t.strictSame(found('{"items":[{"e":1}]}', '/0/e', '/items/0/e'), { '/items/0/e': '1' })
})

t.test('a pointer that leads nowhere finds nothing', async (t) => {
  const text = '{"a":[1],"text":"abc"}'
  t.strictSame(
    found(text, '/a/-', '/a/1', '/a/00', '/a/0/0', '/text/0', '/text/length', '/b', '/a/length'),
    {},
  )
})

t.test('of members with the same name only the last counts, with everything in it', async (t) => {
  t.strictSame(found('{"a":{"b":1},"a":{"c":2}}', '/a/b', '/a/c'), { '/a/c': '2' })
  t.strictSame(found('{"a":1,"\\u0061":2}', '/a'), { '/a': '2' })
})

t.test('random pointers find the same values as in the parsed text', async (t) => {
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
      () =>
        `/${chance
          .oneOf([...names, 'items', 'a[b=x"]}]', '0[a=null]', '[0=true]', 'b[1=true]'])
          .replaceAll('~', '~0')
          .replaceAll('/', '~1')}`,
    ).join('')
  for (let i = 0; i < 3_000; i++) {
    const text = make(4)
    const pointers = Array.from({ length: 5 }, pointer)
    const parsed = JSON.parse(text)
    const expected = pointers
      .map((at) => [at, valueAt(parsed, at)])
      .filter(([, value]) => value !== undefined)
    const actual = Object.entries(found(text, ...pointers)).map(([at, json]) => [
      at,
      JSON.parse(json as string),
    ])
    if (JSON.stringify(Object.fromEntries(actual)) !== JSON.stringify(Object.fromEntries(expected)))
      t.strictSame(Object.fromEntries(actual), Object.fromEntries(expected), `${text} ${pointers}`)
  }
})

t.test(
  'a long text that is nearly base64 is passed over at once, however many line ends it has',
  async (t) => {
    const json = '{"email":"ada@example.com"}'
    const base64 = Buffer.from(`${json} `).toString('base64')
    const tree = pointerTree(['/data/email'])
    const found = (data: string) => findInJson(`{"data":"${data}"}`, tree, 3)('/data/email')
    for (const end of ['', '\\n', '\\r\\n\\r\\n'])
      t.equal(found(base64.replace(/.{8}/g, `$&${end}`) + end), '"ada@example.com"')
    // A pattern that could match them in two ways would take minutes.
    t.equal(found(`${base64}${'\\n'.repeat(500_000)} `), undefined)
  },
)
