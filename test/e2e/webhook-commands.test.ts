import { join } from 'node:path'
import t from 'tap'
import {
  caller,
  embeddedDatabase,
  linesOf,
  newFolder,
  runCommand,
  seed,
  startProgram,
  until,
} from '../support/program.ts'

t.setTimeout(0)

type Event = { readonly sequence: number; readonly type: string; readonly data: object }
type Delivery = { readonly eventId: string; readonly status: string; readonly lastError: string }

t.test('events and webhooks on the command line', async (t) => {
  const { env } = embeddedDatabase(join(newFolder(t), 'test.db'))
  const { tenantId, apiKey } = await seed(env)
  const program = await startProgram(t, { ...env, WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' })
  await program.ready()
  const call = caller(program.url, apiKey)
  // Nobody listens there.
  const url = 'http://127.0.0.1:1/hooks'
  const { webhookEndpointId } = (await call('POST', '/v0/webhook_endpoints', { url })).body
  for (let i = 0; i < 110; i++) await call('POST', '/v0/prospect_logs', { source: 'crm', payload: { i } })

  const run = async (args: string) => {
    const { code, stdout, stderr } = await runCommand([...args.split(' '), '--tenant', tenantId], env)
    t.match({ code, stderr }, { code: 0, stderr: '' }, args)
    return linesOf(stdout)
  }

  t.test('the whole feed is printed, oldest first', async (t) => {
    const all = (await until('every event has its number', async () => {
      const events = await run('events list')
      return events.length === 220 && events
    })) as Event[]
    t.strictSame(
      all.map(({ sequence }) => sequence),
      Array.from({ length: 220 }, (_, i) => i + 1),
    )
    const logged = (await run('events list --types prospect_log.created')) as Event[]
    t.equal(logged.length, 110)
    t.match(logged[109], { type: 'prospect_log.created', data: { payload: { i: 109 } } })
  })

  t.test('endpoints and all their deliveries are listed, and replayed', async (t) => {
    t.match(await run('webhooks list'), [{ webhookEndpointId, url, status: 'enabled' }])
    const deliveries = `webhooks deliveries ${webhookEndpointId}`
    const all = (await run(deliveries)) as Delivery[]
    t.equal(all.length, 220)
    const ids = all.map(({ eventId }) => eventId)
    t.strictSame(ids, ids.toSorted().reverse(), 'newest first')
    const isTried = async () =>
      ((await run(`${deliveries} --status pending`)) as Delivery[]).find(({ lastError }) => lastError)
    t.match(await until('one was tried', isTried), { lastError: /ECONNREFUSED/ })
    t.strictSame(await run(`${deliveries} --status delivered`), [])
    const replay = `webhooks replay ${webhookEndpointId} --since 2026-01-01T00:00:00Z`
    t.strictSame(await run(replay), [{ deliveries: 220 }], 'all are due')
    t.strictSame(await run(`${replay} --all`), [{ deliveries: 220 }])
  })

  t.test('a disabled endpoint must be enabled before a replay', async (t) => {
    const path = `/v0/webhook_endpoints/${webhookEndpointId}`
    await call('PATCH', path, { status: 'disabled' })
    const replay = `webhooks replay ${webhookEndpointId} --since 2026-01-01T00:00:00Z --tenant ${tenantId}`
    const { code, stderr } = await runCommand(replay.split(' '), env)
    const refusal = { code: 'webhook_endpoint_disabled', detail: 'Enable the endpoint first.' }
    t.match([code, JSON.parse(stderr)], [1, refusal])
    await call('PATCH', path, { status: 'enabled' })
  })

  t.test('what does not exist is refused', async (t) => {
    const refused = [
      ['webhooks list --tenant tenant_x', 'not_found'],
      ['events list --tenant tenant_x', 'not_found'],
      [`webhooks deliveries x --tenant ${tenantId}`, 'webhook_endpoint_not_found'],
      [`webhooks replay x --since 2026-01-01T00:00:00Z --tenant ${tenantId}`, 'webhook_endpoint_not_found'],
    ] as const
    const check = async ([args, expected]: readonly [string, string]) => {
      const { code, stderr } = await runCommand(args.split(' '), env)
      t.match([code, JSON.parse(stderr).code], [1, expected], args)
    }
    await Promise.all(refused.map(check))
  })

  t.test('an option that is none of those there are is incorrect use', async (t) => {
    for (const args of ['events list --types x,y', `webhooks deliveries ${webhookEndpointId} --status x`]) {
      const { code, stderr } = await runCommand([...args.split(' '), '--tenant', tenantId], env)
      const detail = /^--(types|status) must be one of [^;]*[a-z]$/
      t.match([code, JSON.parse(stderr)], [2, { code: 'wrong_use', detail }], args)
    }
  })
})
