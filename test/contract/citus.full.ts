import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { citusStore } from '../../src/adapters/citus/store.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { sha256 } from '../../src/core/engine/keys.ts'
import { newApiKeyText } from '../../src/core/tenants/api-key-text.ts'
import { fillTenant } from '../store-contract/filled-tenant.ts'
import { verbs } from '../store-contract/verbs.ts'
import { runOn, startCitus, whyNoCitus, workerOf } from '../support/citus.ts'
import { testContractOn } from '../support/contract.ts'
import { diagnosed } from '../support/doctor.ts'
import { SIGNED, signatureOf } from '../support/hooks.ts'
import { fillSource, movedRows, postgresRows } from '../support/moving.ts'
import { paste } from '../support/paste.ts'
import { executionOf } from '../support/plans.ts'
import { postgresBin, startPostgres } from '../support/postgres.ts'
import {
  answerOf,
  caller,
  type Environment,
  newFolder,
  runCommand,
  seed,
  startServer,
  until,
} from '../support/program.ts'
import { connectNoting, POSTGRES_SETTINGS, type Sent } from '../support/stores.ts'

const why = whyNoCitus()
const CITUS = { DATABASE_CLUSTER: 'citus' }
const CALLERS = 24
const ACTIVITY = { source: 'crm', payload: {}, email: 'ada@example.com' }
const A_SECOND = { tries: 40 }
const NOT_COPIED =
  'select 1 from api_keys where not is_copied union all select 1 from hooks where not is_copied'

testContractOn('citus')

t.test('a coordinator and two workers', { skip: why ?? false }, async (t) => {
  const citus = await startCitus()
  t.teardown(citus.stop)
  const { coordinator, workers, preparedTransactions } = citus
  /** A command that is refused, and why. */
  const refused = async (t: Test, args: readonly string[], env: Record<string, string>, remedy: RegExp) => {
    const { code, stderr } = await runCommand(args, { ...env, PORT: '0' })
    t.equal(code, 1, args.join(' '))
    t.match(stderr, remedy)
  }
  const serve = async (t: Test, env: Record<string, string>) => {
    const more = { STATEMENT_MS_MAX: '1000', WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' }
    const server = await startServer(t, { ...more, ...env })
    return server
  }
  const nodesOf = (url: string) => {
    const at = (url: string) => ({ DATABASE_URL: url, ...CITUS })
    const [first, second, third] = citus.atEachNode(url)
    return [at(first), at(second), at(third)] as const
  }
  const goesDown = async (t: Test, node: typeof coordinator) => {
    await node.halt()
    t.teardown(async () => node.isRunning() || (await node.start()))
  }
  /** A receiver of webhooks, which counts them. */
  const startReceiver = async (t: Test) => {
    let received = 0
    const receiver = createServer((_, response) => {
      received++
      response.writeHead(204).end()
    })
    await once(receiver.listen(0, '127.0.0.1'), 'listening')
    t.teardown(async () => receiver.close().closeAllConnections())
    return { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`, received: () => received }
  }
  /** A distributed database with a tenant on each worker; how it is reached at each node. */
  const twoTenants = async () => {
    const nodes = nodesOf(await citus.newDistributed())
    const [env] = nodes
    const tenants: (Awaited<ReturnType<typeof seed>> | undefined)[] = [undefined, undefined]
    while (tenants.includes(undefined)) {
      const seeded = await seed(env)
      tenants[await workerOf(citus, env.DATABASE_URL, seeded.tenantId)] = seeded
    }
    return { env, nodes, tenants: tenants as Awaited<ReturnType<typeof seed>>[] }
  }

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
      t.strictSame(await postgresRows(url), await movedRows(path), `the ${time} time`)
    }
  })

  t.test('each statement for a tenant is one task of one worker, whichever node plans it', async (t) => {
    const url = await citus.newDistributed()
    const sent: Sent[] = []
    const settings = { ...POSTGRES_SETTINGS, url }
    const connectTo = connectNoting(sent)
    const store = citusStore(settings, readMigrations('postgres'), undefined, connectTo)
    t.teardown(store.close)
    const nodes = citus.atEachNode(url).map((url) => openPostgres(url, { max: 1 }))
    t.teardown(() => Promise.all(nodes.map((sql) => sql.end())))
    const things = await fillTenant(store)
    for (const verb of verbs.filter((verb) => verb.serves !== 'commands' && 'toStrangers' in verb)) {
      sent.length = 0
      await verb.ask(store, things.tenant, things)
      t.ok(sent.length > 0, verb.name)
      // No caller waits for a notification, so it may belong to the verb before.
      const asked = sent.filter(({ text }) => !/pg_notify|pg_dist_node|as now$/.test(text))
      for (const { text, parameters } of asked)
        for (const sql of nodes) {
          await sql.unsafe(`prepare ours as ${text}`)
          const rows = await sql.unsafe(`explain ${executionOf('ours', parameters)}`)
          await sql.unsafe('deallocate ours')
          const plan = rows.map((row) => Object.values(row)[0]).join('\n')
          // Rows of a list are distributed by the node that plans it: that of the tenant, where they stay.
          const isDivided = plan.includes('INSERT/SELECT method: pull to coordinator')
          const tasks = [...plan.matchAll(/Task Count: (\d+)/g)].map(([, count]) => count)
          const isOne = (isDivided || tasks.length > 0) && tasks.every((count) => count === '1')
          t.ok(isOne, `${verb.name} sends one task`, { text, plan })
        }
    }
  })

  t.test(
    'no request is a two-phase commit, nor is publishing, however many tenants call at once',
    async (t) => {
      const { env, nodes, tenants } = await twoTenants()
      const servers = await Promise.all(nodes.map((node) => serve(t, node)))
      const before = preparedTransactions()
      const page = async ({ apiKey, pageGroupId }: (typeof tenants)[number], n: number) => {
        const call = caller(String(servers[n % 3]?.url), apiKey)
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
    const { url, received } = await startReceiver(t)
    const server = await serve(t, env)
    const [down, up] = tenants.map(({ apiKey }) => caller(server.url, apiKey))
    await up?.('POST', '/v0/webhook_endpoints', { url, types: ['prospect_log.created'] })
    const log = async (call = up) => (await call?.('POST', '/v0/prospect_logs', ACTIVITY))?.status
    t.strictSame([await log(down), await log(up)], [201, 201])
    await goesDown(t, workers[0])
    t.strictSame([await log(down), await log(up), await log(down), await log(up)], [503, 201, 503, 201])
    t.equal((await fetch(`${server.url}/readyz`)).status, 200, 'it is ready for the others')
    await until('the others get their webhooks', () => received() === 3)
    for (const { apiKeyId } of tenants) await answerOf(['keys', 'revoke', apiKeyId], env)
    for (const call of [down, up])
      await until('the revoked key is refused', async () => (await log(call)) === 401)
  })

  t.test('what is to be copied to a worker that does not answer makes no process unready', async (t) => {
    const { env, nodes, tenants } = await twoTenants()
    const servers = await Promise.all(nodes.slice(0, 2).map((node) => serve(t, node)))
    const newKey = async () => {
      const created = ['keys', 'create', '--tenant', String(tenants[0]?.tenantId)]
      const { apiKey } = await answerOf(created, env)
      const copiedTo = await workerOf(citus, env.DATABASE_URL, sha256(apiKey), 'identity_copies')
      return copiedTo === 1 && apiKey
    }
    const apiKey = await until('a key is copied to the other worker', newKey)
    t.teardown(workers[1].freeze())
    const unready: number[] = []
    for (let n = 0; n < 60; n++) {
      for (const { url } of servers) {
        t.equal((await caller(url, apiKey)('GET', '/v0/page_groups')).status, 200)
        const { status } = await fetch(`${url}/readyz`)
        if (status !== 200) unready.push(status)
      }
      await pause(50)
    }
    t.strictSame(unready, [])
  })

  t.test('a key revoked at any node is refused by the servers of all nodes within a second', async (t) => {
    const { nodes, tenants } = await twoTenants()
    const servers = await Promise.all(nodes.map((node) => serve(t, node)))
    const revokedAt = async (env: Environment) => {
      const created = ['keys', 'create', '--tenant', String(tenants[1]?.tenantId)]
      const { apiKey, apiKeyId } = await answerOf(created, env)
      const answer = (status: number) =>
        servers.map(({ url }) =>
          until(
            `${url} answers ${status}`,
            async () => (await caller(url, apiKey)('GET', '/v0/page_groups')).status === status,
            A_SECOND,
          ),
        )
      await Promise.all(answer(200))
      await answerOf(['keys', 'revoke', apiKeyId], env)
      await t.resolves(Promise.all(answer(401)))
    }
    for (const node of nodes) await revokedAt(node)
    await goesDown(t, workers[0])
    const { failed } = await diagnosed(t, nodes[2])
    t.match(failed[0], { name: 'cluster', detail: /a worker of Citus; 1 of 2 other nodes answer/ })
    for (const node of nodes.toSpliced(1, 1)) await revokedAt(node)
  })

  t.test(
    'a server that starts while the coordinator is down serves the keys and hooks it copied',
    async (t) => {
      const { env, nodes, tenants } = await twoTenants()
      const { url, received } = await startReceiver(t)
      const before = await serve(t, env)
      const send = async (to: string, path: string) => {
        const headers = { 'x-signature': signatureOf('{}'), 'content-type': 'application/json' }
        return (await fetch(to + path, { method: 'POST', body: '{}', headers })).status
      }
      const withHooks = async ({ apiKey, pageGroupId }: (typeof tenants)[number]) => {
        const call = caller(before.url, apiKey)
        await call('POST', '/v0/webhook_endpoints', { url, types: ['page_version.published'] })
        const newHook = async () =>
          (await call('POST', '/v0/hooks', { source: 'vendor', verify: SIGNED })).body
        return { apiKey, pageGroupId, hook: await newHook(), removed: await newHook() }
      }
      const those = await Promise.all(tenants.map(withHooks))
      await until('keys and hooks are copied', async () => {
        for (const { removed } of those) await send(before.url, removed.path)
        return (await runOn(env.DATABASE_URL, [NOT_COPIED])).length === 0
      })
      for (const { apiKey, removed } of those)
        t.equal((await caller(before.url, apiKey)('DELETE', `/v0/hooks/${removed.hookId}`)).status, 204)
      const created = ['keys', 'create', '--tenant', String(tenants[0]?.tenantId)]
      const { apiKey: unknown } = await answerOf(created, env)
      await goesDown(t, coordinator)
      for (const [n, node] of nodes.slice(1).entries()) {
        const server = await serve(t, node)
        for (const { apiKey, pageGroupId, hook, removed } of those) {
          const call = caller(server.url, apiKey)
          t.equal((await call('POST', '/v0/prospect_logs', ACTIVITY)).status, 201)
          t.equal(await send(server.url, hook.path), 200)
          t.equal(await send(server.url, removed.path), 404)
          const pages = `/v0/page_groups/${pageGroupId}/pages`
          const { pageId } = (await call('POST', pages, {})).body
          const read = async () => (await call('GET', `${pages}/${pageId}`)).body
          await until('it is published', async () => (await read()).publishedVersion)
        }
        t.equal((await caller(server.url, unknown)('GET', '/v0/page_groups')).status, 503)
        await until('the webhooks are sent', () => received() === 2 * n + 2)
      }
    },
  )

  t.test('docs/citus.md as pasted makes a cluster whose nodes ask each other for passwords', async (t) => {
    const page = readFileSync(new URL('../../docs/citus.md', import.meta.url), 'utf8')
    const blocks = [...page.matchAll(/^( *)```\w+\n(.*?)^\1```$/gms)].map(([, , text = '']) => text)
    const block = (has: string) => blocks.find((text) => text.includes(has)) ?? has
    const pairs = block('shared_preload_libraries').matchAll(/^ *(\w+) = '?(\w+)/gm)
    const settings = Object.fromEntries([...pairs].map(([, name, value]) => [name, value]))
    const prepare = (folder: string) =>
      writeFileSync(
        join(folder, 'data/pg_hba.conf'),
        'local postgres all trust\nlocal all all scram-sha-256\n',
      )
    const names = ['coordinator', 'worker-1', 'worker-2', 'worker-3'] as const
    const machines = await Promise.all(names.map(() => startPostgres({ settings, prepare })))
    t.teardown(() => Promise.all(machines.map(({ stop }) => stop())))
    const urlOf = (machine: number, user: string) =>
      `postgres://${user}:secret@localhost/prospect_pages?host=${encodeURIComponent(machines[machine]?.folder ?? '')}`
    const pasted = async (machine: number, text: string) => {
      const own = machines.reduce((all, { folder }, n) => all.replace(`${names[n]}.internal`, folder), text)
      const given = own.replaceAll('…', 'secret')
      const isSql = /^ *(select|insert|revoke) /.test(given)
      const { code, stderr } = await paste(
        isSql ? `psql -d prospect_pages -v ON_ERROR_STOP=1 <<'END'\n${given}\nEND` : given,
        {
          PGHOST: machines[machine]?.folder ?? '',
          PGUSER: 'postgres',
          PGPASSWORD: 'secret',
          OWNER_URL: urlOf(0, 'prospect_pages_owner'),
          PATH: `${postgresBin()}:${process.env['PATH']}`,
        },
        join(import.meta.dirname, '../..'),
      )
      t.equal(code, 0, stderr)
    }
    const pastedOn = async (those: readonly number[], text: string) => {
      for (const machine of those) await pasted(machine, text)
    }
    for (const { folder } of machines)
      await runOn(`postgres://postgres@localhost/postgres?host=${encodeURIComponent(folder)}`, [
        "alter role postgres password 'secret'",
        `alter system set citus.local_hostname = '${folder}'`,
        // Few shards to move, and no pause between two of them.
        'alter system set citus.shard_count = 4',
        "alter system set citus.background_task_queue_interval = '100ms'",
        'select pg_reload_conf()',
      ])
    await pastedOn([0, 1, 2], block('create extension'))
    await pasted(0, block('citus_set_coordinator_host'))
    const forRoles = block("values (0, 'prospect_pages_owner'")
    await pastedOn([0, 1, 2], forRoles)
    await pasted(0, block('DATABASE_URL=$OWNER_URL prospect-pages migrate'))

    const at = (machine: number) => ({ DATABASE_URL: urlOf(machine, 'prospect_pages'), ...CITUS })
    const tenants = [await seed(at(0)), await seed(at(1)), await seed(at(2))]
    const servers = await Promise.all([0, 1, 2].map((machine) => serve(t, at(machine))))
    const allAreServed = async () => {
      for (const { url } of servers)
        for (const { apiKey } of tenants)
          t.equal((await caller(url, apiKey)('POST', '/v0/prospect_logs', ACTIVITY)).status, 201)
    }
    await allAreServed()
    await pasted(3, block('create extension'))
    await pasted(0, /`(select citus_add_node.*?)`/.exec(page)?.[1] ?? '')
    await pasted(3, forRoles)
    await pasted(0, block('citus_rebalance_start'))
    await allAreServed()
    for (const [, line = ''] of page.matchAll(/`(select citus_(?:drain|remove)_node.*?)`/g))
      await pasted(0, line)
    await allAreServed()
  })

  t.test(
    'beside a coordinator that is frozen or down, a process is not ready, and serves the tenants of both workers',
    async (t) => {
      const { env, tenants } = await twoTenants()
      // Longer than anything below waits for.
      const server = await serve(t, { ...env, STATEMENT_MS_MAX: '20000' })
      const readiness = async () =>
        (await fetch(`${server.url}/readyz`, { signal: AbortSignal.timeout(10_000) })).status
      const log = async ({ apiKey }: (typeof tenants)[number]) =>
        (await caller(server.url, apiKey)('POST', '/v0/prospect_logs', ACTIVITY)).status
      const freeze = async () => coordinator.freeze()
      const halt = async () => {
        await goesDown(t, coordinator)
        return coordinator.start
      }
      for (const harm of [freeze, halt]) {
        await until('keys are copied', async () => {
          await Promise.all(tenants.map(log))
          return (await runOn(env.DATABASE_URL, [NOT_COPIED])).length === 0
        })
        const undo = await harm()
        await until('it is unready', async () => (await readiness()) === 503)
        for (const tenant of tenants) t.equal(await log(tenant), 201)
        await undo()
        await until('it is ready again', async () => (await readiness()) === 200)
      }
    },
  )

  t.test('a key revoked while the worker with its copy is down is refused for ever', async (t) => {
    const { env, nodes, tenants } = await twoTenants()
    const { apiKey = '', apiKeyId = '' } = tenants[0] ?? {}
    const copy = `from api_keys where is_copied and api_key_id = '${apiKeyId}'`
    const isCopied = async () => (await runOn(env.DATABASE_URL, [`select key_hash ${copy}`]))[0]
    const status = async (url: string, key = apiKey) =>
      (await caller(url, key)('GET', '/v0/page_groups')).status
    const before = await serve(t, env)
    t.equal(await status(before.url), 200)
    const { keyHash } = await until('its copy is made', isCopied)
    const away = await workerOf(citus, env.DATABASE_URL, String(keyHash), 'identity_copies')
    await goesDown(t, workers[away as 0 | 1])
    await answerOf(['keys', 'revoke', apiKeyId], env)
    await until('it is refused', async () => (await status(before.url)) === 401)
    t.notOk(await isCopied())
    await workers[away as 0 | 1].start()
    await until('its copy is made up for', async () => {
      await status(before.url, newApiKeyText())
      return isCopied()
    })
    await goesDown(t, coordinator)
    for (const node of nodes.slice(1)) t.equal(await status((await serve(t, node)).url), 401)
  })
})
