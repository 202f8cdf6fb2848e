import { spawn } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import t, { type Test } from 'tap'
import { diagnosed } from '../support/doctor.ts'
import {
  answerOf,
  databaseKinds,
  type Environment,
  openServer,
  runCommand,
  seedByCommands,
  until,
} from '../support/program.ts'

/** A PgBouncer of the test's own, in transaction mode, on a socket. */
type ThrowawayPooler = {
  /** The address of a database, given the one at PostgreSQL itself. */
  readonly urlOf: (directUrl: string) => string
  readonly stop: () => Promise<void>
}

/** Few, so that the connections of the callers take turns. */
const SERVER_CONNECTIONS = 3
const PORT = 6_432
const UNPRIVILEGED = 65_534

const pgbouncerBin = (): string | null =>
  [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
    .map((folder) => join(folder, 'pgbouncer'))
    .find((path) => existsSync(path)) ?? null

/** Why nothing can be tested through a pooler here; null where it can. With `POSTGRES_REQUIRED` it must. */
const whyNoPgbouncer = (): string | null => {
  if (pgbouncerBin() !== null) return null
  if (process.env['POSTGRES_REQUIRED'])
    throw new Error('POSTGRES_REQUIRED is set and there is no PgBouncer here')
  return 'NO PGBOUNCER HERE: nothing was tested through a pooler'
}

/** Stands before the PostgreSQL on the socket in that folder. `more` are lines of its settings. */
const startPgbouncer = async (postgresFolder: string, more = ''): Promise<ThrowawayPooler> => {
  const bin = pgbouncerBin()
  if (bin === null) throw new Error('there is no PgBouncer here')
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'prospect-pages-'))
  const settings = join(folder, 'pgbouncer.ini')
  writeFileSync(
    settings,
    `[databases]
* = host=${postgresFolder} port=5432 user=postgres
[pgbouncer]
unix_socket_dir = ${folder}
listen_port = ${PORT}
auth_type = any
pool_mode = transaction
default_pool_size = ${SERVER_CONNECTIONS}
max_client_conn = 500
${more}
`,
  )
  // PgBouncer refuses to run as root, and PostgreSQL's socket belongs to this same user.
  const asRoot = process.getuid?.() === 0
  if (asRoot) for (const path of [folder, settings]) chownSync(path, UNPRIVILEGED, UNPRIVILEGED)
  const child = spawn(bin, [settings], {
    ...(asRoot && { uid: UNPRIVILEGED, gid: UNPRIVILEGED }),
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  await new Promise<void>((resolve, reject) => {
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
      if (said.includes('process up')) resolve()
    })
    child.once('error', reject)
    void ended.then(() => reject(new Error(`PgBouncer ended at once: ${said}`)))
  })
  return {
    urlOf: (directUrl) => {
      const { pathname } = new URL(directUrl)
      return `postgres://postgres@localhost:${PORT}${pathname}?host=${encodeURIComponent(folder)}`
    },
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

t.setTimeout(0)
const CALLERS = 40
const CALLS_EACH = 10

const [kind] = databaseKinds().filter(({ name }) => name === 'postgres')
if (kind === undefined) throw new Error('there is a kind on PostgreSQL')
const why = kind.skip ?? whyNoPgbouncer()

const page = readFileSync(new URL('../../docs/deploying.md', import.meta.url), 'utf8')
/** The statements of the page on deploying, for the role of these tests. */
const ROLE_SETTINGS = [...page.matchAll(/^alter role prospect_pages (set \w+ = \S+);$/gm)].map(
  ([, set]) => `alter role postgres ${set}`,
)

/** A server behind a pooler, over a new database that was migrated by the first command that came along. */
const setting = async (t: Test, knowsDirect: boolean) => {
  const { env: direct, rows } = await kind.open(t)
  for (const statement of ROLE_SETTINGS) await rows(statement)
  const directUrl = String(direct['DATABASE_URL'])
  const pooler = await startPgbouncer(new URL(directUrl).searchParams.get('host') ?? '')
  t.teardown(pooler.stop)
  const env: Environment = {
    DATABASE_URL: pooler.urlOf(directUrl),
    DATABASE_POOLER: 'true',
    ...(knowsDirect && { DATABASE_DIRECT_URL: directUrl }),
  }
  return openServer(t, { env, rows }, {}, seedByCommands)
}

/** PgBouncer refuses what it does not know for a session, or drops it. */
const DROPPING =
  'ignore_startup_parameters = statement_timeout, lock_timeout, plan_cache_mode, enable_seqscan, enable_hashjoin, enable_mergejoin, jit'

t.test('behind a pooler in transaction mode', { skip: why ?? false }, async (t) => {
  t.equal(ROLE_SETTINGS.length, 6)
  t.teardown(kind.end)
  t.test('a pooler that no setting names is refused at start, with the remedy', async (t) => {
    for (const more of ['', DROPPING]) {
      const directUrl = String((await kind.open(t)).env['DATABASE_URL'])
      await answerOf(['migrate'], { DATABASE_URL: directUrl })
      const pooler = await startPgbouncer(new URL(directUrl).searchParams.get('host') ?? '', more)
      t.teardown(pooler.stop)
      const env = { DATABASE_URL: pooler.urlOf(directUrl), PORT: '0' }
      const remedy = /is a connection pooler. Set DATABASE_POOLER=true/
      for (const args of [['serve'], ['migrate'], ['tenants', 'create', '--name', 'One']])
        t.match(await runCommand(args, env), { code: 1, stdout: '', stderr: remedy })
      const { failed } = await diagnosed(t, { DATABASE_URL: env.DATABASE_URL })
      const detail = 'DATABASE_URL is a connection pooler'
      t.strictSame(failed, [
        { name: 'database', state: 'failed', detail, remedy: 'Set DATABASE_POOLER=true.' },
      ])
    }
  })

  t.test('doctor finds each setting that the role lacks, and its remedies are enough', async (t) => {
    const { env: direct, rows } = await kind.open(t)
    await answerOf(['migrate'], direct)
    const directUrl = String(direct['DATABASE_URL'])
    const unsettled = async (t: Test) => {
      const pooler = await startPgbouncer(new URL(directUrl).searchParams.get('host') ?? '')
      t.teardown(pooler.stop)
      const env = { DATABASE_URL: pooler.urlOf(directUrl), DATABASE_POOLER: 'true' }
      return (await diagnosed(t, env)).failed.filter(({ name }) => name !== 'durability')
    }
    const all = await unsettled(t)
    t.ok(all.every(({ name }) => name === 'pooler'))
    t.ok(all.some(({ detail }) => detail === 'connections through the pooler have jit = on'))
    const settingOf = (statement = '') => / set (\w+) = /.exec(statement)?.[1]
    t.strictSame(
      new Set(all.map(({ remedy }) => settingOf(remedy))),
      new Set(ROLE_SETTINGS.map(settingOf)),
      'those of the page on deploying',
    )
    for (const statement of ROLE_SETTINGS) await rows(statement)
    t.strictSame(await unsettled(t), [], 'the statements of the page are enough')
    await rows('alter role postgres reset enable_seqscan')
    await rows('alter role postgres reset statement_timeout')
    const some = await unsettled(t)
    t.same(some.map(({ remedy }) => settingOf(remedy)).sort(), ['enable_seqscan', 'statement_timeout'])
    for (const { remedy = '' } of some) await rows(remedy)
    t.strictSame(await unsettled(t), [])
    await rows('alter role postgres reset all')
    for (const { remedy = '' } of all) await rows(remedy)
    t.strictSame(await unsettled(t), [])
  })

  t.test(
    'a direct address that is not the way past the pooler is refused, and nothing is migrated there',
    async (t) => {
      const { env: direct } = await kind.open(t)
      const { env: other, rows } = await kind.open(t)
      const directUrl = String(direct['DATABASE_URL'])
      const otherUrl = String(other['DATABASE_URL'])
      const pooler = await startPgbouncer(new URL(directUrl).searchParams.get('host') ?? '')
      t.teardown(pooler.stop)
      const poolerUrl = pooler.urlOf(directUrl)
      const away = 'postgres://somebody@localhost:1/db'
      const uses = [
        [otherUrl, /^DATABASE_DIRECT_URL leads to another database than DATABASE_URL/],
        [poolerUrl, /^DATABASE_DIRECT_URL is a connection pooler/],
        [away, /No connection to .*:1 |nothing is listening/],
      ] as const
      for (const [DATABASE_DIRECT_URL, why] of uses) {
        const env = { DATABASE_URL: poolerUrl, DATABASE_POOLER: 'true', DATABASE_DIRECT_URL }
        const { code, stderr } = await runCommand(['migrate'], env)
        const { cause, detail, remedy = detail, database } = JSON.parse(stderr)
        t.match({ code, why: cause ?? detail, remedy }, { code: 1, why, remedy: /DATABASE_DIRECT_URL/ })
        if (cause) t.equal(database, away)
        const { failed } = await diagnosed(t, env)
        t.match(failed, [{ name: 'database', detail: why, remedy: /./ }])
        t.match(`${failed[0]?.detail} ${failed[0]?.remedy}`, /DATABASE_DIRECT_URL/)
      }
      t.strictSame(await rows("select 1 from pg_tables where schemaname = 'public'"), [])
    },
  )

  for (const knowsDirect of [true, false])
    t.test(`${knowsDirect ? 'with' : 'without'} an address of PostgreSQL itself`, async (t) => {
      const { call, server, rows, env, pagesPath, pageGroupId, apiKeyId } = await setting(t, knowsDirect)

      t.test('the five operations answer, and a created page is published', async (t) => {
        const logged = await call('POST', '/v0/prospect_logs', { source: 'crm', payload: { a: 1 } })
        t.match(logged, { status: 201, body: { createdProspect: true } })
        const created = await call('POST', pagesPath, { supplementaryContext: 'The spring sale' })
        t.match(created, { status: 201, body: { status: 'processing' } })
        const { pageId } = created.body
        const groups = await call('GET', '/v0/page_groups')
        t.match(groups, { status: 200, body: { items: [{ pageGroupId, pagesCount: 1 }] } })
        t.match(await call('GET', pagesPath), { status: 200, body: { items: [{ pageId }] } })
        const isPublished = async () => (await call('GET', `${pagesPath}/${pageId}`)).body.publishedVersion
        t.match(await until('it is published', isPublished), { versionNumber: 1 })
      })

      t.test('every caller of many gets its own answer', async (t) => {
        const one = async (name: string) => {
          const email = `${name}@example.com`
          const source = `source ${name}`
          const receipt = await call('POST', '/v0/prospect_logs', { source, payload: { name }, email })
          t.match(receipt, { status: 201, body: { source } })
          const created = await call('POST', pagesPath, { supplementaryContext: name })
          t.equal(created.status, 201)
          const path = `${pagesPath}/${created.body.pageId}`
          t.match((await call('GET', path)).body, { pageId: created.body.pageId, supplementaryContext: name })
          return [receipt.body.prospectLogId, source, email, `{"name":"${name}"}`]
        }
        const many = Array.from({ length: CALLERS }, async (_, caller) => {
          const receipts = []
          for (let n = 0; n < CALLS_EACH; n++) receipts.push(await one(`${caller}.${n}`))
          return receipts
        })
        const receipts = (await Promise.all(many)).flat().sort()
        const kept = await rows<Record<string, string>>(`
          select prospect_log_id, source, email, payload::text as payload from prospect_logs
          where email is not null order by prospect_log_id`)
        t.strictSame(
          kept.map((row) => Object.values(row)),
          receipts,
        )
      })

      t.test('the callers share a few connections, and one listens past the pooler if any', async (t) => {
        const connections = await rows<{ query: string }>(`
          select query from pg_stat_activity
          where datname = current_database() and application_name = 'prospect-pages'
            and pid <> pg_backend_pid()`)
        const listening = connections.filter(({ query }) => /^(listen prospect_pages|select 1)$/.test(query))
        t.equal(listening.length, knowsDirect ? 1 : 0)
        t.ok(connections.length - listening.length <= SERVER_CONNECTIONS, `${connections.length}`)
      })

      t.test('a revoked key is refused within a second', async (t) => {
        await answerOf(['keys', 'revoke', apiKeyId], env)
        const isRefused = async () => (await call('GET', '/v0/page_groups')).status === 401
        await t.resolves(until('it is refused', isRefused))
      })

      t.test('the server ends with 0', async (t) => {
        t.equal(await server.stop(), 0)
        t.strictSame(
          server.logs().filter(({ level, msg }) => level >= 40 && !msg.startsWith('fsync')),
          [],
          'and nothing went wrong meanwhile',
        )
      })
    })
})
