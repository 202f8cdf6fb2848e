import t from 'tap'
import { storeKinds } from '../support/stores.ts'
import { openFuzz } from './scene.ts'

const BYTES_MAX = 1_048_576
/** As often as it fits into a body. */
const filled = (text: string, begin = '', end = '') =>
  begin +
  text.repeat(Math.floor((BYTES_MAX - 200 - begin.length - end.length) / Buffer.byteLength(text))) +
  end

const TEXTS: readonly (readonly [what: string, text: string])[] = [
  ['blanks', filled(' ', 'a', 'a')],
  ['dashes', filled('-')],
  ['zeros and a letter', filled('0', '', 'x')],
  ['quotes of many kinds', filled('“«`', 'x', 'x')],
  ['escapes', filled('\\u0041')],
  ['a family of emoji', filled('👩\u200d')],
  ['combining marks in reverse', filled('\u0301\u0323', 'a')],
  ['capitals that grow', filled('İ')],
  ['sigmas', filled('Σ.')],
  ['signs of format', filled('\u200b\u00ad')],
  ['@', filled('@')],
]
const PAYLOADS: readonly (readonly [what: string, payload: string])[] = [
  ['empty objects', filled('{},', '{"a":[', '{}]}')],
  ['the name __proto__', filled('"__proto__":{},', '{', '"__proto__":{}}')],
  ['zeros of a number', filled('0', '{"a":1.', '}')],
  ['digits of an exponent', filled('9', '{"a":1e', '}')],
  ['names by number', `{${Array.from({ length: 70_000 }, (_, i) => `"${70_000 - i}":0`).join(',')}}`],
  ['a long text', filled('\\n', '{"a":"', '"}')],
  ['as deep as may be, and wide', filled(`${'['.repeat(510)}${']'.repeat(510)},`, '{"a":[', '0]}')],
  ['objects in objects', filled(`${'{"a":'.repeat(500)}0${'}'.repeat(500)},`, '{"a":[', '0]}')],
]

const [memory] = storeKinds()
const tested = await memory?.open()
if (tested === undefined) throw new Error('no store')
const world = await openFuzz(tested)
const { pageGroupId } = await world.newGroup()
let keys = 0

// Work that takes more than linear time on such a text exceeds the tests' timeout.
const codeOf = async (target: string, body: string) => {
  const headers = { 'idempotency-key': `key-${++keys}` }
  return (await world.ask('POST', target, { body: Buffer.from(body), headers })).code
}

for (const [what, text] of TEXTS)
  t.test(`a megabyte of ${what} is answered`, async (t) => {
    const activity = (field: string) => `{"source":"crm","payload":{},"${field}":"${text}"}`
    t.equal(await codeOf('/v0/prospect_logs', activity('email')), null)
    t.equal(await codeOf('/v0/prospect_logs', activity('more')), null)
    t.equal(await codeOf('/v0/prospect_logs', activity('name')), 'invalid_request')
    for (const field of ['customName', 'supplementaryContext'])
      t.equal(await codeOf(`/v0/page_groups/${pageGroupId}/pages`, `{"${field}":"${text}"}`), null)
  })

for (const [what, payload] of PAYLOADS)
  t.test(`a payload of a megabyte of ${what} is answered`, async (t) => {
    const body = `{"source":"crm","payload":${payload}}`
    t.equal(await codeOf('/v0/prospect_logs', body), null)
    t.equal(await codeOf('/v0/prospect_logs', body.slice(0, -1)), 'invalid_json', 'cut')
  })
