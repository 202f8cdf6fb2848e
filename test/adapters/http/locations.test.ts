import t from 'tap'
import { ROUTES } from '../../../src/adapters/http/routes.ts'
import { openScene } from '../../support/api.ts'

t.test('201: every created resource that has a path of its own is read at its Location', async (t) => {
  const { call, newGroup, newPage } = await openScene()
  const { pageGroupId } = await newGroup()
  const { pageId } = await newPage(pageGroupId, { slug: 'sale' })
  const pages = `/v0/page_groups/${pageGroupId}/pages`
  const bodies: Readonly<Record<string, { readonly path: string; readonly json: object }>> = {
    logProspectActivity: { path: '/v0/prospect_logs', json: { source: 'crm', payload: {} } },
    createProspect: { path: '/v0/prospects', json: { email: 'ada@example.com' } },
    createPageGroup: { path: '/v0/page_groups', json: { name: 'a', title: 'A' } },
    createPageWithVersion: { path: pages, json: {} },
    createVersion: { path: `${pages}/${pageId}/versions`, json: {} },
    createWebhookEndpoint: { path: '/v0/webhook_endpoints', json: { url: 'https://example.com/' } },
    createHook: { path: '/v0/hooks', json: { source: 'stripe', verify: { preset: 'stripe', secret: 's' } } },
  }
  const creating = ROUTES.filter(({ status, item }) => status === 201 && !item)
  t.strictSame(new Set(creating.map(({ operationId }) => operationId)), new Set(Object.keys(bodies)))
  for (const [operationId, { path, json }] of Object.entries(bodies)) {
    const created = await call(`POST ${path}`, { json })
    t.equal(created.status, 201, operationId)
    const location = created.headers['location'] ?? ''
    t.ok(location.startsWith(`${path}/`), operationId)
    const read = await call(`GET ${location}`)
    t.equal(read.status, 200, operationId)
    const [id = ''] = Object.entries(created.json).find(([, value]) => location.endsWith(`/${value}`)) ?? []
    t.equal(read.json[id], created.json[id], operationId)
  }
})

t.test('a Location begins with the path at which the API is mounted, also of a replay', async (t) => {
  const { call } = await openScene()
  const sent = { json: { name: 'a', title: 'A' }, headers: { 'idempotency-key': 'one' }, basePath: '/crm' }
  const { json, headers } = await call('POST /v0/page_groups', sent)
  t.equal(headers['location'], `/crm/v0/page_groups/${json['pageGroupId']}`)
  t.equal((await call('POST /v0/page_groups', sent)).headers['location'], headers['location'])
})

t.test('200 and batches have no Location', async (t) => {
  const { call } = await openScene()
  const prospect = { json: { email: 'ada@example.com' } }
  await call('POST /v0/prospects', prospect)
  const again = await call('POST /v0/prospects', prospect)
  t.strictSame([again.status, again.headers['location']], [200, undefined])
  const batch = await call('POST /v0/prospect_logs/batch', {
    json: { items: [{ source: 'crm', payload: {} }] },
  })
  t.strictSame([batch.status, batch.headers['location']], [201, undefined])
})
