import t from 'tap'
import type { NewActivity } from '../../../src/core/activities/new-log.ts'
import { rememberProspects } from '../../../src/core/activities/remember-prospects.ts'
import { foundProspect, someProspect } from '../../support/rows.ts'
import { idOf } from '../../support/setting.ts'

const TENANT = idOf('tenant', 1)
const prospect = (n: number, fields: { name?: null } = {}) =>
  foundProspect(someProspect(TENANT, { prospectId: idOf('prospect', n), name: 'Ada', ...fields }))
const byEmail = (email: string) => ({ tenantId: TENANT, email })
const byId = (n: number) => ({ tenantId: TENANT, prospectId: idOf('prospect', n) })
const setting = (entriesMax = 10) => {
  const remembered = rememberProspects(entriesMax)
  const locate = (identity: object) => remembered.locate(identity as NewActivity).remembered
  const find = (identity: object) => locate(identity)?.prospectId
  const add = (identity: object, n: number, fields = {}) =>
    remembered.add({ tenantId: TENANT, ...identity }, prospect(n, fields))
  return { ...remembered, add, locate, find }
}

t.test('what is forgotten is not found, and can be remembered again', async (t) => {
  const { add, find, forget } = setting()
  add(byEmail('ada@x'), 1)
  add(byEmail('grace@x'), 3)
  forget(byEmail('ada@x'))
  t.equal(find(byEmail('ada@x')), undefined)
  t.equal(find(byEmail('grace@x')), idOf('prospect', 3), 'nothing else is forgotten')
  add(byEmail('ada@x'), 2)
  t.equal(find(byEmail('ada@x')), idOf('prospect', 2))
})

t.test('a prospect is found by its id and by its email as sent, within its tenant only', async (t) => {
  const { find, add } = setting()
  add(byEmail('ada@example.com'), 1)
  add(byId(2), 2)
  t.equal(find(byEmail('ada@example.com')), idOf('prospect', 1))
  t.equal(find(byId(2)), idOf('prospect', 2))
  t.equal(find(byEmail('Ada@example.com')), undefined)
  t.equal(find({ ...byEmail('ada@example.com'), tenantId: idOf('tenant', 2) }), undefined)
  t.equal(find(byId(1)), undefined, 'an id is no email')
  t.equal(find(byEmail(idOf('prospect', 2))), undefined, 'an email is no id')
  t.equal(find({ tenantId: TENANT }), undefined)
})

t.test('an id, an external id and an email are found only as they were seen together', async (t) => {
  const { find, add } = setting()
  add(byId(1), 1)
  t.equal(find({ ...byId(1), email: 'ada@x' }), undefined)
  add({ ...byId(1), email: 'ada@x' }, 1)
  t.equal(find({ ...byId(1), email: 'ada@x' }), idOf('prospect', 1))
  t.equal(find({ ...byId(1), email: 'grace@x' }), undefined)
  add({ ...byEmail('ada@x'), externalId: 'crm 1' }, 2)
  t.equal(find({ ...byEmail('ada@x'), externalId: 'crm 1' }), idOf('prospect', 2))
  t.equal(find({ ...byEmail('ada@x'), externalId: 'crm 2' }), undefined)
  t.equal(find(byEmail('ada@x')), undefined)
})

t.test('a prospect without a name is not found for an activity that would name it', async (t) => {
  const { find, add } = setting()
  add(byEmail('ada@x'), 1, { name: null })
  t.equal(find({ ...byEmail('ada@x'), name: 'Ada' }), undefined)
  t.equal(find({ ...byEmail('ada@x'), name: ' ' }), idOf('prospect', 1))
  t.equal(find(byEmail('ada@x')), idOf('prospect', 1))
})

t.test('the time of its last change is remembered', async (t) => {
  const { locate, add } = setting()
  add(byEmail('ada@x'), 1)
  t.match(locate(byEmail('ada@x')), { prospectId: idOf('prospect', 1), updatedAt: prospect(1).updatedAt })
})

t.test('past the bound the least recently used go first', async (t) => {
  const { find, add } = setting(4)
  for (let n = 1; n <= 100; n++) {
    add(byEmail(`${n}@x`), n)
    if (n > 1) t.equal(find(byEmail('1@x')), idOf('prospect', 1))
  }
  const kept = Array.from({ length: 100 }, (_, i) => find(byEmail(`${i + 1}@x`))).filter(Boolean)
  t.ok(kept.length >= 2 && kept.length <= 4, `${kept.length} of 4`)
})

t.test('a very long email is not remembered', async (t) => {
  const { find, add } = setting()
  add(byEmail('x'.repeat(256)), 1)
  t.equal(find(byEmail('x'.repeat(256))), undefined)
})
