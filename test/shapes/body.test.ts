import t from 'tap'
import type * as v from 'valibot'
import type { Operation } from '../../src/service/operations/operation.ts'
import { operations } from '../../src/service/operations/operations.ts'
import { NewErasure } from '../../src/shapes/erasure.ts'
import { checkShape } from '../../src/shapes/json.ts'
import { NewPage, NewVersion } from '../../src/shapes/page.ts'
import { NewPageGroup } from '../../src/shapes/page-group.ts'
import { NewProspect } from '../../src/shapes/prospect.ts'
import { NewWebhookEndpoint } from '../../src/shapes/webhook.ts'
import { Replay } from '../../src/shapes/webhook-delivery.ts'

/** Names that are refused as nearly a member, each with the member. */
const nearIn = (shape: v.GenericSchema, given: object): string[] =>
  checkShape(shape, given).faults.flatMap(({ pointer, detail }) => {
    const [, meant] = /^is not a member; did you mean `(.*)`\?$/.exec(detail) ?? []
    return meant === undefined ? [] : [`${pointer} ${meant}`]
  })

t.test('a typing error is refused by name', async (t) => {
  const cases: [v.GenericSchema, object, string][] = [
    [NewPage, { publsh: false }, '/publsh publish'],
    [NewPage, { ublish: false }, '/ublish publish'],
    [NewPage, { upblish: false }, '/upblish publish'],
    [NewPage, { pubilsh: false }, '/pubilsh publish'],
    [NewPage, { publish: true, publsh: false }, '/publsh publish'],
    [NewVersion, { publishat: '' }, '/publishat publishAt'],
    [NewVersion, { publish_at: '' }, '/publish_at publishAt'],
    [NewPage, { suplementaryContext: '' }, '/suplementaryContext supplementaryContext'],
    [NewPage, { 'suplementry-context': '' }, '/suplementry-context supplementaryContext'],
    [NewPage, { CustomName: '' }, '/CustomName customName'],
    [NewPage, { contents: {} }, '/contents content'],
    [NewPageGroup, { name: 'a', title: 'b', footerLink: [] }, '/footerLink footerLinks'],
    [NewWebhookEndpoint, { url: 'https://a.example', type: 'prospect.created' }, '/type types'],
    [NewWebhookEndpoint, { URL: 'https://a.example' }, '/URL url'],
    [NewErasure, { emial: 'ada@example.com' }, '/emial email'],
    [NewErasure, { email: 'ada@example.com', blokDays: 0 }, '/blokDays blockDays'],
    [NewProspect, { external_id: '7' }, '/external_id externalId'],
    [Replay, { onlyUndeliverd: false }, '/onlyUndeliverd onlyUndelivered'],
  ]
  for (const [shape, given, wanted] of cases)
    t.strictSame(nearIn(shape, given), [wanted], JSON.stringify(given))
})

t.test('what is plausibly something else is ignored', async (t) => {
  const others: [v.GenericSchema, string][] = [
    [
      NewPage,
      'id name title type status slug published publishedAt unpublishAt context consent customerName',
    ],
    [NewPageGroup, 'id slug subtitle tile url urls status pageContent published'],
    [NewWebhookEndpoint, 'id name urls uri secret status events active'],
    [NewProspect, 'id _id fname lname firstName nickname names emails email2 mail internalId state status'],
  ]
  for (const [shape, names] of others)
    for (const name of names.split(' ')) t.strictSame(nearIn(shape, { [name]: ['x'] }), [], name)
  const beside = { type: 'a', types: null, source: 'b', sources: null, _description: 'c' }
  t.strictSame(nearIn(NewWebhookEndpoint, beside), [], 'a singular beside the plural')
})

/** The names of all members that callers see anywhere, in answers too. */
const namesIn = (shape: unknown): string[] => {
  if (typeof shape !== 'object' || shape === null) return []
  const { entries, wrapped, item, pipe } = shape as Readonly<Record<string, never>>
  const own = Object.entries(Object(entries)).flatMap(([name, inner]) => [name, ...namesIn(inner)])
  return [...own, ...[wrapped, item, ...[pipe ?? []].flat().filter((one) => one !== shape)].flatMap(namesIn)]
}

t.test('what one operation returns can be sent to another, except a singular for a plural', async (t) => {
  const all = Object.values(operations) as readonly Operation[]
  const shapes = all.flatMap(({ body, query, answer, ids }) => [{ entries: ids }, body, query, answer])
  const names = [...new Set(shapes.flatMap(namesIn))]
  t.ok(names.length > 100)
  const refused = all.flatMap(({ body }) => {
    const isOther = (name: string) => body && !(name in body.entries) && !(`${name}s` in body.entries)
    const sent = [['x'], {}, null, 1].flatMap((value) =>
      names.filter(isOther).map((name) => ({ [name]: value })),
    )
    return sent.flatMap((given) => (body ? nearIn(body, given) : []))
  })
  t.strictSame(refused, [])
})

t.test('every body but those of activities is such a body', async (t) => {
  const plain = Object.entries(operations).filter(([, one]) => 'body' in one && !('refusesNear' in one.body))
  t.strictSame(
    plain.map(([name]) => name),
    ['logProspectActivity', 'logProspectActivities'],
  )
})

t.test('of very many unknown members only the first are compared', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`other${i}`, 1]))
  t.strictSame(nearIn(NewPage, { ...many, publsh: false }), [])
  const { other0, ...fewer } = many
  t.strictSame(nearIn(NewPage, { ...fewer, publsh: false }), ['/publsh publish'])
})
