import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { createLog } from '../../src/adapters/log.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { compose, createRuntime } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { requestErasure } from '../../src/core/erasures/request-erasure.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import { createWebhookEndpoint } from '../../src/core/webhooks/create-webhook-endpoint.ts'
import { webhookTools } from '../../src/service/webhook-tools.ts'
import { databaseAt, type Environment, embeddedDatabase, until } from './program.ts'

const TENANTS = 50
/** Optional columns of an endpoint, which these leave empty. */
export const UNFILTERED = {
  types: null,
  sources: null,
  logTypes: null,
  headers: null,
  description: null,
  method: 'POST',
  body: null,
} as const
/** Requests of one tenant. The others send none. */
export const FLOOD = 300
/** Nothing listens there. */
const DEAD = 'http://127.0.0.1:9/webhooks'
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

/**
 * Fills a database with tenants and breaks what a night can break, each for another tenant, by the kind of what `status` then
 * finds. No server may run on it: it would mend some of this. `release` ends the lock, of PostgreSQL only.
 */
export const breakService = async (env: Environment) => {
  const config = readConfig({ WEBHOOKS_ALLOWED_HOSTS: '127.0.0.1', METRICS: 'off', ...env })
  const { database } = config
  if (database.kind === 'memory') throw new Error('Nothing of memory: would be left.')
  const { rows } = database.kind === 'postgres' ? databaseAt(database.url) : embeddedDatabase(database.path)
  const world = await createRuntime(config, createLog('silent'))
  const service = compose(config, world)
  const { useCases } = service
  await service.start()
  const names = Array.from({ length: TENANTS }, (_, i) => `O'Brien & "Sons" $(${i})`)
  const tenants = await Promise.all(names.map((name) => createTenant(world)({ name })))
  const tenantAt = (i: number) => tenants[i]?.tenantId ?? ''
  const newEndpoint = UNFILTERED

  const unreached = tenantAt(7)
  const { value: endpoint } = await useCases.createWebhookEndpoint({
    tenantId: unreached,
    url: DEAD,
    ...newEndpoint,
  })
  const activity = { source: 'crm', type: 'signup', payload: { rawJson: '{}' }, apiKeyId: null }
  for (let sent = 0; sent < 6; sent++)
    await useCases.logProspectActivity({ tenantId: unreached, ...activity, email: 'ada@example.com' })

  const pages = []
  for (const tenantId of [tenantAt(11), tenantAt(12)]) {
    const { value: pageGroup } = await useCases.createPageGroup({ tenantId, name: 'offers', title: 'Offers' })
    const { pageGroupId } = pageGroup
    pages.push((await useCases.createPageWithVersion({ tenantId, pageGroupId })).value.pageId)
  }

  const erased = tenantAt(20)
  const person = { email: 'eve@example.com', blockDays: 30, apiKeyId: null }
  const { erasureId } = (await requestErasure(world)({ tenantId: erased, ...person })).value

  const newKey = (tenantId: string, name: string) =>
    issueApiKey(world)({ tenantId, name, scopes: SCOPES, lifeMs: null })
  const leaked = await newKey(tenantAt(25), 'leaked')
  const flooder = await newKey(tenantAt(45), 'flooding')
  for (let sent = 0; sent < FLOOD; sent++)
    await service.api({
      method: 'GET',
      target: '/v0/page_groups',
      headers: { 'x-api-key': flooder.apiKey },
    })

  const lost = tenantAt(30)
  const otherKey = webhookTools({ secretsKey: randomBytes(32) }, world.clock)
  const elsewhere = { tenantId: lost, url: 'https://crm.example/webhooks', ...newEndpoint }
  await createWebhookEndpoint({ ...world, webhooks: otherKey })(elsewhere)

  const refused = tenantAt(40)
  const verify = { preset: 'github', secret: 'a secret of the vendor' } as const
  const { value: hook } = await useCases.createHook({
    tenantId: refused,
    source: 'git',
    description: null,
    verify,
    map: {},
    each: null,
  })
  await service.api({
    method: 'POST',
    target: `/hooks/${hook.hookId}`,
    headers: { 'x-hub-signature-256': 'sha256=00' },
    body: { bytesMax: 1_024, batchBytesMax: 1_024, read: async () => Buffer.from('{}') },
  })

  const nameless = tenantAt(41)
  const form = await useCases.createHook({
    tenantId: nameless,
    source: 'contact',
    description: null,
    verify: { token: true },
    map: { email: ['/email'] },
    each: null,
  })
  await service.api({
    method: 'POST',
    target: form.value.path,
    headers: {},
    body: {
      bytesMax: 1_024,
      batchBytesMax: 1_024,
      read: async () => Buffer.from('{"mail":"ada@example.com"}'),
    },
  })

  await until(
    'the receiver has failed, and the hooks have refused and warned',
    async () => {
      const [found] = await rows<{ count: number }>(`
      select count(*) as count from webhook_endpoints, hooks
      where webhook_endpoint_id = '${endpoint.webhookEndpointId}' and failures >= 5 and last_refused_at is not null
        and exists (select 1 from hooks where last_warned_at is not null)`)
      return Number(found?.count) > 0
    },
    { tries: 1_200, pauseMs: 50 },
  )
  await service.close()

  const [failed = '', stuck = ''] = pages
  await rows(`
    update webhook_deliveries set status = 'failed', next_attempt_at = null
    where event_id = (select max(event_id) from webhook_deliveries)`)
  await rows(`
    update page_versions set status = 'failed', failure_reason = 'Gave up.', published_at = null where page_id = '${failed}'`)
  await rows(`
    update page_versions set status = 'processing', published_at = null, claimable_at = '${hoursAgo(1)}' where page_id = '${stuck}'`)
  await rows(`
    update erasures set status = 'processing', completed_at = null, requested_at = '${hoursAgo(50)}'
    where erasure_id = '${erasureId}'`)
  const ofTenant = (i: number) => ({ tenantId: tenantAt(i), tenant: names[i] })
  const broken: Readonly<Record<string, { readonly tenantId: string; readonly tenant: string | undefined }>> =
    {
      'webhook endpoint': ofTenant(7),
      'failed deliveries': ofTenant(7),
      'failed version': ofTenant(11),
      'stuck version': ofTenant(12),
      erasure: ofTenant(20),
      secret: ofTenant(30),
      hook: ofTenant(40),
      'hook warning': ofTenant(41),
    }
  const release = database.kind === 'postgres' ? await lockVersions(database.url) : async () => {}
  return { broken, leaked, flooder, release }
}

/** As an operator does who leaves the table locked and goes home. */
const lockVersions = async (url: string) => {
  const sql = openPostgres(url, { max: 1, connection: { application_name: 'a forgotten psql' } })
  await sql.unsafe('begin; lock table page_versions in access exclusive mode')
  return () => sql.end({ timeout: 1 })
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { 'database-url': { type: 'string' } } })
  const DATABASE_URL = values['database-url'] ?? ''
  const { SECRETS_KEY = '' } = process.env
  const { broken, leaked, flooder } = await breakService({ DATABASE_URL, SECRETS_KEY })
  console.log({ ...broken, leaked, flooder })
  if (DATABASE_URL.startsWith('postgres')) console.log('page_versions is locked until Ctrl-C')
}
