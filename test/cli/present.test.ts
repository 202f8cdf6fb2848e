import t from 'tap'
import { type Answer, type Look, present } from '../../src/cli/present.ts'
import { screenOf } from '../../src/cli/screen.ts'

const KEYS = {
  apiKeys: [
    { id: 'k1', name: 'crm', scopes: ['a:read', 'b:read'], at: '2026-11-21T16:58:32.953Z', end: null },
    { id: 'k2', name: '日本', scopes: ['a:read'], at: '2026-11-22T00:00:00.000Z', end: null },
  ],
}

const printed = async (work: Answer | AsyncIterable<object>, width: number | null, look: Look = {}) => {
  const screen = screenOf(width === null ? {} : { isTTY: true, columns: width }, { NO_COLOR: '1' })
  const said: string[] = []
  const job = Symbol.asyncIterator in work ? (work as AsyncIterable<object>) : Promise.resolve(work)
  const out = { print: (text: string) => said.push(text), end: () => {} }
  const failed = await present(job, { ...look, isJson: width === null }, screen, out).catch((why) => why)
  return { text: said.join(''), said, failed }
}

t.test('a pipe gets one JSON object, or a line for each of several', async (t) => {
  t.equal((await printed(KEYS, null)).text, `${JSON.stringify(KEYS)}\n`)
  t.equal((await printed([{ a: 1 }, { a: { rawJson: '1.0' } }], null)).text, '{"a":1}\n{"a":1.0}\n')
})

t.test('a terminal gets a list as a table, without the columns in which nothing is', async (t) => {
  t.equal(
    (await printed(KEYS, 80)).text,
    [
      'id  name  scopes  at',
      'k1  crm   a:read  2026-11-21 16:58Z',
      '          b:read',
      'k2  日本  a:read  2026-11-22 00:00Z',
      '',
    ].join('\n'),
  )
  t.equal((await printed(KEYS, 80, { columns: ['name', 'id'] })).text, 'name  id\ncrm   k1\n日本  k2\n')
  t.equal((await printed({ apiKeys: [] }, 80)).text, 'none\n')
})

t.test('where the table is too wide its rows stand one below the other', async (t) => {
  t.equal(
    (await printed(KEYS, 34)).text,
    [
      'id      k1',
      'name    crm',
      'scopes  a:read, b:read',
      'at      2026-11-21T16:58:32.953Z',
      '',
      'id      k2',
      'name    日本',
      'scopes  a:read',
      'at      2026-11-22T00:00:00.000Z',
      '',
    ].join('\n'),
  )
})

t.test('one answer shows all of itself, and its note', async (t) => {
  const one = { id: 'k1', end: null, isOpen: true, count: 3, actions: { rawJson: '[1.0]' }, none: [] }
  const look = { columns: ['id'], note: 'It is shown only now.' }
  t.equal(
    (await printed(one, 80, look)).text,
    [
      'id       k1',
      'end      -',
      'isOpen   true',
      'count    3',
      'actions  [1.0]',
      'none     []',
      '',
      'It is shown only now.',
      '',
    ].join('\n'),
  )
})

t.test('a name cannot steer the terminal', async (t) => {
  const { text } = await printed({ name: '\u001b]0;title\u0007\nx', other: [{ name: '\u001b[2J' }] }, 80)
  t.equal(text, 'name   \\u001b]0;title\\u0007\\u000ax\nother  [{"name":"\\u001b[2J"}]\n')
})

t.test('what came before a failure is printed too', async (t) => {
  const why = new Error('away')
  const failing = async function* () {
    yield { id: 'g1' }
    yield { id: 'g2' }
    throw why
  }
  const onPipe = await printed(failing(), null)
  t.strictSame(onPipe, { text: '{"id":"g1"}\n{"id":"g2"}\n', said: onPipe.said, failed: why })
  t.equal(onPipe.said.length, 2, 'each when it came')
  t.match(await printed(failing(), 80), { text: 'id\ng1\ng2\n', failed: why })
})
