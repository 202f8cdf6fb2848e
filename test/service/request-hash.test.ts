import t from 'tap'
import { createService, DomainFailure, memoryStore } from '../../src/entry/index.ts'
import type { Operation } from '../../src/service/operations/operation.ts'
import { operations } from '../../src/service/operations/operations.ts'

/** Two values of each member of the requests that take an idempotency key. A new member needs a line here. */
const VALUES: Readonly<Record<string, readonly [unknown, unknown]>> = {
  type: ['a', 'b'],
  payload: [{ n: 1 }, { n: 2 }],
  email: ['ada@example.com', 'bob@example.com'],
  externalId: ['1', '2'],
  occurredAt: ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
  name: ['a', 'b'],
  title: ['a', 'b'],
  pageContext: ['a', 'b'],
  status: ['active', 'archived'],
  actions: [[], [{}]],
  footerLinks: [[], [{}]],
  scripts: [[], [{}]],
  headerActionId: ['a', 'b'],
  supplementaryContext: ['a', 'b'],
  content: [{ n: 1 }, { n: 2 }],
  customName: ['a', 'b'],
  slug: ['a', 'b'],
  publish: [true, false],
  publishAt: [new Date(Date.now() + 1e8).toISOString(), new Date(Date.now() + 2e8).toISOString()],
}
/** Members that name the request, or the one place where it can be made. */
const NAMES = ['idempotencyKey', 'source', 'tenantId', 'brandId', 'prospectId']

t.test('a request with another value of any member is another request', async (t) => {
  const service = createService({ store: memoryStore(), background: 'elsewhere' })
  const { tenantId } = await service.createTenant({ name: 'Acme' })
  const { value: group } = await service.createPageGroup({ tenantId, name: 'a', title: 'A' })
  const { pageGroupId } = group
  const { value: page } = await service.createPageWithVersion({ tenantId, pageGroupId })
  const base = {
    tenantId,
    pageGroupId,
    pageId: page.pageId,
    source: 'crm',
    payload: {},
    name: 'n',
    title: 't',
  }
  const keyed = Object.entries(operations as Readonly<Record<string, Operation>>).filter(
    ([, { takes = {} }]) => 'idempotencyKey' in takes,
  )
  t.ok(keyed.length >= 4)
  for (const [name, { ids, body, takes }] of keyed) {
    const entries = { ...ids, ...body?.entries, ...takes }
    const given = Object.fromEntries(
      Object.entries({ ...base }).filter(([member]) => member in entries || member === 'tenantId'),
    )
    const call = service[name as 'createVersion'] as (
      input: object,
    ) => Promise<{ readonly replayed: boolean }>
    for (const member of Object.keys(body?.entries ?? {}).filter((one) => !NAMES.includes(one))) {
      const [first, second] = VALUES[member] ?? []
      t.not(first, undefined, `VALUES has ${member}`)
      const request = { ...given, idempotencyKey: member }
      t.equal((await call({ ...request, [member]: first })).replayed, false, `${name} ${member}`)
      t.equal((await call({ ...request, [member]: first })).replayed, true, `${name} ${member}`)
      const why = await call({ ...request, [member]: second }).catch((why) => why)
      t.equal(why instanceof DomainFailure && why.kind, 'idempotency_key_reused', `${name} ${member}`)
    }
  }
})
