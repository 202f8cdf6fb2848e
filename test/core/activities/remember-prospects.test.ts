import t from 'tap'
import type { NewActivity } from '../../../src/core/activities/new-log.ts'
import { rememberProspects } from '../../../src/core/activities/remember-prospects.ts'
import { idOf } from '../../support/setting.ts'

const TENANT = idOf('tenant', 1)
const prospect = (n: number, blank: { emailHash?: null; externalIdHash?: null; name?: null } = {}) => ({
  tenantId: TENANT,
  prospectId: idOf('prospect', n),
  emailHash: 'hash',
  externalIdHash: 'hash',
  name: 'Ada',
  erasedAt: null,
  mergedInto: null,
  ...blank,
})
const byEmail = (email: string) => ({ tenantId: TENANT, email })
const setting = (entriesMax = 10) => {
  let now = 0
  const remembered = rememberProspects(entriesMax, () => now)
  const find = (identity: object) => remembered.locate(identity as NewActivity).rememberedId
  return { ...remembered, find, pass: (ms: number) => (now += ms) }
}

t.test('what is forgotten is not found, nor what was asked of the database before', async (t) => {
  const { add, find, forget, pass } = setting()
  add(byEmail('ada@x'), prospect(1), 0)
  pass(5)
  forget()
  t.equal(find(byEmail('ada@x')), undefined)
  add(byEmail('ada@x'), prospect(1), 4)
  add(byEmail('ada@x'), prospect(1), 5)
  t.equal(find(byEmail('ada@x')), undefined)
  pass(1)
  add(byEmail('ada@x'), prospect(2), 6)
  t.equal(find(byEmail('ada@x')), idOf('prospect', 2))
})

t.test('a prospect is found by its id and by its email as sent, within its tenant only', async (t) => {
  const { find, add } = setting()
  add(byEmail('ada@example.com'), prospect(1), 0)
  add({ tenantId: TENANT, prospectId: idOf('prospect', 2) }, prospect(2), 0)
  t.equal(find(byEmail('ada@example.com')), idOf('prospect', 1))
  t.equal(find({ tenantId: TENANT, prospectId: idOf('prospect', 2) }), idOf('prospect', 2))
  t.equal(find(byEmail('Ada@example.com')), undefined)
  t.equal(find({ ...byEmail('ada@example.com'), tenantId: idOf('tenant', 2) }), undefined)
  t.equal(find({ tenantId: TENANT, prospectId: idOf('prospect', 1) }), undefined, 'an id is no email')
  t.equal(find(byEmail(idOf('prospect', 2))), undefined, 'an email is no id')
  t.equal(find({ tenantId: TENANT }), undefined)
})

t.test('an id together with an email is found only as the two were seen together', async (t) => {
  const { find, add } = setting()
  const byId = { tenantId: TENANT, prospectId: idOf('prospect', 1) }
  add(byId, prospect(1), 0)
  t.equal(find({ ...byId, email: 'ada@x' }), undefined)
  add({ ...byId, email: 'ada@x' }, prospect(1), 0)
  t.equal(find({ ...byId, email: 'ada@x' }), idOf('prospect', 1))
  t.equal(find({ ...byId, email: 'grace@x' }), undefined)
})

t.test('one with a blank that the activity would fill is not found, so that it is filled', async (t) => {
  const { find, add } = setting()
  add(byEmail('ada@x'), prospect(1, { name: null }), 0)
  t.equal(find({ ...byEmail('ada@x'), name: 'Ada' }), undefined)
  t.equal(find(byEmail('ada@x')), idOf('prospect', 1))
  const byId = { tenantId: TENANT, prospectId: idOf('prospect', 2) }
  add(byId, prospect(2, { emailHash: null }), 0)
  t.equal(find({ ...byId, email: 'grace@x' }), undefined)
  t.equal(find({ ...byId, name: 'Grace' }), idOf('prospect', 2))
})

t.test('it is forgotten a minute after it was seen, however often it was used', async (t) => {
  const { find, add, pass } = setting()
  add(byEmail('ada@x'), prospect(1), 0)
  pass(59_999)
  t.equal(find(byEmail('ada@x')), idOf('prospect', 1))
  pass(1)
  t.equal(find(byEmail('ada@x')), undefined)
  add(byEmail('ada@x'), prospect(1), 30_000)
  pass(29_999)
  t.equal(find(byEmail('ada@x')), idOf('prospect', 1), 'seen is when the database was asked')
  pass(1)
  t.equal(find(byEmail('ada@x')), undefined)
})

t.test('past the bound the least recently used go first', async (t) => {
  const { find, add } = setting(4)
  for (let n = 1; n <= 100; n++) {
    add(byEmail(`${n}@x`), prospect(n), 0)
    if (n > 1) t.equal(find(byEmail('1@x')), idOf('prospect', 1))
  }
  const kept = Array.from({ length: 100 }, (_, i) => find(byEmail(`${i + 1}@x`))).filter(Boolean)
  t.ok(kept.length >= 2 && kept.length <= 4, `${kept.length} of 4`)
})

t.test('a very long email is not remembered', async (t) => {
  const { find, add } = setting()
  add(byEmail('x'.repeat(256)), prospect(1), 0)
  t.equal(find(byEmail('x'.repeat(256))), undefined)
})
