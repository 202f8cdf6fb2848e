import t, { type Test } from 'tap'
import { endPool, openPostgres } from '../../src/adapters/postgres/open.ts'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import type { Finding } from '../../src/maintenance/findings.ts'
import { diagnosed } from '../support/doctor.ts'
import { sharedPostgres, whyNoPostgres } from '../support/postgres.ts'
import { linesOf, runCommand } from '../support/program.ts'
import { POSTGRES_SETTINGS } from '../support/stores.ts'

const skip = whyNoPostgres() ?? false
const ROLE = 'unfit_role'

/** A new database, and a way to run statements as its administrator. */
const newDatabase = async (t: Test, { isMigrated = false } = {}) => {
  const server = await sharedPostgres()
  t.teardown(server.stop)
  const url = await server.newDatabase()
  const run = async (...statements: readonly string[]) => {
    const sql = openPostgres(url, { max: 1 })
    try {
      for (const statement of statements) await sql.unsafe(statement)
    } finally {
      await endPool(sql, 1)
    }
  }
  await run(`drop role if exists ${ROLE}`, `create role ${ROLE} login`)
  t.teardown(() => run(`drop owned by ${ROLE}`, `drop role ${ROLE}`).catch(() => {}))
  if (isMigrated) t.equal((await runCommand(['migrate'], { DATABASE_URL: url })).code, 0)
  return { url, urlOfRole: url.replace('postgres@', `${ROLE}@`), run }
}

/** What `migrate` and `doctor` say of a database. */
const verdict = async (t: Test, url: string) => {
  const migrated = await runCommand(['migrate'], { DATABASE_URL: url })
  const { failed } = await diagnosed(t, { DATABASE_URL: url })
  return {
    code: migrated.code,
    refusal: JSON.parse(migrated.stderr.trim().split('\n').at(-1) ?? '{}'),
    failed,
  }
}

t.test('a database that cannot store every text is refused, with the remedy', { skip }, async (t) => {
  const { url, run } = await newDatabase(t)
  const name = `latin_${process.pid}`
  await run(`create database ${name} encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'`)
  t.teardown(() => run(`drop database ${name} with (force)`))
  const { code, refusal, failed } = await verdict(t, url.replace(/\/test_\w+/, `/${name}`))
  t.equal(code, 1)
  t.match(refusal.detail, /encoding LATIN1.*--encoding=UTF8/)
  t.match(failed, [{ name: 'database', detail: /encoding LATIN1/, remedy: /createdb --encoding=UTF8/ }])
})

t.test(
  'a role without a schema, or that may create nothing, gets the grant it lacks',
  { skip },
  async (t) => {
    const { urlOfRole, run } = await newDatabase(t)
    await run(`revoke all on schema public from public`)
    const without = await verdict(t, urlOfRole)
    t.match(without.refusal.detail, /can use no schema of its search_path/)
    t.match(without.failed, [{ remedy: /grant usage/ }])
    await run(`grant usage on schema public to ${ROLE}`)
    const { code, refusal } = await verdict(t, urlOfRole)
    t.equal(code, 1)
    t.match(refusal, {
      detail: 'permission denied for schema public',
      remedy: /grant create, usage on schema public/,
    })
  },
)

t.test('a session that reads nulls as text is refused', { skip }, async (t) => {
  const { urlOfRole, run } = await newDatabase(t)
  await run(`grant all on schema public to ${ROLE}`, `alter role ${ROLE} set array_nulls = off`)
  const { refusal, failed } = await verdict(t, urlOfRole)
  t.match(refusal.detail, /array_nulls is off/)
  t.match(failed, [{ remedy: `Run alter role ${ROLE} set array_nulls = on, then restart.` }])
})

t.test('row security that hides rows is named, and is not an unmigrated database', { skip }, async (t) => {
  const { url, run } = await newDatabase(t, { isMigrated: true })
  await run(
    'alter table schema_migrations enable row level security',
    'alter table prospects enable row level security',
    `grant all on all tables in schema public to ${ROLE}`,
  )
  const { refusal } = await verdict(t, url.replace('postgres@', `${ROLE}@`))
  t.match(refusal.detail, /Row security hides rows of prospects, schema_migrations from the role unfit_role/)
})

t.test('doctor names the roles that can read people besides the service', { skip }, async (t) => {
  const { url, run } = await newDatabase(t, { isMigrated: true })
  const readers = async () => (await diagnosed(t, { DATABASE_URL: url })).named('readers')
  t.match(await readers(), { state: 'ok' })
  await run(`grant select on prospects to ${ROLE}`)
  t.match(await readers(), { state: 'warning', detail: /read by: unfit_role/, remedy: /revoke all/ })
  await run('grant select on prospect_logs to public')
  t.match(await readers(), { state: 'warning', detail: /every role/ })
})

/** A store of the role, which may do everything until a test takes it away. */
const storeOfRole = async (t: Test) => {
  const { urlOfRole, run } = await newDatabase(t, { isMigrated: true })
  await run(
    `grant usage on schema public to ${ROLE}`,
    `grant all on all tables in schema public to ${ROLE}`,
    'delete from served',
  )
  const store = postgresStore({ ...POSTGRES_SETTINGS, url: urlOfRole }, readMigrations('postgres'))
  t.teardown(store.close)
  const write = () => store.erasures.saveClock({ servedAt: '2026-01-01T00:00:00.000Z', pausedAt: null })
  const isReady = () =>
    store.ready().then(
      () => true,
      (error: Error) => error.message,
    )
  const findings = async () =>
    linesOf<Finding>((await runCommand(['status'], { DATABASE_URL: urlOfRole })).stdout)
  return { run, write, isReady, findings }
}

t.test(
  'a role that lost a privilege is not ready once a write was refused, until it has it',
  { skip },
  async (t) => {
    const { run, write, isReady, findings } = await storeOfRole(t)
    await write()
    t.equal(await isReady(), true)
    await run(`revoke insert, update on served from ${ROLE}`)
    await t.rejects(write(), { code: '42501' })
    t.equal(await isReady(), 'The database takes no writes: no_privilege.')
    t.equal(
      await isReady(),
      'The database takes no writes: no_privilege.',
      'it stays so without another write',
    )
    t.match(await findings(), [{ kind: 'writes', detail: 'the database takes no writes: no_privilege' }])
    await run(`grant insert, update on served to ${ROLE}`)
    t.equal(await isReady(), true)
    t.strictSame(await findings(), [])
  },
)

t.test('row security that refuses a write is named, until it is off', { skip }, async (t) => {
  const { run, write, isReady, findings } = await storeOfRole(t)
  t.equal(await isReady(), true)
  await run('alter table served enable row level security')
  await t.rejects(write(), { code: '42501' })
  t.equal(await isReady(), 'The database takes no writes: row_security.')
  t.match(await findings(), [
    { kind: 'database', detail: /^Row security hides rows of served from the role/ },
  ])
  await run('alter table served disable row level security')
  t.equal(await isReady(), true)
})

t.test('status says what serve would refuse, not to migrate', { skip }, async (t) => {
  const { url, urlOfRole, run } = await newDatabase(t)
  const name = `latin_status_${process.pid}`
  await run(`create database ${name} encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'`)
  t.teardown(() => run(`drop database ${name} with (force)`))
  await run(`revoke all on schema public from public`)
  for (const [address, detail] of [
    [url.replace(/\/test_\w+/, `/${name}`), /^The database has the encoding LATIN1/],
    [urlOfRole, /^The role unfit_role can use no schema/],
  ] as const) {
    const { code, stdout } = await runCommand(['status'], { DATABASE_URL: address })
    t.match({ code, findings: linesOf(stdout) }, { code: 1, findings: [{ kind: 'database', detail }] })
  }
})

t.test('a connection limit is called by its name', { skip }, async (t) => {
  const { urlOfRole, run } = await newDatabase(t)
  await run(`grant all on schema public to ${ROLE}`, `alter role ${ROLE} connection limit 0`)
  const { failed } = await diagnosed(t, { DATABASE_URL: urlOfRole })
  t.match(failed, [
    {
      name: 'database',
      remedy: /^lower DATABASE_CONNECTIONS_MAX, or raise the connection limit of the role: /,
    },
  ])
})

t.test('doctor gives the one remedy that fits, and the same as a refused command', { skip }, async (t) => {
  const { url } = await newDatabase(t)
  for (const [address, remedy] of [
    ['postgres://app@127.0.0.1:1/db', 'correct DATABASE_URL, or start PostgreSQL'],
    ['postgres://app@nowhere.invalid/db', 'correct it in DATABASE_URL'],
    [url.replace('postgres@', 'nobody_here@'), 'correct the role and the password in DATABASE_URL'],
    [url.replace(/\/test_\w+/, '/nowhere'), 'correct its name in DATABASE_URL, or create it with createdb'],
    [`${url}&sslmod=require`, 'correct the parameter sslmod in DATABASE_URL'],
  ] as const) {
    const env = { DATABASE_URL: address }
    t.match((await diagnosed(t, env)).failed, [{ name: 'database', remedy }], address)
    const { stderr } = await runCommand(['tenants', 'list'], env)
    t.equal(JSON.parse(stderr).remedy.toLowerCase(), `${remedy}.`.toLowerCase(), address)
  }
})

t.test('a role that may not create tables is told so by doctor before it migrates', { skip }, async (t) => {
  const { urlOfRole, run } = await newDatabase(t)
  await run(`revoke all on schema public from public`, `grant usage on schema public to ${ROLE}`)
  const { failed } = await diagnosed(t, { DATABASE_URL: urlOfRole })
  const remedy =
    /^as an administrator, run grant create, usage on schema public to unfit_role, then prospect-pages migrate;/
  t.match(
    failed.filter(({ name }) => name === 'migrations'),
    [{ detail: /^0 of/, remedy }],
  )
})
