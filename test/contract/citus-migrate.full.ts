import { join } from 'node:path'
import t, { type Test } from 'tap'
import { migrateCluster } from '../../src/adapters/citus/migrate.ts'
import { PLACES, tablesPlacedBy } from '../../src/adapters/citus/placement.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { refusalOf } from '../core/scene.ts'
import { runOn, startCitus, whyNoCitus } from '../support/citus.ts'
import { diagnosed } from '../support/doctor.ts'
import { fillSource, movedRows, postgresRows } from '../support/moving.ts'
import { answerOf, caller, newFolder, runCommand, seed, startServer } from '../support/program.ts'
import { useEverything } from '../support/use-everything.ts'

const MIGRATIONS = readMigrations('postgres')
const CITUS = { DATABASE_CLUSTER: 'citus' }
const MERGES = /create table merges .*?(?=-- Erasures of people)/s.exec(MIGRATIONS[0]?.sql ?? '')?.[0] ?? ''
const silent = () => {}

t.test('migrating a coordinator and two workers', { skip: whyNoCitus() ?? false }, async (t) => {
  const citus = await startCitus()
  t.teardown(citus.stop)
  const { coordinator, workers } = citus
  const nodesOf = (url: string) => {
    const at = (url: string) => ({ DATABASE_URL: url, ...CITUS })
    const [first, second] = citus.atEachNode(url)
    return [at(first), at(second)] as const
  }
  const refused = async (t: Test, args: readonly string[], env: Record<string, string>, reason: RegExp) => {
    const { code, stderr } = await runCommand(args, { ...env, PORT: '0' })
    t.equal(code, 1, args.join(' '))
    t.match(stderr, reason)
  }
  const distributed = async (url: string) => {
    const rows = await runOn(url, ['select logicalrelid::text as name from pg_dist_partition'])
    return rows.map(({ name }) => name).sort()
  }

  t.test(
    'migrate creates the tables, distributes them and grants the serving role its privileges',
    async (t) => {
      const url = await citus.newDatabase()
      await runOn(url, [
        'create role prospect_pages_owner login',
        'create role prospect_pages login',
        'grant create on schema public to prospect_pages_owner',
      ])
      const as = (role: string) => nodesOf(url.replace('postgres@', `${role}@`))
      const [owner, ownerAtWorker] = as('prospect_pages_owner')
      const [, server] = as('prospect_pages')
      const applied = MIGRATIONS.map(({ name }) => name)
      const tables = Object.keys(PLACES)

      const elsewhere = new RegExp(`the coordinator, ${coordinator.folder}:5432`)
      for (const more of [[], ['--dry-run']]) await refused(t, ['migrate', ...more], ownerAtWorker, elsewhere)
      const plan = { pending: applied, distribute: tables, withRows: [], grant: 'prospect_pages' }
      t.match(await answerOf(['migrate', '--dry-run'], owner), plan)
      t.strictSame(await distributed(url), [], 'it changes nothing')
      const changes = await answerOf(['migrate'], owner)
      t.match(changes, { applied, granted: 'prospect_pages', detail: 'migrated' })
      t.ok(changes.distributed.includes('identity_copies'))
      t.strictSame(await distributed(url), tables.toSorted())

      const nothing = { applied: [], distributed: [], granted: null, detail: /^nothing to do/ }
      t.match(await answerOf(['migrate'], owner), nothing)
      t.match(await answerOf(['migrate', '--dry-run'], owner), { pending: [], distribute: [], grant: null })
      await runOn(url, [
        'revoke insert on tenants from prospect_pages',
        'revoke delete on pages from prospect_pages',
      ])
      t.match(await answerOf(['migrate'], owner), {
        ...nothing,
        granted: 'prospect_pages',
        detail: 'migrated',
      })
      const mayCreate = `select has_table_privilege('prospect_pages', 'tenants', 'insert') as may`
      t.strictSame(await runOn(url, [mayCreate]), [{ may: false }], 'privileges for commands stay revoked')
      await runOn(url, ['grant insert on tenants to prospect_pages'])
      await useEverything(t, server)
      t.match((await diagnosed(t, server)).failed, [{ name: 'durability' }], 'fsync is off here')
    },
  )

  t.test(
    'a table that was left out is named by doctor and by the start, and distributed by migrate',
    async (t) => {
      const url = await citus.newDistributed()
      const [env, worker] = nodesOf(url)
      await runOn(url, ['drop table merges', ...MERGES.split(/;$/m)])
      for (const node of [env, worker]) {
        t.match((await diagnosed(t, node)).failed[0], {
          detail: /not distributed the table merges$/,
          remedy: /migrate/,
        })
        for (const command of ['serve', 'tenants list'])
          await refused(
            t,
            command.split(' '),
            node,
            /not distributed the table merges\. .*prospect-pages migrate/,
          )
      }
      t.match(await answerOf(['migrate'], env), { applied: [], distributed: ['merges'] })
      t.match((await diagnosed(t, worker)).failed, [{ name: 'durability' }])
    },
  )

  t.test('while a node is away migrate names it, and once it is back goes on where it stopped', async (t) => {
    const url = await citus.newDatabase()
    const [env] = nodesOf(url)
    await workers[1].halt()
    const named = new RegExp(`${workers[1].folder}:5432`)
    await refused(t, ['migrate'], env, named)
    t.strictSame(await runOn(url, ["select to_regclass('tenants')::text as name"]), [{ name: null }])
    await workers[1].start()
    let steps = 0
    let halted: Promise<void> | undefined
    const onDistributed = () => {
      if (++steps === 5) halted = workers[1].halt()
    }
    const refusal = await refusalOf(migrateCluster(url, MIGRATIONS, silent, { onDistributed }))
    t.match(refusal, { kind: 'unavailable', message: named })
    await halted
    const before = await distributed(url)
    t.ok(before.length >= 6 && before.length < Object.keys(PLACES).length, `${before.length} are distributed`)
    await refused(t, ['serve'], env, /has not distributed the tables/)
    await workers[1].start()
    const after = await answerOf(['migrate'], env)
    t.strictSame(await distributed(url), Object.keys(PLACES).sort())
    t.notOk(after.distributed.includes('tenants'))
  })

  t.test('tables with rows are distributed only if that is asked for, and every row with them', async (t) => {
    const path = join(newFolder(t), 'test.db')
    await fillSource(path, 500)
    const url = await citus.newDatabase()
    const [env] = nodesOf(url)
    await answerOf(['move', '--from', `sqlite:${path}`, '--to', url], {})
    const expected = await movedRows(path)
    await refused(
      t,
      ['migrate'],
      env,
      /rows in the tables brands, page_groups.* bytes to copy .* roughly \d+ s.*--distribute/,
    )
    t.strictSame(await distributed(url), [], 'nothing was changed')
    const plan = await answerOf(['migrate', '--dry-run'], env)
    t.match(plan, { pending: [], distribute: Object.keys(PLACES) })
    t.match(plan.withRows[0], { table: 'brands', bytes: Number, lockedS: 1 })
    const { code } = await runCommand(['migrate', '--distribute'], { DATABASE_URL: url })
    t.equal(code, 2, 'it is for a cluster')
    const { stderr, stdout } = await runCommand(['migrate', '--distribute'], env)
    t.match(JSON.parse(stdout).distributed, tablesPlacedBy('every node'))
    t.match(stderr, /"distributed":\["prospect_logs"\]/)
    t.strictSame(await postgresRows(url), expected)
    for (const node of citus.atEachNode(url)) await runOn(node, ['analyze'])
    const [log = ''] = expected['prospect_logs'] ?? []
    const { named } = await diagnosed(t, env)
    const largest = new RegExp(`^the largest, estimated: ${JSON.parse(log).tenant_id} \\d+ bytes, \\d+ % of`)
    t.match(named('tenants'), { state: 'ok', detail: largest })
    t.match((await diagnosed(t, env)).failed, [{ name: 'durability' }])
  })

  t.test('a new table is added while the service serves, and no call is refused', async (t) => {
    const url = await citus.newDistributed()
    const [env] = nodesOf(url)
    const servers = await Promise.all(
      citus.atEachNode(url).map((DATABASE_URL) => startServer(t, { DATABASE_URL, ...CITUS })),
    )
    const { apiKey, pageGroupId } = await seed(env)
    await runOn(url, ['drop table merges'])
    let isServing = true
    const statuses: number[] = []
    const calls = servers.map(async ({ url }) => {
      const call = caller(url, apiKey)
      while (isServing) {
        statuses.push((await call('POST', `/v0/page_groups/${pageGroupId}/pages`, {})).status)
      }
    })
    const next = { number: MIGRATIONS.length + 1, name: 'merges.sql', sql: MERGES }
    const changes = await migrateCluster(url, [...MIGRATIONS, next], silent)
    isServing = false
    await Promise.all(calls)
    t.match(changes, { applied: ['merges.sql'], distributed: ['merges'] })
    t.ok(statuses.length > servers.length, `${statuses.length} calls meanwhile`)
    t.strictSame([...new Set(statuses)], [201])
  })
})
