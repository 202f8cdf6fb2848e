import t from 'tap'
import { parseTemplate, render } from '../../src/json/template.ts'
import { templateCasesBy } from './random-template.ts'

const filled = (template: unknown, values: unknown, charactersMax = 1_000_000) => {
  const parsed = parseTemplate(JSON.stringify(template)).template
  const text = render(parsed, JSON.stringify(values), charactersMax)
  return text === null ? null : JSON.parse(text)
}
const faultsOf = (template: unknown) =>
  parseTemplate(JSON.stringify(template)).faults.map(({ pointer }) => pointer)

t.test('a string that is a place becomes its value; a longer string gets the value as text', async (t) => {
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

t.test('an optional place without a value, or with null, leaves out its member or element', async (t) => {
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

t.test('numbers keep every digit, both inserted and fixed ones', async (t) => {
  const { template } = parseTemplate(
    '{ "a": "{{/n}}", "text": "{{/n}}", "b": 1.50, "c": [12345678901234567890] }',
  )
  const text = render(template, '{"n": 1.10, "m": {"k" : 1} }', 1_000)
  t.equal(text, '{"a":1.10,"text":1.10,"b":1.50,"c":[12345678901234567890]}')
  t.equal(render(parseTemplate('["n {{/n}}"]').template, '{"n": 1.10}', 99), '["n 1.10"]')
})

t.test('every malformed place is refused with its pointer', async (t) => {
  const malformed = [
    '{{',
    '{{data}}',
    '{{ /a }}',
    '{{/a~2}}',
    '{{}}',
    '{{{/a}}}',
    'x {{/a}} {{/b}',
    '{{/a} {{/b}}',
    '{{/~?}}',
  ]
  for (const text of malformed) t.strictSame(faultsOf({ a: ['{{/ok}}', text] }), ['/a/1'], text)
  t.strictSame(faultsOf({ 'b/~': '{{b}}', c: '{{c}}' }), ['/b~1~0', '/c'])
  t.strictSame(faultsOf(['{a}', '}}', '{ {', '{{/}}', '{{/a b/ü}}']), [])
})

t.test('a result longer than the limit is null, however often a value is inserted', async (t) => {
  const values = { long: 'x'.repeat(20_480), deep: { quotes: '"'.repeat(10_000) } }
  const hundred = (place: string): string[] => Array(100).fill(place)
  for (const place of ['{{/long}}', ' {{/long}}', '{{/deep}}', ' {{/deep}}'])
    t.equal(filled(hundred(place), values, 262_144), null, place)
  t.equal(filled(hundred('{{/long}}{{/nothing?}}'), values, 262_144)?.length, 0)
  const emptyPlaces = '{{/}}'.repeat(3_000)
  t.equal(filled([emptyPlaces], values, 100)?.[0], '')
  t.equal(filled({ a: '{{/long}}' }, values, 20_487), null)
  t.ok(filled({ a: '{{/long}}' }, values, 20_488))
})

t.test('a random template is rendered as JSON with each value at its place', async (t) => {
  const nextCase = templateCasesBy(49)
  const wrong: object[] = []
  for (let i = 0; i < 5_000; i++) {
    const { values, template, expected } = nextCase()
    const result = filled(template, values)
    if (JSON.stringify(result) !== JSON.stringify(expected))
      wrong.push({ template, values, result, expected })
  }
  t.strictSame(wrong, [])
})
