import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { fillTenant, verbs } from '../store-contract/verbs.ts'
import { distribute, runOn, startCitus, whyNoCitus, workerOf } from '../support/citus.ts'
import { testContractOn } from '../support/contract.ts'
import { diagnosed } from '../support/doctor.ts'
import { fillSource, postgresRows, sqliteRows } from '../support/moving.ts'
import { executionOf } from '../support/plans.ts'
import { answerOf, caller, newFolder, runCommand, seed, startProgram, until } from '../support/program.ts'
import { POSTGRES_SETTINGS, type Sent } from '../support/stores.ts'
import { useEverything } from '../support/use-everything.ts'

const why = whyNoCitus()
if (why !== null) process.stderr.write(`${why}\n`)
const ROLES = readFileSync(new URL('../../sql/roles.sql', import.meta.url), 'utf8')
const CITUS = { DATABASE_CLUSTER: 'citus' }
const CALLERS = 24

testContractOn('citus')

t.test('a coordinator and two workers', { skip: why ?? false }, async (t) => {
  const citus = await startCitus()
  t.teardown(citus.stop)
  const { workers, preparedTransactions } = citus
  /** A command that is refused, and why. */
  const refused = async (t: Test, args: readonly string[], env: Record<string, string>, remedy: RegExp) => {
    const { code, stderr } = await runCommand(args, { ...env, PORT: '0' })
    t.equal(code, 1, args.join(' '))
    t.match(stderr, remedy)
  }
  const serve = async (t: Test, env: Record<string, string>) => {
    const server = await startProgram(t, { ...env, STATEMENT_MS_MAX: '1000' })
    await server.ready()
    return server
  }
  /** A distributed database with a tenant on each worker. */
  const twoTenants = async () => {
    const env = { DATABASE_URL: await citus.newDistributed(), ...CITUS }
    const tenants: (Awaited<ReturnType<typeof seed>> | undefined)[] = [undefined, undefined]
    while (tenants.includes(undefined)) {
      const seeded = await seed(env)
      tenants[await workerOf(citus, env.DATABASE_URL, seeded.tenantId)] = seeded
    }
    return { env, tenants: tenants as Awaited<ReturnType<typeof seed>>[] }
  }

  t.test('a database is migrated, distributed, given to its roles, and used for everything', async (t) => {
    const url = await citus.newDatabase()
    await runOn(url, [
      'create role prospect_pages_owner login',
      'create role prospect_pages login',
      'grant create on schema public to prospect_pages_owner',
    ])
    const as = (role: string) => ({ DATABASE_URL: url.replace('postgres@', `${role}@`), ...CITUS })
    const [owner, server] = [as('prospect_pages_owner'), as('prospect_pages')]
    t.match(await answerOf(['migrate'], owner), { applied: ['0001_init.sql'] })
    await refused(t, ['serve'], owner, /sql\/citus\.sql/)
    t.match((await diagnosed(t, owner)).failed, [{ remedy: /sql\/citus\.sql/ }, { name: 'durability' }])
    await distribute(owner.DATABASE_URL)
    await runOn(owner.DATABASE_URL, ['begin', ...ROLES.split(/;$/m), 'commit'])
    await useEverything(t, server)
    t.match((await diagnosed(t, server)).failed, [{ name: 'durability' }], 'fsync is off here')
  })

  t.test('a setting that is not what the database is refuses it, with the remedy', async (t) => {
    const distributed = { DATABASE_URL: await citus.newDistributed() }
    await runOn(distributed.DATABASE_URL, ['create database plain'])
    const plain = { DATABASE_URL: distributed.DATABASE_URL.replace(/test_\w+/, 'plain') }
    await answerOf(['migrate'], plain)
    for (const [env, remedy] of [
      [distributed, /DATABASE_CLUSTER=citus/],
      [{ ...plain, ...CITUS }, /DATABASE_CLUSTER/],
    ] as const) {
      for (const command of ['serve', 'migrate', 'tenants list'])
        await refused(t, command.split(' '), env, remedy)
      t.match((await diagnosed(t, env)).failed[0], { remedy })
    }
  })

  t.test('everything moves into it from the embedded database, byte for byte', async (t) => {
    const path = join(newFolder(t), 'test.db')
    await fillSource(path, 500)
    const url = await citus.newDistributed()
    const args = ['move', '--from', `sqlite:${path}`, '--to', url]
    for (const time of ['first', 'second']) {
      await answerOf(args, CITUS)
      t.strictSame(await postgresRows(url), await sqliteRows(path), `the ${time} time`)
    }
  })

  t.test('each statement for a tenant is one task of one worker', async (t) => {
    const url = await citus.newDistributed()
    const sent: Sent[] = []
    const onStatement = (text: string, parameters: readonly unknown[]) => sent.push({ text, parameters })
    const store = postgresStore(
      { ...POSTGRES_SETTINGS, url, cluster: 'citus', onStatement },
      readMigrations('postgres'),
    )
    t.teardown(store.close)
    const sql = openPostgres(url, { max: 1, onnotice: () => {} })
    t.teardown(() => sql.end())
    const things = await fillTenant(store)
    for (const verb of verbs.filter((verb) => verb.serves !== 'commands' && 'toStrangers' in verb)) {
      sent.length = 0
      await verb.ask(store, things.tenant, things)
      t.ok(sent.length > 0, verb.name)
      for (const { text, parameters } of sent) {
        // Nobody waits for this, so it may belong to the verb before.
        if (text.includes('pg_notify')) continue
        await sql.unsafe(`prepare ours as ${text}`)
        const rows = await sql.unsafe(`explain ${executionOf('ours', parameters)}`)
        await sql.unsafe('deallocate ours')
        const plan = rows.map((row) => Object.values(row)[0]).join('\n')
        const tasks = [...plan.matchAll(/Task Count: (\d+)/g)].map(([, count]) => count)
        t.ok(tasks.length > 0 && tasks.every((count) => count === '1'), `${verb.name} sends one task`, {
          text,
          plan,
        })
      }
    }
  })

  t.test(
    'no request is a two-phase commit, nor is publishing, however many tenants call at once',
    async (t) => {
      const { env, tenants } = await twoTenants()
      const server = await serve(t, env)
      const before = preparedTransactions()
      const page = async ({ apiKey, pageGroupId }: (typeof tenants)[number], n: number) => {
        const call = caller(server.url, apiKey)
        const pages = `/v0/page_groups/${pageGroupId}/pages`
        const activity = { source: 'crm', payload: {}, email: `${n % 4}@example.com`, idempotencyKey: `${n}` }
        t.equal((await call('POST', '/v0/prospect_logs', activity)).status, 201)
        const created = await call('POST', pages, {}, { 'idempotency-key': `${n}` })
        t.equal((await call('GET', '/v0/page_groups')).body.items[0].pageGroupId, pageGroupId)
        t.equal((await call('GET', pages)).status, 200)
        await until('it is published', async () => {
          const read = await call('GET', `${pages}/${created.body.pageId}`)
          return read.body.publishedVersion
        })
      }
      const calls = Array.from({ length: CALLERS }, (_, n) => tenants.map((tenant) => page(tenant, n)))
      await Promise.all(calls.flat())
      t.equal(preparedTransactions() - before, 0)
      await answerOf(['tenants', 'create', '--name', 'Another'], env)
      await until('it shows that it counts', () => preparedTransactions() > before)
    },
  )

  t.test('while a worker is down its tenants get 503, others are served, keys are revoked', async (t) => {
    const { env, tenants } = await twoTenants()
    let received = 0
    const receiver = createServer((_, response) => {
      received++
      response.writeHead(204).end()
    })
    await once(receiver.listen(0, '127.0.0.1'), 'listening')
    t.teardown(async () => receiver.close().closeAllConnections())
    const server = await serve(t, { ...env, WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' })
    const [down, up] = tenants.map(({ apiKey }) => caller(server.url, apiKey))
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
    await up?.('POST', '/v0/webhook_endpoints', { url, types: ['prospect_log.created'] })
    const activity = { source: 'crm', payload: {}, email: 'ada@example.com' }
    const log = async (call = up) => (await call?.('POST', '/v0/prospect_logs', activity))?.status
    t.strictSame([await log(down), await log(up)], [201, 201])
    await workers[0].halt()
    t.teardown(workers[0].start)
    t.strictSame([await log(down), await log(up), await log(down), await log(up)], [503, 201, 503, 201])
    t.equal((await fetch(`${server.url}/readyz`)).status, 200, 'it is ready for the others')
    await until('the others get their webhooks', () => received === 3)
    for (const { apiKeyId } of tenants) await answerOf(['keys', 'revoke', apiKeyId], env)
    for (const call of [down, up])
      await until('the revoked key is refused', async () => (await log(call)) === 401)
  })
})
