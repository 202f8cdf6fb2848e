import t from 'tap'
import { createService, DomainFailure, memoryStore } from '../../src/entry/index.ts'
import type { Operation } from '../../src/service/operations/operation.ts'
import { operations } from '../../src/service/operations/operations.ts'

const DAY_MS = 86_400_000
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString()

/** Two values of each member that a request under an idempotency key may have. A new member needs a line here. */
const VALUES: Readonly<Record<string, readonly [unknown, unknown]>> = {
  type: ['a', 'b'],
  payload: [{ n: 1 }, { n: 2 }],
  email: ['ada@example.com', 'bob@example.com'],
  externalId: ['1', '2'],
  occurredAt: ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
  name: ['a', 'b'],
  attributes: [{ a: 1 }, { a: 2 }],
  title: ['a', 'b'],
  pageContext: ['a', 'b'],
  actions: [[], [{}]],
  footerLinks: [[], [{}]],
  scripts: [[], [{}]],
  headerActionId: ['a', 'b'],
  supplementaryContext: ['a', 'b'],
  content: [{ n: 1 }, { n: 2 }],
  customName: ['a', 'b'],
  slug: ['a', 'b'],
  verify: [{ token: true }, { preset: 'stripe', secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }],
  map: [{ email: ['/a'] }, { email: ['/b'] }],
  each: ['/a', '/b'],
  redirectTo: ['https://example.com/a', 'https://example.com/b'],
  origins: [['https://a.example'], ['https://b.example']],
  trap: ['a', 'b'],
  challenge: [
    { from: 'query:a', reply: 'text' },
    { from: 'query:b', reply: 'text' },
  ],
  answer: [{ status: 200 }, { status: 204 }],
  unidentified: ['new', 'shared'],
  fieldsAsAttributes: [true, false],
  attributesMode: ['fill', 'overwrite'],
  url: ['https://example.com/a', 'https://example.com/b'],
  types: [['page.created'], ['page.deleted']],
  sources: [['a'], ['b']],
  logTypes: [['a'], ['b']],
  headers: [{ authorization: 'a' }, { authorization: 'b' }],
  method: ['PUT', 'PATCH'],
  body: [{ n: 1 }, { n: 2 }],
  description: ['a', 'b'],
  publish: [true, false],
  publishAt: [inDays(1), inDays(2)],
}

const NOT_VARIED = [
  // The key itself. An activity's source is part of it: under another source, the same key is another one.
  'idempotencyKey',
  'source',
  // These name something that exists, and the scene has only one brand and no prospect.
  'brandId',
  'prospectId',
]

/** Functions that send each request that takes an idempotency key: a valid one, with these members added or replaced. */
const openScene = async () => {
  const service = createService({ store: memoryStore(), background: 'elsewhere' })
  const { tenantId } = await service.createTenant({ name: 'Acme' })
  const { value: group } = await service.createPageGroup({ tenantId, name: 'a', title: 'A' })
  const { pageGroupId } = group
  const { value: page } = await service.createPageWithVersion({ tenantId, pageGroupId })
  const { pageId } = page
  return {
    logProspectActivity: (members: object) =>
      service.logProspectActivity({ tenantId, source: 'crm', payload: {}, name: 'n', ...members }),
    createPageGroup: (members: object) =>
      service.createPageGroup({ tenantId, name: 'n', title: 't', ...members }),
    createPageWithVersion: (members: object) =>
      service.createPageWithVersion({ tenantId, pageGroupId, ...members }),
    createWebhookEndpoint: (members: object) =>
      service.createWebhookEndpoint({ tenantId, url: 'https://example.com', ...members }),
    createHook: (members: object) =>
      service.createHook({ tenantId, source: 'form', verify: { token: true }, ...members }),
    createVersion: (members: object) => service.createVersion({ tenantId, pageGroupId, pageId, ...members }),
  }
}

const KEYED = [
  'logProspectActivity',
  'createPageGroup',
  'createPageWithVersion',
  'createVersion',
  'createWebhookEndpoint',
  'createHook',
] as const

const takesKey = ({ takes = {} }: Operation): boolean => 'idempotencyKey' in takes

const variedMembers = ({ body }: Operation): string[] =>
  Object.keys(body?.entries ?? {}).filter((member) => !NOT_VARIED.includes(member))

t.test('every operation that takes an idempotency key is tested here', async (t) => {
  const all: Readonly<Record<string, Operation>> = operations
  const keyedNames = Object.keys(all).filter((name) => takesKey(all[name] as Operation))
  t.strictSame(new Set(keyedNames), new Set(KEYED))
})

for (const name of KEYED)
  for (const member of variedMembers(operations[name]))
    t.test(`${name} under the same key with another ${member} is refused as another request`, async (t) => {
      const values = VALUES[member]
      if (values === undefined) throw new Error(`Add two values of ${member} to VALUES.`)
      const [value, otherValue] = values
      const send = (await openScene())[name]
      const request = { idempotencyKey: 'a key', [member]: value }

      t.equal((await send(request)).replayed, false, 'the first request is done')
      t.equal((await send(request)).replayed, true, 'the same request is replayed')

      const otherRequest = { idempotencyKey: 'a key', [member]: otherValue }
      const failure: unknown = await send(otherRequest).catch((error: unknown) => error)
      t.equal(failure instanceof DomainFailure && failure.kind, 'idempotency_key_reused')
    })

for (const name of ['createPageWithVersion', 'createVersion', 'createPageGroup'] as const)
  t.test(`${name} under the same key with its JSON written again is the same request`, async (t) => {
    const send = (await openScene())[name]
    const member = name === 'createPageGroup' ? 'actions' : 'content'
    const written = (text: string) => ({
      idempotencyKey: 'a key',
      [member]: { rawJson: member === 'content' ? text : `[${text}]` },
    })
    t.equal((await send(written('{"a":1,"b":"é"}'))).replayed, false)
    t.equal((await send(written('{ "b":"\\u00e9", "a":1 }'))).replayed, true)
    const failure: unknown = await send(written('{"a":1.0,"b":"é"}')).catch((error: unknown) => error)
    t.equal(failure instanceof DomainFailure && failure.kind, 'idempotency_key_reused')
  })

t.test('a hook or an endpoint whose JSON is written again is the same request', async (t) => {
  const { createHook, createWebhookEndpoint } = await openScene()
  const isReplayed = async (
    send: (members: object) => Promise<{ readonly replayed: boolean }>,
    members: object,
  ) => (await send({ idempotencyKey: 'a key', ...members })).replayed
  const challenge = (reply: object) => ({ challenge: { from: 'query:a', reply } })
  t.equal(await isReplayed(createHook, challenge({ a: 'query:a', b: 'query:b' })), false)
  t.equal(await isReplayed(createHook, challenge({ b: 'query:b', a: 'query:a' })), true)
  const headers = { a: '1', b: '2' }
  const body = { rawJson: '{"a":"{{/data/a}}","b":1}' }
  t.equal(await isReplayed(createWebhookEndpoint, { headers, body }), false)
  const again = { headers: { b: '2', a: '1' }, body: { rawJson: '{ "b": 1, "a": "{{\\u002fdata/a}}" }' } }
  t.equal(await isReplayed(createWebhookEndpoint, again), true)
})
