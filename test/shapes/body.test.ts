import t from 'tap'
import type * as v from 'valibot'
import type { Operation } from '../../src/service/operations/operation.ts'
import { operations } from '../../src/service/operations/operations.ts'
import { NewErasure } from '../../src/shapes/erasure.ts'
import { checkShape } from '../../src/shapes/json.ts'
import { NewPage, NewVersion } from '../../src/shapes/page.ts'
import { NewPageGroup } from '../../src/shapes/page-group.ts'
import { NewProspect } from '../../src/shapes/prospect.ts'
import { NewProspectLog } from '../../src/shapes/prospect-log.ts'
import { NewWebhookEndpoint } from '../../src/shapes/webhook.ts'
import { Replay } from '../../src/shapes/webhook-delivery.ts'

const faultsOf = (shape: v.GenericSchema, given: object) =>
  checkShape(shape, given).faults.map(({ pointer, detail }) => `${pointer} ${detail}`)

t.test('an unknown member is refused by name, with the known one that may be meant', async (t) => {
  const cases: [v.GenericSchema, object, string, string?][] = [
    [NewPage, { publsh: false }, '/publsh', 'publish'],
    [NewPage, { pubilsh: false }, '/pubilsh', 'publish'],
    [NewPage, { publish: true, publsh: false }, '/publsh', 'publish'],
    [NewPage, { contents: {} }, '/contents', 'content'],
    [NewPage, { title: 'Spring' }, '/title'],
    [NewPage, { 'a/b~c': 1 }, '/a~1b~0c'],
    [NewVersion, { publish_at: '' }, '/publish_at', 'publishAt'],
    [NewPageGroup, { name: 'a', title: 'b', footerLink: [] }, '/footerLink', 'footerLinks'],
    [NewWebhookEndpoint, { url: 'https://a.example', type: 'prospect.created' }, '/type', 'types'],
    [NewErasure, { email: 'ada@example.com', blokDays: 0 }, '/blokDays', 'blockDays'],
    [NewProspect, { email: 'ada@example.com', firstName: 'Ada' }, '/firstName'],
    [Replay, { since: '2026-01-01T00:00:00Z', onlyUndeliverd: false }, '/onlyUndeliverd', 'onlyUndelivered'],
  ]
  for (const [shape, given, pointer, meant] of cases) {
    const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`
    t.strictSame(faultsOf(shape, given), [`${pointer} is not a known member${hint}`], JSON.stringify(given))
  }
})

t.test('unknown members are refused beside other faults, up to 20 of them', async (t) => {
  t.strictSame(faultsOf(NewPage, { customName: 1, other: 2 }), [
    '/customName must be a string',
    '/other is not a known member',
  ])
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`other${i}`, 1]))
  t.equal(faultsOf(NewPage, many).length, 20)
})

t.test('data in the place of a name is not repeated', async (t) => {
  for (const name of ['ada@example.com', 'x'.repeat(101)])
    t.strictSame(faultsOf(NewPage, { [name]: 1 }), [' has an unknown member'])
})

t.test('members that every object has are unknown, too', async (t) => {
  const given = JSON.parse('{"toString":1,"constructor":2,"__proto__":3}')
  t.strictSame(
    checkShape(NewPage, given).faults.map(({ pointer }) => pointer),
    ['/toString', '/constructor', '/__proto__'],
  )
})

t.test('unknown members of an activity are ignored, and named', async (t) => {
  const activity = { source: 'crm', payload: {} }
  const { output, faults } = checkShape(NewProspectLog, { ...activity, Email: 'ada@example.com', utm: {} })
  t.strictSame(faults, [])
  t.match(output, { ignored: ['Email', 'utm'] })
  t.notOk('Email' in output)
  t.notOk('ignored' in checkShape(NewProspectLog, activity).output)
  t.match(checkShape(NewProspectLog, { ...activity, ignored: ['x'] }).output, { ignored: ['ignored'] })
  for (const data of ['x'.repeat(101), 'ada@example.com'])
    t.match(checkShape(NewProspectLog, { ...activity, [data]: 1 }).output, { ignored: ['…'] })
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`other${i}`, 1]))
  const { ignored } = checkShape(NewProspectLog, { ...activity, ...many }).output as { ignored?: string[] }
  t.equal(ignored?.length, 20)
})

t.test('every body but those of activities refuses unknown members', async (t) => {
  const all = Object.entries(operations as Readonly<Record<string, Operation>>)
  const lenient = all.filter(([, { body }]) => {
    const faults = body === undefined ? [] : checkShape(body, { unheardOf: 1 }).faults
    return body !== undefined && !faults.some(({ pointer }) => pointer === '/unheardOf')
  })
  t.strictSame(
    lenient.map(([name]) => name),
    ['logProspectActivity', 'logProspectActivities'],
  )
})
