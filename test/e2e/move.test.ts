import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/adapters/sqlite/open.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { type Row, TABLES } from '../../src/adapters/stores/tables.ts'
import { readConfig } from '../../src/config/config.ts'
import { findAttention } from '../../src/maintenance/findings.ts'
import { type Moved, move, type Source, type Target } from '../../src/maintenance/move.ts'
import { sqliteSource } from '../../src/maintenance/move-from-sqlite.ts'
import { postgresTarget } from '../../src/maintenance/move-to-postgres.ts'
import { diagnosed } from '../support/doctor.ts'
import { fillSource, movedRows, postgresRows, sqliteRows } from '../support/moving.ts'
import {
  answerOf,
  caller,
  databaseAt,
  databaseKinds,
  embeddedDatabase,
  inherited,
  linesOf,
  newFolder,
  runCommand,
  seed,
  startServer,
  until,
} from '../support/program.ts'
import { COMPUTED } from '../support/schema.ts'

t.setTimeout(0)
const BIN = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
const [kind] = databaseKinds().filter(({ name }) => name === 'postgres')
if (kind === undefined) throw new Error('no kind of database is PostgreSQL')

const setting = async (t: Test, logs = 0) => {
  const path = join(newFolder(t), 'test.db')
  await fillSource(path, logs)
  const url = String((await kind.open(t)).env['DATABASE_URL'])
  const args = ['move', '--from', `sqlite:${path}`, '--to', url]
  const count = async (table: string) => {
    const [row] = await databaseAt(url).rows<{ count: number }>(`select count(*)::int as count from ${table}`)
    return row?.count ?? 0
  }
  return { path, url, args, count }
}

const opened = (path: string, url: string): { source: Source; target: Target } => ({
  source: sqliteSource(path, readMigrations('sqlite')),
  target: postgresTarget(url, readMigrations('postgres'), () => {}),
})
const moveHere = async ({ source, target }: ReturnType<typeof opened>): Promise<Moved> => {
  try {
    return await move(source, target, () => {})
  } finally {
    source.close()
    await target.close()
  }
}
const detailIn = (stderr: string) =>
  linesOf<{ detail?: string }>(stderr).find(({ detail }) => detail !== undefined)?.detail
const refusal = async (args: readonly string[], env = {}) => {
  const { code, stdout, stderr } = await runCommand(args, env)
  return { stdout, detail: detailIn(stderr), code }
}

t.test('moving to PostgreSQL', { skip: kind.skip ?? false }, async (t) => {
  t.teardown(kind.end)

  t.test('every row of every table is copied byte for byte', async (t) => {
    const { path, url, args } = await setting(t, 2_000)
    const file = await sqliteRows(path)
    const before = await movedRows(path)
    const { code, stdout, stderr } = await runCommand(args)
    t.equal(code, 0, stderr)
    const after = await postgresRows(url)
    t.strictSame(after, before)
    t.ok(
      Object.values(before).every((rows) => rows.length >= 2),
      'each table has rows',
    )
    const tables = Object.fromEntries(Object.entries(before).map(([table, rows]) => [table, rows.length]))
    const rows = Object.values(tables).reduce((sum, some) => sum + some, 0)
    t.strictSame(JSON.parse(stdout), { moved: true, rows, tables })
    t.match(linesOf(stderr).at(-1), {
      step: 'checking',
      table: 'webhook_deliveries',
      rows: tables['webhook_deliveries'],
    })
    t.strictSame(await sqliteRows(path), file, 'the source did not change')

    t.strictSame((await answerOf(args, {})).tables, tables, 'a second move has nothing to do')
    t.strictSame(await postgresRows(url), before)
  })

  t.test('time limits that the database sets for its roles do not stop a move', async (t) => {
    const { path, url, args } = await setting(t)
    await answerOf(['migrate'], { DATABASE_URL: url })
    const { rows } = databaseAt(url)
    await rows(`
      create function slowly() returns trigger language plpgsql as 'begin perform pg_sleep(1.5); return new; end';
      create trigger slowly before insert on tenants execute function slowly();
      do 'begin execute format(''alter database %I set statement_timeout = 1000'', current_database()); end'`)
    await answerOf(args, {})
    t.strictSame(await postgresRows(url), await movedRows(path))
  })

  t.test('keys, pages and idempotency keys work after the move', async (t) => {
    const path = join(newFolder(t), 'test.db')
    const from = { DATABASE_URL: `sqlite:${path}` }
    const to = (await kind.open(t)).env
    const { apiKey, pageGroupId } = await seed(from)
    const pagesPath = `/v0/page_groups/${pageGroupId}/pages`
    const activity = { source: 'crm', email: 'ada@example.com', payload: { a: 1 }, idempotencyKey: 'one' }

    const old = await startServer(t, from)
    const callOld = caller(old.url, apiKey)
    const receipt = (await callOld('POST', '/v0/prospect_logs', activity)).text
    const { pageId } = (await callOld('POST', pagesPath, { supplementaryContext: 'The spring sale' })).body
    const published = async () => (await callOld('GET', `${pagesPath}/${pageId}`)).body.publishedVersion
    await until('the page is published', published)
    const page = (await callOld('GET', `${pagesPath}/${pageId}`)).text
    t.equal(await old.stop(), 0)

    await answerOf(['move', '--from', from.DATABASE_URL, '--to', String(to['DATABASE_URL'])], {})
    const server = await startServer(t, to)
    const call = caller(server.url, apiKey)
    t.equal((await call('GET', `${pagesPath}/${pageId}`)).text, page)
    const again = await call('POST', '/v0/prospect_logs', activity)
    t.equal(again.text, receipt)
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    const other = { ...activity, idempotencyKey: 'two' }
    t.match((await call('POST', '/v0/prospect_logs', other)).body, { createdProspect: false })
    t.equal((await call('POST', pagesPath, {})).status, 201)
    t.match((await call('GET', '/v0/page_groups')).body.items, [{ pageGroupId, pagesCount: 2 }])
  })

  t.test('every column is read', async (t) => {
    const { path, url } = await setting(t)
    const { source, target } = opened(path, url)
    source.lock()
    const read = TABLES.map((table) => [table.name, Object.keys([...source.rows(table)][0] ?? {}).sort()])
    source.close()
    await target.close()
    const columns = await embeddedDatabase(path).rows<{ table: string; name: string }>(`
      select t.name as "table", c.name as name from sqlite_schema t, pragma_table_info(t.name) c
      where t.type = 'table' and t.name <> 'schema_migrations'`)
    const wanted = TABLES.map((table) => [
      table.name,
      columns
        .flatMap(({ table: its, name }) => (its === table.name && !COMPUTED.includes(name) ? [name] : []))
        .sort(),
    ])
    t.strictSame(read, wanted)
  })

  t.test('a move that is killed and run again completes', async (t) => {
    const { path, url, args, count } = await setting(t, 12_000)
    const child = spawn(process.execPath, [BIN, ...args], {
      env: inherited(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const ended = new Promise((resolve) => child.once('close', resolve))
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
      if (stderr.includes('"copying","table":"prospects"')) child.kill('SIGKILL')
    })
    await ended
    t.equal(child.signalCode, 'SIGKILL')
    await until('its connection has ended', async () => {
      const [row] = await databaseAt(url).rows<{ still: number }>(`
        select count(*)::int as still from pg_stat_activity
        where datname = current_database() and application_name = 'prospect-pages-move'`)
      return row?.still === 0
    })
    t.ok((await count('prospects')) > 0, 'some rows were copied')
    t.ok((await count('prospect_logs')) < 12_000, 'and some were not')
    const target = { DATABASE_URL: url, PORT: '0' }
    const remedy = /move .* is not complete\. Run the same prospect-pages move again/
    for (const use of [['serve'], ['migrate'], ['tenants', 'create', '--name', 'One']])
      t.match(
        await refusal(use, target),
        { code: 1, stdout: '', detail: remedy },
        'nothing uses it meanwhile',
      )
    t.match((await diagnosed(t, { DATABASE_URL: url })).failed, [
      { detail: /^The move .* is not complete$/, remedy: /^Run the same .* empty the database\.$/ },
    ])
    const [finding, ...others] = await findAttention(readConfig({ DATABASE_URL: url }), Date.now())
    t.match(finding, { kind: 'database', detail: remedy })
    t.strictSame(others, [])
    t.equal((await runCommand(args)).code, 0)
    t.strictSame((await diagnosed(t, { DATABASE_URL: url })).named('role')?.state, 'ok', 'it can be used')
    t.strictSame(await postgresRows(url), await movedRows(path))
  })

  t.test('a move that fails after any batch and is run again completes', async (t) => {
    const { path, url } = await setting(t, 1_200)
    const wanted = await movedRows(path)
    let batches = 0
    for (let isDone = false; !isDone; batches++) {
      const { source, target } = opened(path, url)
      let added = 0
      const add: Target['add'] = async (table, rows) => {
        // Half of a batch was written, as after a lost connection.
        if (added++ === batches) {
          await target.add(table, rows.slice(rows.length / 2))
          throw new Error('stopped')
        }
        await target.add(table, rows)
      }
      isDone = await moveHere({ source, target: { ...target, add } }).then(
        () => true,
        (error) => {
          if ((error as Error).message !== 'stopped') throw error
          return false
        },
      )
    }
    t.ok(batches > 10, `${batches} times`)
    t.strictSame(await postgresRows(url), wanted)
  })

  t.test('a target that contains other data is refused, and nothing is written', async (t) => {
    const { args, url, count } = await setting(t)
    await answerOf(['migrate'], { DATABASE_URL: url })
    await answerOf(['tenants', 'create', '--name', 'Somebody'], { DATABASE_URL: url })
    t.match(await refusal(args), {
      code: 1,
      stdout: '',
      detail: /contains other data: 1 of its 1 rows in tenants/,
    })
    t.equal(await count('tenants'), 1)
    t.equal(await count('prospects'), 0)
  })

  t.test('a target whose rows changed after a move is refused, and keeps the change', async (t) => {
    const { path } = await setting(t)
    for (const change of [
      "update prospects set name = 'Other' where name = 'Ada'",
      "update prospect_logs set payload = '{}' where payload::text like '%1e131071%'",
      'update api_keys set revoked_at = null',
      "update page_groups set actions = '[]'",
      'update page_counts set pages_count = pages_count + 1',
    ]) {
      const url = String((await kind.open(t)).env['DATABASE_URL'])
      await moveHere(opened(path, url))
      await databaseAt(url).rows(change)
      const changed = await postgresRows(url)
      await t.rejects(moveHere(opened(path, url)), /contains other data/, change)
      t.strictSame(await postgresRows(url), changed)
    }
  })

  t.test('rows that another program writes to the target during a move are found', async (t) => {
    const { path, url } = await setting(t)
    const { source, target } = opened(path, url)
    const add: Target['add'] = async (table, rows) => {
      await target.add(table, rows)
      if (table.name === 'page_versions')
        await databaseAt(url).rows("insert into tenants values ('tenant_other', 'Other', now())")
    }
    await t.rejects(
      moveHere({ source, target: { ...target, add } }),
      /differs from the source: of 2 rows in tenants, .* has 3/,
    )
  })

  t.test('a source that a server has open is refused, because its later writes would be lost', async (t) => {
    const { args, path, count } = await setting(t)
    const server = await startServer(t, { DATABASE_URL: `sqlite:${path}` })
    t.match(await refusal(args), {
      code: 1,
      stdout: '',
      detail: /Another process has the source open\. Stop the server/,
    })
    await t.rejects(count('tenants'), { code: '42P01' }, 'nothing was created')
    t.equal(await server.stop(), 0)
    t.equal((await runCommand(args)).code, 0)
  })

  t.test('no other process can open the source during a move', async (t) => {
    const { path, url } = await setting(t)
    const { source, target } = opened(path, url)
    const tried: unknown[] = []
    const add: Target['add'] = async (table, rows) => {
      await target.add(table, rows)
      try {
        openDatabase(path, 0).close()
      } catch (error) {
        tried.push((error as { errcode?: number }).errcode)
      }
    }
    await moveHere({ source, target: { ...target, add } })
    t.strictSame([...new Set(tried)], [5], 'the file is busy')
    openDatabase(path, 0).close()
  })

  t.test('a target that a server has open is refused', async (t) => {
    const { args, url } = await setting(t)
    await startServer(t, { DATABASE_URL: url })
    t.match(await refusal(args), { code: 1, detail: /A server has the target open/ })
  })

  t.test('a source that does not exist or has another schema is refused', async (t) => {
    const { path, url } = await setting(t)
    const missing = join(newFolder(t), 'none.db')
    t.match(await refusal(['move', '--from', `sqlite:${missing}`, '--to', url]), {
      code: 1,
      detail: /none\.db does not exist/,
    })
    t.notOk(existsSync(missing))
    await embedded(path, 'delete from schema_migrations')
    t.match(await refusal(['move', '--from', `sqlite:${path}`, '--to', url]), {
      code: 1,
      detail: /has migration 0 of \d+\. Run prospect-pages migrate/,
    })
  })
})

const embedded = async (path: string, sql: string) => {
  const database = openDatabase(path, 1_000)
  database.exec(sql)
  database.close()
}

t.test('a move goes from SQLite to PostgreSQL and nowhere else', async (t) => {
  const uses = [
    [],
    ['--from', 'sqlite:a.db'],
    ['--from', 'postgres://a/b', '--to', 'postgres://a/c'],
    ['--from', 'sqlite:a.db', '--to', 'sqlite:b.db'],
    ['--from', 'sqlite:a.db', '--to', 'mysql://a'],
  ]
  for (const use of uses)
    t.match(
      await runCommand(['move', ...use]),
      { code: 2, stdout: '', stderr: /--(from|to) / },
      use.join(' '),
    )
})

t.test('a batch is bounded in rows and in size', async (t) => {
  const sizes: { rows: number; characters: number }[] = []
  const many: Row[] = [
    ...Array.from({ length: 1_300 }, (_, n) => ({ n })),
    ...Array.from({ length: 30 }, () => ({ text: 'x'.repeat(1_000_000) })),
  ]
  const source: Source = { lock: () => {}, count: () => 0, rows: () => many, close: () => {} }
  const target: Target = {
    prepare: async () => {},
    mark: async () => {},
    count: async () => 0,
    countEqual: async () => 0,
    add: async (_table, rows) => {
      sizes.push({ rows: rows.length, characters: JSON.stringify(rows).length })
    },
    close: async () => {},
  }
  await move(source, target, () => {})
  t.equal(
    sizes.reduce((sum, { rows }) => sum + rows, 0),
    many.length * TABLES.length,
  )
  t.ok(sizes.every(({ rows, characters }) => rows <= 500 && characters < 4_000_000))
})
