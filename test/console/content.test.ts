import t from 'tap'
import { blankOf, changedFields, fieldsOf, textOf, valueIn, withMember } from '../../src/console/content.ts'

/** What the console makes of a page's content: its fields, and what changed between two versions. */

const fields = (content: string) => fieldsOf(content).map((field) => [field.path, field.kind, textOf(field)])
const changes = (before: string, after: string) =>
  changedFields(before, after).map(({ before, after }) => ({
    path: (after ?? before)?.path,
    before: before && textOf(before),
    after: after && textOf(after),
  }))

t.test('each value is a field, by the names on the way to it', async (t) => {
  const content = ' {"title":"Tulips","price":14.90,"isNew":true,"note":null,"seo":{"title":"Buy","":""}} '
  t.strictSame(fields(content), [
    ['title', 'text', 'Tulips'],
    ['price', 'number', '14.90'],
    ['isNew', 'flag', 'yes'],
    ['note', 'nothing', ''],
    ['seo › title', 'text', 'Buy'],
    ['seo › (no name)', 'text', ''],
  ])
})

t.test(
  'a list of texts or of numbers is one field, and other lists have fields for their items',
  async (t) => {
    const content = '{"tags":["a", "b"],"sizes":[1,2.0],"none":[],"faq":[{"q":"?"},["x"]],"lines":["a\\nb"]}'
    t.strictSame(fields(content), [
      ['tags', 'lines', 'a\nb'],
      ['sizes', 'lines', '1\n2.0'],
      ['none', 'lines', ''],
      ['faq › 1 › q', 'text', '?'],
      ['faq › 2', 'lines', 'x'],
      ['lines › 1', 'text', 'a\nb'],
    ])
  },
)

t.test('what is empty or nested too deep has one field', async (t) => {
  const deep = `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`
  t.match(fields(deep), [['a › a › a › a › a › a', 'other', 'nested too deep: see the JSON']])
  t.strictSame(fields('{"a":{ }}'), [['a', 'other', '']])
  t.strictSame(fields('{}'), [])
  t.strictSame(fields('null'), [])
})

t.test('of two members with the same name, the last one counts', async (t) => {
  t.strictSame(fields('{"a":1,"b":2,"a":{"c":3}}'), [
    ['a › c', 'number', '3'],
    ['b', 'number', '2'],
  ])
})

t.test('the same fields with nothing in them are proposed for another page', async (t) => {
  const content =
    '{"t":"x","n":14.90,"f":true,"z":null,"l":["a"],"o":{"t":"y"},"faq":[{"q":"1"},{"q":"2"}],"e":{ }}'
  const blank = '{"t":"","n":0,"f":false,"z":null,"l":[],"o":{"t":""},"faq":[{"q":""}],"e":{}}'
  t.equal(blankOf(valueIn(content)), blank)
})

t.test('a member is added at the end of an object, unless it has one of that name', async (t) => {
  t.equal(withMember('{}', 'a'), '{"a":""}')
  t.equal(withMember(' {"a": 1.0 } ', 'b "c"'), ' {"a": 1.0 ,"b \\"c\\"":""} ')
  t.equal(withMember('{"a":1}', 'a'), '{"a":1}')
})

t.test('fields are changed, added and removed, and blanks between them do not count', async (t) => {
  const before = '{"title":"Tulips","price":14.90,"seo":{"title":"a","text":"b"},"tags":["a","b"],"old":1}'
  const after =
    '{"title": "Tulips", "price": 11.90, "seo": {"title":"a", "text":"c"}, "tags": ["a", "b"], "x": 2}'
  t.strictSame(changes(before, after), [
    { path: 'price', before: '14.90', after: '11.90' },
    { path: 'seo › text', before: 'b', after: 'c' },
    { path: 'old', before: '1', after: null },
    { path: 'x', before: null, after: '2' },
  ])
  t.strictSame(changes(after, after), [])
  t.strictSame(changes('null', '{"a":"b"}'), [{ path: 'a', before: null, after: 'b' }])
})

t.test('an item that is inserted into a list, or removed from it, changes no other item', async (t) => {
  const [first, second, third] = ['{"q":"1","a":"x"}', '{"q":"2","a":"y"}', '{"q":"3","a":"z"}']
  const inserted = changes(`{"faq":[${first},${third}]}`, `{"faq":[${first},${second},${third}]}`)
  t.strictSame(inserted, [
    { path: 'faq › 2 › q', before: null, after: '2' },
    { path: 'faq › 2 › a', before: null, after: 'y' },
  ])
  t.strictSame(changes(`{"faq":[${first},${second}]}`, `{"faq":[ ${second} ]}`), [
    { path: 'faq › 1 › q', before: '1', after: null },
    { path: 'faq › 1 › a', before: 'x', after: null },
  ])
  const edited = changes(`{"faq":[${first},${second}]}`, `{"faq":[${first},{"q":"2","a":"new"}]}`)
  t.strictSame(edited, [{ path: 'faq › 2 › a', before: 'y', after: 'new' }])
})

t.test('a field that becomes another kind of value is removed and added', async (t) => {
  t.strictSame(changes('{"a":"x"}', '{"a":{"b":"x"}}'), [
    { path: 'a', before: 'x', after: null },
    { path: 'a › b', before: null, after: 'x' },
  ])
})
