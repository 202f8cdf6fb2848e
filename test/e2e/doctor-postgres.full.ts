import { readFileSync } from 'node:fs'
import t from 'tap'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { inWords } from '../../src/maintenance/check.ts'
import { examinePostgres } from '../../src/maintenance/examine-postgres.ts'
import { diagnosed } from '../support/doctor.ts'
import { startPostgres, type ThrowawayPostgres, whyNoPostgres } from '../support/postgres.ts'
import { answerOf, databaseAt, newFolder, runCommand, startServer } from '../support/program.ts'

t.setTimeout(0)
const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const newDatabase = async (postgres: ThrowawayPostgres, isMigrated = true) => {
  const url = await postgres.newDatabase()
  const env = { DATABASE_URL: url }
  if (isMigrated) await answerOf(['migrate'], env)
  return { url, env, run: databaseAt(url).rows }
}

t.test('doctor on PostgreSQL', { skip: whyNoPostgres() ?? false }, async (t) => {
  const postgres = await startPostgres({ durable: true })
  t.teardown(postgres.stop)

  t.test('a sound database passes every check, with or without a server', async (t) => {
    const { env } = await newDatabase(postgres)
    const { names, failed, named } = await diagnosed(t, env)
    t.strictSame(failed, [])
    t.strictSame(names, [
      'settings',
      'database',
      'sizes',
      'durability',
      'clock',
      'readers',
      'role',
      'migrations',
      'erasures',
      'retention',
      'webhook secrets',
      'encryption',
      'locks',
    ])
    t.ok(named('database')?.detail.startsWith(`PostgreSQL ${postgres.version}, database test_`))
    t.match(named('role'), { detail: /is a superuser/ })
    t.match(named('sizes'), {
      detail: /^the database has \d{7,} bytes; the write-ahead log of the server \d{7,} bytes$/,
    })
    const server = await startServer(t, env)
    t.strictSame((await diagnosed(t, env)).failed, [])
    t.equal(await server.stop(), 0)
  })

  t.test('an empty database stays empty; missing and later migrations are reported', async (t) => {
    const { env, run } = await newDatabase(postgres, false)
    t.match((await diagnosed(t, env)).failed, [{ name: 'migrations', detail: /^0 of/, remedy: /migrate/ }])
    t.strictSame([...(await run("select 1 from pg_tables where schemaname = 'public'"))], [])
    await answerOf(['migrate'], env)
    await run("insert into schema_migrations values (99, '0099_later.sql', now(), '', '9.8.7')")
    t.match((await diagnosed(t, env)).failed, [{ name: 'migrations', remedy: /install the release/ }])
    await run('alter table schema_migrations drop column checksum')
    t.match((await diagnosed(t, env)).failed, [{ detail: /unreleased version/, remedy: /^export its data/ }])
  })

  t.test('an unreachable database is reported without the password', async (t) => {
    const away = `postgres://somebody:secret@localhost/db?host=${newFolder(t)}`
    const { failed, names } = await diagnosed(t, { DATABASE_URL: away })
    t.match(failed, [
      { name: 'database', detail: /^nothing is listening at \/.*5432$/, remedy: /DATABASE_URL/ },
    ])
    t.strictSame(names, ['settings', 'database'])
    t.notMatch(JSON.stringify(failed), /secret/)
    const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
    t.equal(inWords(refused), 'nothing is listening there', 'a host with several addresses')
  })

  t.test('an unknown parameter and another cluster have their remedies', async (t) => {
    const { url, env } = await newDatabase(postgres)
    const uses = [
      [{ DATABASE_URL: `${url}&sslmod=require` }, /"sslmod"/, /parameters? /],
      [{ ...env, DATABASE_CLUSTER: 'citus' }, /^The database is not Citus/, /^Unset DATABASE_CLUSTER/],
    ] as const
    for (const [env, detail, remedy] of uses) {
      t.match((await diagnosed(t, env)).failed, [{ name: 'database', detail, remedy }])
      const { code, stderr } = await runCommand(['tenants', 'list'], env)
      const refusal = JSON.parse(stderr)
      t.match({ code, detail: refusal.cause ?? refusal.detail }, { code: 1, detail })
      t.match(
        refusal.remedy ?? refusal.detail,
        /sslmode?|Unset DATABASE_CLUSTER, or create the extension citus\.$/,
      )
    }
  })

  t.test('a role that lacks privileges is reported with each of them', async (t) => {
    const { url, run } = await newDatabase(postgres)
    await run('create role prospect_pages login')
    const env = { DATABASE_URL: url.replace('postgres@', 'prospect_pages@') }
    const { failed, names } = await diagnosed(t, env)
    t.match(failed, [{ name: 'role', detail: /^prospect_pages lacks the privileges /, remedy: /roles\.sql/ }])
    t.notOk(names.includes('migrations'), 'this role cannot read them')
    const named = [...String(failed[0]?.detail).matchAll(/ on (\w+)/g)].map(([, table]) => table)
    const tables = await run<{ name: string }>(`
      select tablename as name from pg_tables
      where schemaname = 'public' order by tablename`)
    t.strictSame(
      [...new Set(named)].sort(),
      tables.map(({ name }) => name),
      'serving uses all tables',
    )
    const [toServe = ''] = read('sql/roles.sql').split(/^-- II\./m)
    await run(toServe)
    const served = await diagnosed(t, env)
    t.strictSame(served.failed, [])
    t.match(served.named('role'), { detail: 'prospect_pages has the privileges that serving needs' })
    t.match(served.named('sizes'), { state: 'ok', detail: /bytes; only a member of pg_monitor sees / })
    const columns =
      'custom_name, computed_name, published_version_id, automatic_after, latest_version_id, revision, updated_at, unpublish_at'
    await run(`revoke update (${columns}) on pages from prospect_pages`)
    t.match((await diagnosed(t, env)).failed, [
      { detail: 'prospect_pages lacks the privileges update on pages' },
    ])
    await run('revoke delete on prospects, prospect_logs from prospect_pages')
    t.match((await diagnosed(t, env)).failed, [
      { detail: /privileges delete on prospect_logs, delete on prospects, update on pages$/ },
    ])
    await run(toServe)
    // A newer migration added these, and roles.sql was not run again.
    for (const [revoked, lacks] of [
      ['update (last_error) on webhook_endpoints', 'update on webhook_endpoints'],
      ['insert on usage_counts', 'insert on usage_counts'],
      ['all on merges', 'delete on merges, insert on merges, select on merges, update on merges'],
    ]) {
      await run(`revoke ${revoked} from prospect_pages`)
      const detail = `prospect_pages lacks the privileges ${lacks}`
      t.match((await diagnosed(t, env)).failed, [{ detail, remedy: / run psql .* -f sql\/roles\.sql; / }])
      await run(toServe)
    }
    await run('drop owned by prospect_pages')
  })

  t.test('a clock that differs and settings that can lose writes are reported', async (t) => {
    const { url, env, run } = await newDatabase(postgres)
    const direct = { databasePooler: false, databaseDirectUrl: null }
    const settings = { ...direct, databaseCluster: null, statementMsMax: 5_000 }
    const known = readMigrations('postgres')
    const checks = await examinePostgres(url, known, settings, () => Date.now() + 60_000)
    t.match(
      checks.filter(({ state }) => state === 'failed'),
      [{ name: 'clock', detail: /is (59|60)\d{3} ms behind/, remedy: /NTP/ }],
    )
    await run("insert into served values (1, '2020-01-01', null)")
    const detail = /the database was last served at 2020-01-01T/
    t.match((await diagnosed(t, env)).failed, [{ name: 'retention', detail }])
    await run('delete from served')
    await run('alter role postgres set synchronous_commit = off')
    t.match((await diagnosed(t, env)).failed, [{ name: 'durability', detail: /off: synchronous_commit/ }])
    await run('alter role postgres reset synchronous_commit')
  })
})
