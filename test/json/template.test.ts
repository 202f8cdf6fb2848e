import t from 'tap'
import { parseTemplate, render } from '../../src/json/template.ts'
import { randomBy } from '../store-contract/random.ts'

const filled = (template: unknown, values: unknown, max = 1_000_000) => {
  const text = render(parseTemplate(JSON.stringify(template)).template, JSON.stringify(values), max)
  return text === null ? null : JSON.parse(text)
}
const faultsOf = (template: unknown) =>
  parseTemplate(JSON.stringify(template)).faults.map(({ pointer }) => pointer)

t.test('a string that is a place becomes the value there; one that contains it gets its text', async (t) => {
  const values = {
    a: { n: 1, s: 'x "y"\n{{/a/n}}', no: null, t: true, list: [1, { b: 'c' }] },
    '': { '~/': 2 },
  }
  const template = {
    value: '{{/a}}',
    text: 'n={{/a/n}} s={{/a/s}} no={{/a/no}} gone={{/a/b/c}} t={{/a/t}} {{/a/list}}',
    nothing: '{{/a/nothing}}',
    null: '{{/a/no}}',
    escaped: '{{//~0~1}}',
    element: '{{/a/list/1/b}}',
    fixed: { '{{/a}}': ['{/a}', 1.5, null, '\\ é'] },
  }
  t.strictSame(filled(template, values), {
    value: values.a,
    text: `n=1 s=${values.a.s} no= gone= t=true ${JSON.stringify(values.a.list)}`,
    nothing: null,
    null: null,
    escaped: 2,
    element: 'c',
    fixed: template.fixed,
  })
  t.strictSame(filled('{{/a/list}}', values), values.a.list)
})

t.test('an optional place leaves out its member or element if nothing or null is there', async (t) => {
  const values = { email: 'ada@example.com', name: null, 'a?': 1 }
  const template = {
    email: '{{/email?}}',
    name: '{{/name?}}',
    hello: 'Hello {{/name?}} {{/email}}',
    mark: '{{/a??}}',
    list: ['{{/x?}}', 1, '{{/email?}}'],
  }
  t.strictSame(filled(template, values), { email: values.email, mark: 1, list: [1, values.email] })
  t.equal(filled('{{/x?}}', values), null)
})

t.test('values and what is fixed keep every digit', async (t) => {
  const { template } = parseTemplate(
    '{ "a": "{{/n}}", "text": "{{/n}}", "b": 1.50, "c": [12345678901234567890] }',
  )
  const text = render(template, '{"n": 1.10, "m": {"k" : 1} }', 1_000)
  t.equal(text, '{"a":1.10,"text":1.10,"b":1.50,"c":[12345678901234567890]}')
  t.equal(render(parseTemplate('["n {{/n}}"]').template, '{"n": 1.10}', 99), '["n 1.10"]')
})

t.test('what is no place is refused, each with its pointer', async (t) => {
  for (const wrong of [
    '{{',
    '{{data}}',
    '{{ /a }}',
    '{{/a~2}}',
    '{{}}',
    '{{{/a}}}',
    'x {{/a}} {{/b}',
    '{{/a} {{/b}}',
    '{{/~?}}',
  ])
    t.strictSame(faultsOf({ a: ['{{/ok}}', wrong] }), ['/a/1'], wrong)
  t.strictSame(faultsOf({ 'b/~': '{{b}}', c: '{{c}}' }), ['/b~1~0', '/c'])
  t.strictSame(faultsOf(['{a}', '}}', '{ {', '{{/}}', '{{/a b/ü}}']), [])
})

t.test('the result is bounded, whatever is inserted how often', async (t) => {
  const values = { long: 'x'.repeat(20_480), deep: { quotes: '"'.repeat(10_000) } }
  const hundred = (place: string) => Array.from({ length: 100 }, () => place)
  for (const place of ['{{/long}}', ' {{/long}}', '{{/deep}}', ' {{/deep}}'])
    t.equal(filled(hundred(place), values, 262_144), null, place)
  t.equal(filled(hundred('{{/long}}{{/nothing?}}'), values, 262_144)?.length, 0)
  const places = '{{/}}'.repeat(3_000)
  t.equal(filled([places], values, 100)?.[0], '')
  t.equal(filled({ a: '{{/long}}' }, values, 20_487), null)
  t.ok(filled({ a: '{{/long}}' }, values, 20_488))
})

t.test(
  'whatever the template and the values, the result is JSON with the values at their pointers',
  async (t) => {
    const { below, oneOf } = randomBy(49)
    const NAMES = ['a', 'b?', '', '~/', '{{/a}}', '"', '0', 'items', 'é\n']
    const anything = (depth: number): unknown =>
      oneOf<() => unknown>([
        ...[
          () => below(1_000) / 8,
          () => null,
          () => true,
          () => oneOf(['', 'x', '{{/a}}', '"\\\n\u2028', '\ud800']),
        ],
        ...(depth > 3
          ? []
          : [() => objectOf(depth), () => Array.from({ length: below(3) }, () => anything(depth + 1))]),
      ])()
    const objectOf = (depth: number): object =>
      Object.fromEntries(Array.from({ length: below(4) }, () => [oneOf(NAMES), anything(depth + 1)]))
    const pointer = (): string =>
      Array.from(
        { length: 1 + below(3) },
        () =>
          `/${oneOf(NAMES.filter((name) => !/[{}]/.test(name)))
            .replaceAll('~', '~0')
            .replaceAll('/', '~1')}`,
      ).join('')
    const at = (value: unknown, path: string): unknown =>
      path
        .split('/')
        .slice(1)
        .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
        .reduce<unknown>(
          (found, name) =>
            Object(found) === found && Object.hasOwn(found as object, name)
              ? (found as never)[name]
              : undefined,
          value,
        )
    const text = (value: unknown): string =>
      typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)
    const LEFT_OUT = Symbol('left out')
    /** A template, and its result. */
    const templateOf = (values: object, depth = 0): [unknown, unknown] => {
      const kind = below(depth > 3 ? 4 : 6)
      if (kind < 4) {
        const path = pointer().replace(/\?$/, '')
        const isOptional = below(2) === 0
        const place = `{{${path}${isOptional ? '?' : ''}}}`
        const value = at(values, path)
        if (isOptional && (value ?? null) === null) return [kind === 0 ? place : `x${place}`, LEFT_OUT]
        if (kind === 0) return [place, value ?? null]
        return [`"${place}\n${place}`, `"${text(value)}\n${text(value)}`]
      }
      if (kind === 4) return ['as } { is', 'as } { is']
      const children = Array.from({ length: below(4) }, () => templateOf(values, depth + 1))
      const kept = children.filter(([, result]) => result !== LEFT_OUT)
      if (below(2) === 0) return [children.map(([child]) => child), kept.map(([, result]) => result)]
      const named = (list: [unknown, unknown][], which: 0 | 1) =>
        Object.fromEntries(list.map((child) => [`m${children.indexOf(child)}{{`, child[which]]))
      return [named(children, 0), named(kept, 1)]
    }
    const wrong: object[] = []
    for (let i = 0; i < 5_000; i++) {
      const values = objectOf(0)
      const [template, expected] = templateOf(values)
      const result = filled(template, values)
      const wanted = expected === LEFT_OUT ? null : expected
      if (JSON.stringify(result) !== JSON.stringify(wanted)) wrong.push({ template, values, result, wanted })
    }
    t.strictSame(wrong, [])
  },
)
