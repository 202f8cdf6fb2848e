import t from 'tap'
import { resumeTenant } from '../../../src/core/tenants/resume-tenant.ts'
import { suspendTenant } from '../../../src/core/tenants/suspend-tenant.ts'
import { openScene } from '../../support/api.ts'
import { hooksOver } from '../../support/hooks.ts'

t.test('403: keys and hooks of a suspended tenant are refused until it is resumed', async (t) => {
  const scene = await openScene()
  const { api, owner, call, answered } = scene
  const other = await scene.newTenant()
  const { create, send } = hooksOver(api, owner.apiKey)
  const { path } = await create({ verify: { token: true } })

  await suspendTenant(scene)(owner.tenantId)
  for (const target of ['/v0/page_groups', '/v0/api_keys/self', '/v0/prospects/unknown'])
    t.match((await call(`GET ${target}`)).json, { status: 403, code: 'tenant_suspended' }, target)
  t.match((await send(path)).json, { status: 403, code: 'tenant_suspended' })
  t.match((await send(path, '', {}, 'GET')).status, 403)
  t.match(answered.at(-1), { tenantId: owner.tenantId, code: 'tenant_suspended' }, 'the log names it')
  t.equal((await call('GET /v0/page_groups', { key: other.apiKey })).status, 200)

  await resumeTenant(scene)(owner.tenantId)
  t.equal((await call('GET /v0/page_groups')).status, 200)
  t.equal((await send(path)).status, 200)
})

t.test('429: requests of a suspended tenant count for the rate limit', async (t) => {
  const scene = await openScene({ rateLimitPerMinute: 2 })
  const { api, owner, call } = scene
  const { create, send } = hooksOver(api, owner.apiKey)
  const { path } = await create({ verify: { token: true } })
  await suspendTenant(scene)(owner.tenantId)
  // The limit is of each key and each hook. The key has already made one of its two requests: it created the hook.
  for (const status of [403, 429, 429, 429]) t.equal((await call('GET /v0/page_groups')).status, status)
  for (const status of [403, 403, 429, 429]) t.equal((await send(path)).status, status)
})
