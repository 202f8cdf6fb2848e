import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { Check } from '../../src/adapters/check.ts'
import { examinePostgres } from '../../src/adapters/postgres/examine.ts'
import { readGrants } from '../../src/adapters/read-grants.ts'
import { startPgbouncer, whyNoPgbouncer } from '../support/pgbouncer.ts'
import { startPostgres, type ThrowawayPostgres, whyNoPostgres } from '../support/postgres.ts'
import {
  answerOf,
  databaseAt,
  type Environment,
  newFolder,
  runCommand,
  startProgram,
} from '../support/program.ts'

t.setTimeout(120_000)
const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const examined = async (t: Test, env: Environment) => {
  const { code, stdout, stderr } = await runCommand(['doctor'], env)
  t.equal(stderr, '')
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] }
  t.equal(code, ok ? 0 : 1)
  return {
    names: checks.map(({ name }) => name),
    // How many files may be open is this machine's affair.
    wrong: checks.filter((check) => !check.ok && check.name !== 'open files'),
    named: (name: string) => checks.find((check) => check.name === name),
  }
}
const newDatabase = async (postgres: ThrowawayPostgres, isMigrated = true) => {
  const url = await postgres.newDatabase()
  const env = { DATABASE_URL: url }
  if (isMigrated) await answerOf(['migrate'], env)
  return { url, env, run: databaseAt(url).rows }
}

t.test('doctor on PostgreSQL', { skip: whyNoPostgres() ?? false }, async (t) => {
  const postgres = await startPostgres({ durable: true })
  t.teardown(postgres.stop)

  t.test('a sound database has nothing wrong with it, served or not', async (t) => {
    const { env } = await newDatabase(postgres)
    const { names, wrong, named } = await examined(t, env)
    t.strictSame(wrong, [])
    const expected = ['settings', 'database', 'migrations', 'durability', 'clock', 'connections', 'role']
    t.strictSame(names, [...expected, 'open files'])
    t.ok(named('database')?.detail.startsWith(`PostgreSQL ${postgres.version}, database test_`))
    t.match(named('role'), { detail: /is a superuser/ })
    const server = await startProgram(t, env)
    await server.ready()
    t.strictSame((await examined(t, env)).wrong, [])
    t.equal(await server.stop(), 0)
  })

  t.test('an empty database is left empty, and missing and later migrations are told', async (t) => {
    const { env, run } = await newDatabase(postgres, false)
    t.match((await examined(t, env)).wrong, [{ name: 'migrations', detail: /^0 of/, remedy: /migrate/ }])
    t.strictSame([...(await run("select 1 from pg_tables where schemaname = 'public'"))], [])
    await answerOf(['migrate'], env)
    await run("insert into schema_migrations (number, name) values (99, '0099_later.sql')")
    t.match((await examined(t, env)).wrong, [{ name: 'migrations', remedy: /install the release/ }])
  })

  t.test('a database that is away, or refuses the password, is told without it', async (t) => {
    const away = `postgres://somebody:secret@localhost/db?host=${newFolder(t)}`
    const { wrong, names } = await examined(t, { DATABASE_URL: away })
    t.match(wrong, [{ name: 'database', remedy: /DATABASE_URL/ }])
    t.strictSame(names, ['settings', 'database', 'open files'])
    t.notMatch(JSON.stringify(wrong), /secret/)
  })

  t.test('each grant that the role lacks is told', async (t) => {
    const { env, url, run } = await newDatabase(postgres)
    await run('create role prospect_pages login')
    const served = { DATABASE_URL: url.replace('postgres@', 'prospect_pages@') }
    const first = await examined(t, served)
    t.match(
      first.wrong.find(({ name }) => name === 'role'),
      { detail: /prospect_pages lacks .*update \(last_used_at\) on api_keys/, remedy: /roles\.sql/ },
    )
    await run(read('sql/roles.sql'))
    const { wrong, named } = await examined(t, served)
    t.strictSame(wrong, [])
    t.match(named('role'), { detail: 'prospect_pages may do what serving needs' })
    const grants = readGrants()
    t.ok(grants.length > 25, `${grants.length} grants`)
    for (const { privilege, table, column } of grants) {
      const grant = `${privilege}${column === null ? '' : ` (${column})`} on ${table}`
      await run(`revoke ${grant} from prospect_pages`)
      const { checks } = await examinePostgres({ ...WANTED, url: served.DATABASE_URL, grants })
      const role = checks.find(({ name }) => name === 'role')
      t.equal(role?.detail, `prospect_pages lacks ${grant}`)
      await run(`grant ${grant} to prospect_pages`)
    }
    t.strictSame((await examined(t, served)).wrong, [])
    await run('drop owned by prospect_pages')
    t.match((await examined(t, env)).wrong, [])
  })

  t.test('a clock that differs, and settings that lose writes or have no room, are told', async (t) => {
    const { url, env, run } = await newDatabase(postgres)
    const { checks } = await examinePostgres({ ...WANTED, url, clock: () => Date.now() + 60_000 })
    t.match(
      checks.filter(({ ok }) => !ok),
      [{ name: 'clock', detail: /is -(59|60)\d{3} ms ahead/, remedy: /NTP/ }],
    )
    const many = { ...env, WORKERS: '4', DATABASE_CONNECTIONS_MAX: '100' }
    t.match((await examined(t, many)).wrong, [{ name: 'connections', detail: /up to 404 of/ }])
    await run('alter role postgres set synchronous_commit = off')
    t.match((await examined(t, env)).wrong, [{ name: 'durability', detail: /synchronous_commit/ }])
    await run('alter role postgres reset synchronous_commit')
  })

  t.test(
    'a pooler that is not named, or whose role lacks settings, is told',
    { skip: whyNoPgbouncer() ?? false },
    async (t) => {
      const { url, run } = await newDatabase(postgres)
      const pooled = async (t: Test) => {
        const pooler = await startPgbouncer(new URL(url).searchParams.get('host') ?? '')
        t.teardown(pooler.stop)
        return { DATABASE_URL: pooler.urlOf(url) }
      }
      const env = await pooled(t)
      t.match((await examined(t, env)).wrong, [{ name: 'database', remedy: /DATABASE_POOLER=true/ }])
      const named = { ...env, DATABASE_POOLER: 'true' }
      const names = 'enable_hashjoin, enable_mergejoin, enable_seqscan, jit, lock_timeout, statement_timeout'
      const { wrong } = await examined(t, named)
      t.match(wrong, [{ name: 'pooler', detail: `the role does not set ${names}`, remedy: /README/ }])

      const statements = [...read('README.md').matchAll(/^alter role prospect_pages (set \w+ = \S+);$/gm)]
      t.equal(statements.length, 6)
      for (const [, set] of statements) await run(`alter role postgres ${set}`)
      t.teardown(() => run('alter role postgres reset all').then(() => {}))
      const settled = { ...(await pooled(t)), DATABASE_POOLER: 'true' }
      t.strictSame((await examined(t, settled)).wrong, [])
      t.strictSame((await examined(t, { ...settled, DATABASE_DIRECT_URL: url })).wrong, [])
      const { url: other } = await newDatabase(postgres)
      t.match((await examined(t, { ...settled, DATABASE_DIRECT_URL: other })).wrong, [
        { name: 'direct address', detail: /another database/ },
      ])
    },
  )
})

const WANTED = {
  pooler: null,
  workers: 1,
  connectionsMax: 10,
  statementMsMax: 5_000,
  grants: [],
  clock: Date.now,
}
