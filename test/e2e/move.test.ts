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
import { NOT_MOVED_COLUMNS } from '../support/schema.ts'

t.setTimeout(0)
const BIN = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
const [kind] = databaseKinds().filter(({ name }) => name === 'postgres')
if (kind === undefined) throw new Error('no kind of database is PostgreSQL')

/** Counts the connections of moves. */
const MOVE_CONNECTIONS = `
  select count(*)::int as count from pg_stat_activity
  where datname = current_database() and application_name = 'prospect-pages-move'`

/** A filled embedded database, an empty one of PostgreSQL, and the command that moves one into the other. */
const openScene = async (t: Test, logs = 0) => {
  const path = join(newFolder(t), 'test.db')
  await fillSource(path, logs)
  const { env, rows } = await kind.open(t)
  const url = String(env['DATABASE_URL'])
  const count = async (sql: string) => (await rows<{ count: number }>(sql))[0]?.count ?? 0
  return {
    path,
    url,
    moveCommand: ['move', '--from', `sqlite:${path}`, '--to', url],
    count,
    countOf: (table: string) => count(`select count(*)::int as count from ${table}`),
  }
}

const openBoth = (path: string, url: string): { source: Source; target: Target } => ({
  source: sqliteSource(path, readMigrations('sqlite')),
  target: postgresTarget(url, readMigrations('postgres'), () => {}),
})
/** Moves in this process, and closes both databases. */
const moveAndClose = async (source: Source, target: Target): Promise<Moved> => {
  try {
    return await move(source, target, () => {})
  } finally {
    source.close()
    await target.close()
  }
}
/** The result of a command that is refused, with the reason it prints. */
const refusalOf = async (args: readonly string[], env = {}) => {
  const { code, stdout, stderr } = await runCommand(args, env)
  const lines = linesOf<{ detail?: string }>(stderr)
  const detail = lines.find((line) => line.detail !== undefined)?.detail
  return { code, stdout, detail }
}

t.test('moving to PostgreSQL', { skip: kind.skip ?? false }, async (t) => {
  t.teardown(kind.end)

  t.test('every row of every table is copied byte for byte, once', async (t) => {
    const { path, url, moveCommand } = await openScene(t, 2_000)
    const sourceBefore = await sqliteRows(path)
    const rowsToMove = await movedRows(path)

    const { code, stdout, stderr } = await runCommand(moveCommand)

    t.equal(code, 0, stderr)
    t.strictSame(await postgresRows(url), rowsToMove)
    t.strictSame(await sqliteRows(path), sourceBefore, 'the source did not change')
    const countByTable: Record<string, number> = {}
    let rows = 0
    for (const [table, rowsOfTable] of Object.entries(rowsToMove)) {
      t.ok(rowsOfTable.length >= 2, `${table} has rows`)
      countByTable[table] = rowsOfTable.length
      rows += rowsOfTable.length
    }
    t.strictSame(JSON.parse(stdout), { moved: true, rows, tables: countByTable })
    t.match(linesOf(stderr).at(-1), {
      step: 'checking',
      table: 'webhook_deliveries',
      rows: countByTable['webhook_deliveries'],
    })

    const secondMove = await answerOf(moveCommand, {})
    t.strictSame(secondMove.tables, countByTable, 'a second move reports the same')
    t.strictSame(await postgresRows(url), rowsToMove, 'and changes nothing')
  })

  t.test('time limits that the database sets for its roles do not stop a move', async (t) => {
    const { path, url, moveCommand } = await openScene(t)
    await answerOf(['migrate'], { DATABASE_URL: url })
    const { rows } = databaseAt(url)
    await rows(`
      create function slowly() returns trigger language plpgsql as 'begin perform pg_sleep(1.5); return new; end';
      create trigger slowly before insert on tenants execute function slowly();
      do 'begin execute format(''alter database %I set statement_timeout = 1000'', current_database()); end'`)
    await answerOf(moveCommand, {})
    t.strictSame(await postgresRows(url), await movedRows(path))
  })

  t.test('keys, pages and idempotency keys work after the move', async (t) => {
    const path = join(newFolder(t), 'test.db')
    const from = { DATABASE_URL: `sqlite:${path}` }
    const to = (await kind.open(t)).env
    const { apiKey, pageGroupId } = await seed(from)
    const pagesPath = `/v0/page_groups/${pageGroupId}/pages`
    const activity = { source: 'crm', email: 'ada@example.com', payload: { a: 1 }, idempotencyKey: 'one' }

    const serverBefore = await startServer(t, from)
    const callBefore = caller(serverBefore.url, apiKey)
    const receipt = (await callBefore('POST', '/v0/prospect_logs', activity)).text
    const { pageId } = (await callBefore('POST', pagesPath, { supplementaryContext: 'The spring sale' })).body
    const published = async () => (await callBefore('GET', `${pagesPath}/${pageId}`)).body.publishedVersion
    await until('the page is published', published)
    const page = (await callBefore('GET', `${pagesPath}/${pageId}`)).text
    t.equal(await serverBefore.stop(), 0)

    await answerOf(['move', '--from', from.DATABASE_URL, '--to', String(to['DATABASE_URL'])], {})
    const server = await startServer(t, to)
    const call = caller(server.url, apiKey)
    t.equal((await call('GET', `${pagesPath}/${pageId}`)).text, page)
    const replay = await call('POST', '/v0/prospect_logs', activity)
    t.equal(replay.text, receipt)
    t.equal(replay.headers.get('idempotent-replayed'), 'true')
    const nextActivity = { ...activity, idempotencyKey: 'two' }
    t.match((await call('POST', '/v0/prospect_logs', nextActivity)).body, { createdProspect: false })
    t.equal((await call('POST', pagesPath, {})).status, 201)
    t.match((await call('GET', '/v0/page_groups')).body.items, [{ pageGroupId, pagesCount: 2 }])
  })

  t.test('every column is read, except those that the index of the search fills', async (t) => {
    const { path, url } = await openScene(t)
    const { source, target } = openBoth(path, url)
    source.lock()
    const columnsRead = new Map<string, string[]>()
    for (const table of TABLES) {
      const [firstRow = {}] = source.rows(table)
      columnsRead.set(table.name, Object.keys(firstRow).sort())
    }
    source.close()
    await target.close()

    const { rows } = embeddedDatabase(path)
    for (const { name: table } of TABLES) {
      const columns = await rows<{ name: string }>(`select name from pragma_table_info('${table}')`)
      const names = columns.map(({ name }) => name).filter((name) => !NOT_MOVED_COLUMNS.includes(name))
      t.strictSame(columnsRead.get(table), names.sort(), table)
    }
  })

  t.test('a move that was killed halfway', async (t) => {
    const LOGS = 12_000
    const { path, url, moveCommand, count, countOf } = await openScene(t, LOGS)
    const env = { DATABASE_URL: url, PORT: '0' }
    await killWhileCopying(moveCommand)
    await until('its connection has ended', async () => (await count(MOVE_CONNECTIONS)) === 0)
    t.ok((await countOf('prospects')) > 0, 'some rows were copied')
    t.ok((await countOf('prospect_logs')) < LOGS, 'and some were not')
    const notComplete = /move .* is not complete\. Run the same prospect-pages move again/

    await t.test('leaves a database that nothing can use', async (t) => {
      for (const command of [['serve'], ['migrate'], ['tenants', 'create', '--name', 'One']])
        t.match(
          await refusalOf(command, env),
          { code: 1, stdout: '', detail: notComplete },
          command.join(' '),
        )
    })

    await t.test('is what doctor and status find', async (t) => {
      t.match((await diagnosed(t, env)).failed, [
        { detail: /^The move .* is not complete$/, remedy: /^Run the same .* empty the database\.$/ },
      ])
      const findings = await findAttention(readConfig(env), Date.now())
      t.equal(findings.length, 1)
      t.match(findings[0], { kind: 'database', detail: notComplete })
    })

    await t.test('completes when it is run again', async (t) => {
      t.equal((await runCommand(moveCommand)).code, 0)
      t.equal((await diagnosed(t, env)).named('role')?.state, 'ok', 'the database can be used')
      t.strictSame(await postgresRows(url), await movedRows(path))
    })
  })

  t.test('a move that fails after any batch completes when it is run again', async (t) => {
    const { path, url } = await openScene(t, 1_200)
    const rowsToMove = await movedRows(path)
    /** Moves until the batch of this number, of which it writes one half, as before a lost connection. */
    const moveUntilBatch = async (failingBatch: number): Promise<'complete' | 'stopped'> => {
      const { source, target } = openBoth(path, url)
      let batch = 0
      const add: Target['add'] = async (table, rows) => {
        if (batch++ !== failingBatch) return target.add(table, rows)
        await target.add(table, rows.slice(rows.length / 2))
        throw new Error('stopped')
      }
      try {
        await moveAndClose(source, { ...target, add })
        return 'complete'
      } catch (error) {
        if ((error as Error).message !== 'stopped') throw error
        return 'stopped'
      }
    }
    let stops = 0
    while ((await moveUntilBatch(stops)) === 'stopped') stops++
    t.ok(stops >= 10, `stopped ${stops} times`)
    t.strictSame(await postgresRows(url), rowsToMove)
  })

  t.test('a target that contains other data is refused, and nothing is written', async (t) => {
    const { moveCommand, url, countOf } = await openScene(t)
    await answerOf(['migrate'], { DATABASE_URL: url })
    await answerOf(['tenants', 'create', '--name', 'Somebody'], { DATABASE_URL: url })
    t.match(await refusalOf(moveCommand), {
      code: 1,
      stdout: '',
      detail: /contains other data: 1 of its 1 rows in tenants/,
    })
    t.equal(await countOf('tenants'), 1)
    t.equal(await countOf('prospects'), 0)
  })

  t.test('a target whose rows changed after a move is refused, and keeps the change', async (t) => {
    const { path } = await openScene(t)
    for (const change of [
      "update prospects set name = 'Other' where name = 'Ada'",
      "update prospect_logs set payload = '{}' where payload::text like '%1e131071%'",
      'update api_keys set revoked_at = null',
      "update page_groups set actions = '[]'",
      'update page_counts set pages_count = pages_count + 1',
    ]) {
      const url = String((await kind.open(t)).env['DATABASE_URL'])
      const first = openBoth(path, url)
      await moveAndClose(first.source, first.target)
      await databaseAt(url).rows(change)
      const changed = await postgresRows(url)
      const second = openBoth(path, url)
      await t.rejects(moveAndClose(second.source, second.target), /contains other data/, change)
      t.strictSame(await postgresRows(url), changed)
    }
  })

  t.test('rows that another program writes to the target during a move are found', async (t) => {
    const { path, url } = await openScene(t)
    const { source, target } = openBoth(path, url)
    const add: Target['add'] = async (table, rows) => {
      await target.add(table, rows)
      if (table.name === 'page_versions')
        await databaseAt(url).rows("insert into tenants values ('tenant_other', 'Other', now())")
    }
    await t.rejects(
      moveAndClose(source, { ...target, add }),
      /differs from the source: of 2 rows in tenants, .* has 3/,
    )
  })

  t.test('a source that a server has open is refused, because its later writes would be lost', async (t) => {
    const { moveCommand, path, countOf } = await openScene(t)
    const server = await startServer(t, { DATABASE_URL: `sqlite:${path}` })
    t.match(await refusalOf(moveCommand), {
      code: 1,
      stdout: '',
      detail: /Another process has the source open\. Stop the server/,
    })
    await t.rejects(countOf('tenants'), { code: '42P01' }, 'nothing was created')
    t.equal(await server.stop(), 0)
    t.equal((await runCommand(moveCommand)).code, 0)
  })

  t.test('no other process can open the source during a move', async (t) => {
    const { path, url } = await openScene(t)
    const { source, target } = openBoth(path, url)
    const SQLITE_BUSY = 5
    const errorCodes = new Set<number | undefined>()
    const add: Target['add'] = async (table, rows) => {
      await target.add(table, rows)
      try {
        openDatabase(path, 0).close()
      } catch (error) {
        errorCodes.add((error as { errcode?: number }).errcode)
      }
    }
    await moveAndClose(source, { ...target, add })
    t.strictSame([...errorCodes], [SQLITE_BUSY])
    openDatabase(path, 0).close()
    t.pass('it can be opened again after the move')
  })

  t.test('a target that a server has open is refused', async (t) => {
    const { moveCommand, url } = await openScene(t)
    await startServer(t, { DATABASE_URL: url })
    t.match(await refusalOf(moveCommand), { code: 1, detail: /A server has the target open/ })
  })

  t.test('a source that does not exist is refused, and not created', async (t) => {
    const { url } = await openScene(t)
    const missing = join(newFolder(t), 'none.db')
    const refusal = await refusalOf(['move', '--from', `sqlite:${missing}`, '--to', url])
    t.match(refusal, { code: 1, detail: /none\.db does not exist/ })
    t.notOk(existsSync(missing))
  })

  t.test('a source with another schema is refused', async (t) => {
    const { path, moveCommand } = await openScene(t)
    const database = openDatabase(path, 1_000)
    database.exec('delete from schema_migrations')
    database.close()
    const refusal = await refusalOf(moveCommand)
    t.match(refusal, { code: 1, detail: /has migration 0 of \d+\. Run prospect-pages migrate/ })
  })
})

/** Runs a move in a separate process, and kills it as soon as it copies prospects. */
const killWhileCopying = async (moveCommand: readonly string[]) => {
  const child = spawn(process.execPath, [BIN, ...moveCommand], {
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
  if (child.signalCode !== 'SIGKILL') throw new Error(`the move ended before it was killed: ${stderr}`)
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
  const BATCH_ROWS_MAX = 500
  const BATCH_CHARACTERS_MAX = 4_000_000
  const small: Row[] = Array.from({ length: 1_300 }, (_, n) => ({ n }))
  const large: Row[] = Array.from({ length: 30 }, () => ({ text: 'x'.repeat(1_000_000) }))
  const rowsOfEachTable = [...small, ...large]
  let added = 0
  const source: Source = { lock: () => {}, count: () => 0, rows: () => rowsOfEachTable, close: () => {} }
  const target: Target = {
    prepare: async () => {},
    mark: async () => {},
    count: async () => 0,
    countEqual: async () => 0,
    add: async (_table, rows) => {
      added += rows.length
      t.ok(rows.length <= BATCH_ROWS_MAX, `${rows.length} rows`)
      const characters = JSON.stringify(rows).length
      t.ok(characters < BATCH_CHARACTERS_MAX, `${characters} characters`)
    },
    close: async () => {},
  }
  await move(source, target, () => {})
  t.equal(added, rowsOfEachTable.length * TABLES.length)
})
