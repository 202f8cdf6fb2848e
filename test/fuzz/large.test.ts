import t from 'tap'
import { storeKinds } from '../support/stores.ts'
import { openFuzz } from './scene.ts'

const BYTES_MAX = 1_048_576
/** In time that grows with the length alone, each takes milliseconds; this is what others would still wait for. */
const ANSWER_MS_MAX = 5_000

/** As often as it fits into a body. */
const filled = (text: string, begin = '', end = '') =>
  begin +
  text.repeat(Math.floor((BYTES_MAX - 200 - begin.length - end.length) / Buffer.byteLength(text))) +
  end

const TEXTS: readonly (readonly [what: string, text: string])[] = [
  ['letters', filled('a')],
  ['blanks', filled(' ', 'a', 'a')],
  ['blanks alone', filled(' ')],
  ['line breaks', filled('\\r\\n', 'a', 'a')],
  ['no-break blanks', filled('\u00a0', 'a', 'a')],
  ['dashes', filled('-')],
  ['zeros and a letter', filled('0', '', 'x')],
  ['quotes', filled('\\"', '', 'x')],
  ['quotes of many kinds', filled('“«`', 'x', 'x')],
  ['quotes and blanks', filled('\\" ')],
  ['backslashes', filled('\\\\')],
  ['escapes', filled('\\u0041')],
  ['emoji', filled('😀')],
  ['a family of emoji', filled('👩\u200d')],
  ['combining marks', filled('\u0323\u0301', 'a')],
  ['combining marks in reverse', filled('\u0301\u0323', 'a')],
  ['letters with marks', filled('e\u0301\u0323')],
  ['marks in runs', filled(`a${'\u0301\u0323'.repeat(15)}`)],
  ['jamo', filled('\u1112\u1161\u11ab')],
  ['capitals that grow', filled('İ')],
  ['sigmas', filled('Σ.')],
  ['sigmas in one word', filled('Σ')],
  ['signs of format', filled('\u200b\u00ad')],
  ['replacement characters', filled('\ufffd')],
  ['@', filled('@')],
]
const PAYLOADS: readonly (readonly [what: string, payload: string])[] = [
  ['empty objects', filled('{},', '{"a":[', '{}]}')],
  ['empty names', filled('"":0,', '{', '"":0}')],
  ['the name __proto__', filled('"__proto__":{},', '{', '"__proto__":{}}')],
  ['numbers', filled('1.5e3,', '{"a":[', '0]}')],
  ['zeros of a number', filled('0', '{"a":1.', '}')],
  ['zeros before the digits', filled('0', '{"a":0.', '1}')],
  ['zeros between digits', filled('0', '{"a":1', '1}')],
  ['digits of a number', filled('7', '{"a":', '}')],
  ['digits of an exponent', filled('9', '{"a":1e', '}')],
  ['zeros of an exponent', filled('0', '{"a":1e', '1}')],
  ['blanks', filled(' ', '{"a":', '1}')],
  ['line breaks', filled('\n', '{', '}')],
  ['names by number', `{${Array.from({ length: 70_000 }, (_, i) => `"${70_000 - i}":0`).join(',')}}`],
  ['a long name', filled('n', '{"', '":1}')],
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

const inTime = async (body: string, target: string, codes: readonly (string | null)[]) => {
  const began = performance.now()
  const { code } = await world.ask('POST', target, {
    body: Buffer.from(body),
    headers: { 'idempotency-key': `key-${++keys}` },
  })
  const ms = Math.round(performance.now() - began)
  return { ms, isFine: codes.includes(code) && ms < ANSWER_MS_MAX, code }
}

for (const [what, text] of TEXTS)
  t.test(`a megabyte of ${what} holds nobody up`, async (t) => {
    for (const field of ['email', 'name', 'more']) {
      const known = field === 'source' ? '' : '"source":"crm",'
      const body = `{${known}"payload":{},"${field}":"${text}"}`
      const isAny = field === 'email' || field === 'more'
      const { isFine, ...told } = await inTime(body, '/v0/prospect_logs', [isAny ? null : 'invalid_request'])
      t.ok(isFine, `${field}: ${JSON.stringify(told)}`)
    }
    for (const field of ['customName', 'supplementaryContext']) {
      const body = `{"${field}":"${text}"}`
      const { isFine, ...told } = await inTime(body, `/v0/page_groups/${pageGroupId}/pages`, [null])
      t.ok(isFine, `${field}: ${JSON.stringify(told)}`)
    }
  })

for (const [what, payload] of PAYLOADS)
  t.test(`a payload of a megabyte of ${what} holds nobody up`, async (t) => {
    const body = `{"source":"crm","payload":${payload}}`
    const { isFine, ...told } = await inTime(body, '/v0/prospect_logs', [null])
    t.ok(isFine, JSON.stringify(told))
    const cut = await inTime(body.slice(0, -1), '/v0/prospect_logs', ['invalid_json'])
    t.ok(cut.isFine, `cut: ${JSON.stringify(cut)}`)
  })
