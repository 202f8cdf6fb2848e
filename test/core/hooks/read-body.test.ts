import t from 'tap'
import { documentOf } from '../../../src/core/hooks/read-body.ts'
import { findInJson, pointerTree } from '../../../src/json/find-in-json.ts'

/** A form whose fields are read as a hook with these places reads them. */
const formOf = (fields: Readonly<Record<string, string>>, places: readonly string[]) => {
  const body = Buffer.from(new URLSearchParams(fields).toString())
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const document = documentOf({ headers, body, method: 'POST', url: null }, null, () => {})
  const tree = pointerTree(places)
  const text = document.textFor(tree)
  return { payload: JSON.parse(document.payload().rawJson), text, find: findInJson(text, tree, 3) }
}

t.test('a field of a form that holds JSON is opened only if a place leads into it', async (t) => {
  const fields = { email: 'ada@example.com', order: '{"id":7}', list: '[[[1]]]', other: '[[[2]]]' }
  const form = formOf(fields, ['/email', '/order/id', '/list/0'])
  t.strictSame(JSON.parse(form.text), {
    ...fields,
  })
  t.equal(form.find('/order/id'), '7')
  t.equal(form.find('/list/0'), '[[1]]')
  t.strictSame(form.payload, fields, 'all are stored as they were sent')
})

t.test('a form whose places are all plain fields is read as it is stored', async (t) => {
  const form = formOf({ email: 'ada@example.com', order: '{"id":7}' }, ['/email'])
  t.strictSame(JSON.parse(form.text), form.payload)
})

t.test('a place that no field has is looked for in the fields that hold an object', async (t) => {
  const fields = { first: '{"email":"first@example.com"}', second: ' {"email":"second@example.com"}' }
  t.equal(formOf(fields, ['/email']).find('/email'), '"first@example.com"')
  t.equal(formOf({ ...fields, email: 'own@example.com' }, ['/email']).find('/email'), '"own@example.com"')
})

t.test('a place enters the list of a field by a selector', async (t) => {
  const fields = { email: '', answers: '[{"id":"a","text":"1"},{"id":"b","text":"2"}]' }
  const place = '/answers[id=b]/text'
  t.equal(formOf(fields, [place]).find(place), '"2"')
})

t.test('members are looked for in the first ten fields that hold an object, and in no more', async (t) => {
  const fields = Object.fromEntries(Array.from({ length: 999 }, (_, i) => [`f${i}`, `{"m${i}":"v${i}"}`]))
  const form = formOf({ empty: '{ }', ...fields }, ['/m9', '/m10'])
  t.equal(form.find('/m9'), '"v9"')
  t.equal(form.find('/m10'), undefined)
})

t.test('a field is found by its name in another case, unless one has the exact name', async (t) => {
  const found = (fields: Readonly<Record<string, string>>) => formOf(fields, ['/email']).find('/email')
  t.equal(found({ Email: 'ada@example.com' }), '"ada@example.com"')
  t.equal(found({ EMAIL: 'other@example.com', email: 'ada@example.com' }), '"ada@example.com"')
  t.equal(found({ Email: 'ada@example.com', meta: '{"email":"meta@example.com"}' }), '"ada@example.com"')
  t.strictSame(formOf({ Email: 'ada@example.com' }, ['/email']).payload, { Email: 'ada@example.com' })
})
