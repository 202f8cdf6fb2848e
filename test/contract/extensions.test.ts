import t from 'tap'
import { endPool, openPostgres } from '../../src/adapters/postgres/open.ts'
import { sharedPostgres, whyNoPostgres } from '../support/postgres.ts'
import { openServer, until } from '../support/program.ts'

const skip = whyNoPostgres() ?? false
const ADA = 'ada@example.com'

t.test('the service needs no extension, not even plpgsql', { skip }, async (t) => {
  const postgres = await sharedPostgres()
  t.teardown(postgres.stop)
  const url = await postgres.newDatabase()
  const admin = openPostgres(url, { max: 1 })
  t.teardown(() => endPool(admin, 1))
  await admin.unsafe('drop extension plpgsql')
  t.strictSame([...(await admin.unsafe('select extname from pg_extension'))], [])

  const { server, call, pagesPath } = await openServer(t, { env: { DATABASE_URL: url } })
  const post = async (path: string, body: object) => {
    const { status, body: answer } = await call('POST', path, body)
    t.ok([200, 201, 202].includes(status), `${path} ${status}`)
    return answer
  }
  const endpoint = await post('/v0/webhook_endpoints', { url: 'https://example.com/hook' })
  await post('/v0/hooks', { source: 'form', verify: { token: true } })
  const log = await post('/v0/prospect_logs', { source: 'crm', email: ADA, payload: {} })
  const bob = await post('/v0/prospects', { externalId: 'bob' })
  await post(`/v0/prospects/${bob.prospectId}/merge`, { into: log.prospectId })
  const page = await post(pagesPath, { supplementaryContext: 'The spring sale' })
  const pagePath = `${pagesPath}/${page.pageId}`
  await until('the page is published', async () => (await call('GET', pagePath)).body.publishedVersion)
  t.equal((await call('PATCH', pagePath, { customName: 'Spring' })).status, 200)
  t.equal((await call('DELETE', pagePath)).status, 204)
  const events = async () => (await call('GET', '/v0/events')).body.items
  await until('the events are numbered', async () => (await events()).length > 0)
  t.equal((await call('DELETE', `/v0/webhook_endpoints/${endpoint.webhookEndpointId}`)).status, 204)
  const erasure = await post('/v0/erasures', { prospectId: log.prospectId })
  const erasurePath = `/v0/erasures/${erasure.erasureId}`
  const isErased = async () => (await call('GET', erasurePath)).body.status === 'completed'
  await until('the person is erased', isErased)
  t.ok((await fetch(`${server.url}/readyz`)).ok)
  const failed = server.logs().filter(({ level }) => level >= 50)
  t.strictSame(failed, [])
  t.equal(await server.stop(), 0)
})
