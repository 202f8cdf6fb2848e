import t from 'tap'
import * as v from 'valibot'
import { checkShape, withTexts } from '../../src/shapes/json.ts'
import { NewPage } from '../../src/shapes/page.ts'
import { PageGroupInput, PageGroupQuery } from '../../src/shapes/page-group.ts'
import { NewProspectLog } from '../../src/shapes/prospect-log.ts'
import { SliceQuery } from '../../src/shapes/slice.ts'
import { idOf } from '../support/setting.ts'

const log = { source: 'crm', payload: {} }
const isLog = (fields: object) => v.is(NewProspectLog, { ...log, ...fields })
/** The faults, as `path: message`. */
const faultsOf = (schema: v.GenericSchema, given: unknown) =>
  v
    .safeParse(schema, given)
    .issues?.map((issue) => `${issue.path?.map(({ key }) => key).join('/')}: ${issue.message}`)

t.test('an activity needs a source and a payload only; its type is webhook unless given', async (t) => {
  const parsed = v.parse(NewProspectLog, log)
  t.strictSame(parsed, { ...log, payload: { rawJson: '' }, type: 'webhook' }, 'the payload is let go')
  const payload = { rawJson: '{}' }
  t.equal(withTexts(parsed, new Map([['payload', payload]])).payload, payload, 'for its text')
  t.equal(v.parse(NewProspectLog, { ...log, type: 'signup' }).type, 'signup')
  t.notOk(v.is(NewProspectLog, { source: 'crm' }))
  t.notOk(v.is(NewProspectLog, { payload: {} }))
})

t.test('unknown members of an activity are ignored', async (t) => {
  const checked = v.parse(NewProspectLog, { ...log, later: 1, tenantId: 'x' })
  t.strictSame(Object.keys(checked), ['source', 'type', 'payload', 'ignored'])
})

const bounded = { source: 100, type: 100, name: 255, idempotencyKey: 255 }
for (const [field, max] of Object.entries(bounded)) {
  t.test(`${field} is 1 to ${max} characters long`, async (t) => {
    t.ok(isLog({ [field]: 'x' }))
    t.ok(isLog({ [field]: 'x'.repeat(max) }))
    t.notOk(isLog({ [field]: '' }))
    t.notOk(isLog({ [field]: 'x'.repeat(max + 1) }))
  })

  t.test(`${field} counts an emoji as one character`, async (t) => {
    t.ok(isLog({ [field]: '😀' }))
    t.ok(isLog({ [field]: '😀'.repeat(max) }))
    t.ok(isLog({ [field]: `${'😀'.repeat(max - 1)}x` }))
    t.notOk(isLog({ [field]: '😀'.repeat(max + 1) }))
    t.notOk(isLog({ [field]: `${'😀'.repeat(max)}x` }))
  })
}

for (const field of ['source', 'type', 'name', 'idempotencyKey', 'email', 'prospectId'])
  t.test(`${field} must be a text that can be stored`, async (t) => {
    for (const given of [null, 1, true, {}, [], 'a\0b', 'a\ud800b', '\udc00'])
      t.notOk(isLog({ [field]: given }), JSON.stringify(given))
  })

t.test('an email may be any text, even none', async (t) => {
  for (const email of ['', ' ', 'not an email', '-1', 'x'.repeat(10_000), '😀', '\u0001'])
    t.equal(v.parse(NewProspectLog, { ...log, email }).email, email)
})

t.test('a prospect’s id is prospect_ and 26 characters', async (t) => {
  t.ok(isLog({ prospectId: idOf('prospect', 1) }))
  t.ok(isLog({ prospectId: `prospect_${'z'.repeat(26)}` }))
  const wrong = ['', 'prospect_', idOf('page', 1), `${idOf('prospect', 1)}0`, `${idOf('prospect', 1)}\n`]
  for (const prospectId of [...wrong, ` ${idOf('prospect', 1)}`, `prospect_${'A'.repeat(26)}`])
    t.notOk(isLog({ prospectId }), JSON.stringify(prospectId))
})

t.test('a payload is any object and nothing else', async (t) => {
  for (const payload of [{}, { a: null }, { '\0': '\ud800' }, JSON.parse('{"__proto__":1}')])
    t.ok(isLog({ payload }))
  for (const payload of [null, [], 'x', 1, true, undefined])
    t.notOk(isLog({ payload }), JSON.stringify(payload))
})

t.test('a page needs nothing, and its texts have no bound of their own', async (t) => {
  t.strictSame(v.parse(NewPage, {}), { publish: true })
  const page = { customName: '', supplementaryContext: 'x'.repeat(100_000) }
  t.strictSame(v.parse(NewPage, page), { ...page, publish: true })
  for (const field of ['customName', 'supplementaryContext'])
    for (const given of [null, 1, [], 'a\0', '\ud800'])
      t.notOk(v.is(NewPage, { [field]: given }), `${field}: ${given}`)
})

t.test('a limit is 20 unless given', async (t) => {
  t.strictSame(v.parse(SliceQuery, {}), { limit: 20 })
  t.strictSame(v.parse(PageGroupQuery, {}), { limit: 20 })
})

t.test('a limit is a whole number from 1 to 100, in digits', async (t) => {
  for (const [limit, number] of Object.entries({ '1': 1, '20': 20, '100': 100 }))
    t.equal(v.parse(SliceQuery, { limit }).limit, number)
  for (const limit of [
    '0',
    '101',
    '1000',
    '-1',
    '+1',
    '1.0',
    '1e1',
    '0x10',
    '',
    ' 1',
    '1 ',
    '１',
    'all',
    '1,2',
  ])
    t.strictSame(faultsOf(SliceQuery, { limit }), ['limit: must be a whole number from 1 to 100'], limit)
})

t.test(
  'a status filter is one of the stored values, and the refusal of a wrong one lists them',
  async (t) => {
    for (const status of ['active', 'archived', 'deleted'])
      t.equal(v.parse(PageGroupQuery, { status }).status, status)
    for (const status of ['', 'Active', 'all', 'active,deleted', 'constructor'])
      t.strictSame(
        checkShape(PageGroupQuery, { status }, 'parameter').faults,
        [{ detail: 'must be one of active, archived, deleted', parameter: 'status' }],
        status,
      )
  },
)

t.test('a page group takes lists of anything, and names and titles that fit', async (t) => {
  const lists = { actions: [1, null, {}], footerLinks: [], scripts: [['x']] }
  const texts = { actions: { rawJson: '' }, footerLinks: { rawJson: '' }, scripts: { rawJson: '' } }
  t.strictSame(checkShape(PageGroupInput, lists), { output: texts, faults: [] })
  const fields = { name: '😀'.repeat(255), title: 'x', pageContext: null, headerActionId: null }
  t.strictSame(checkShape(PageGroupInput, fields), { output: fields, faults: [] })
  for (const wrong of [
    { name: '' },
    { title: 'x'.repeat(256) },
    { actions: {} },
    { scripts: null },
    { status: 'new' },
  ])
    t.equal(checkShape(PageGroupInput, wrong).faults[0]?.['pointer'], `/${Object.keys(wrong)[0]}`)
  t.equal(checkShape(PageGroupInput, { scripts: 'x' }).faults.at(-1)?.['detail'], 'must be an array')
})
