import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { fillSource, sqliteRows } from '../support/moving.ts'
import {
  answerOf,
  caller,
  embeddedDatabase,
  linesOf,
  newFolder,
  runCommand,
  seed,
  startProgram,
  until,
} from '../support/program.ts'

t.setTimeout(180_000)
const CALLERS = 16

const urlOf = (path: string) => ({ DATABASE_URL: `sqlite:${path}` })
const refusal = async (file: string, env: Record<string, string>) => {
  const { code, stdout, stderr } = await runCommand(['backup', file], env)
  return { code, stdout, detail: linesOf<{ detail?: string }>(stderr).at(-1)?.detail }
}
const filled = async (t: Test) => {
  const folder = newFolder(t)
  const path = join(folder, 'test.db')
  await fillSource(path)
  return { folder, path, file: join(folder, 'backup.db') }
}

t.test('a backup under load contains every acknowledged write, and a server can use it', async (t) => {
  const folder = newFolder(t)
  const path = join(folder, 'test.db')
  const env = urlOf(path)
  const { apiKey, pageGroupId } = await seed(env)
  const server = await startProgram(t, env)
  await server.ready()
  const call = caller(server.url, apiKey)
  const pages = `/v0/page_groups/${pageGroupId}/pages`

  const acknowledged = { logs: new Set<string>(), pages: new Set<string>() }
  const refused: number[] = []
  let isOver = false
  const write = async (name: number) => {
    for (let n = 0; !isOver; n++) {
      const payload = { text: `${name}.${n} `.repeat(200) }
      const logged = await call('POST', '/v0/prospect_logs', { source: 'crm', payload })
      if (logged.status !== 201) refused.push(logged.status)
      acknowledged.logs.add(logged.body.prospectLogId)
      if (n % 10 === 0) acknowledged.pages.add((await call('POST', pages, {})).body.pageId)
    }
  }
  const writing = Array.from({ length: CALLERS }, (_, name) => write(name))
  const backups = []
  for (let n = 0; n < 3; n++) {
    const soFar = acknowledged.logs.size
    await until('more is logged', () => acknowledged.logs.size >= soFar + 300)
    const [logs, madePages] = [[...acknowledged.logs], [...acknowledged.pages]]
    const file = join(folder, `backup-${n}.db`)
    backups.push({ file, logs, pages: madePages, answer: await answerOf(['backup', file], env) })
  }
  isOver = true
  await Promise.all(writing)
  t.strictSame(refused, [], 'no write was refused')
  t.equal(await server.stop(), 0)

  for (const { file, logs, pages: madePages, answer } of backups) {
    t.strictSame(answer, { file, bytes: statSync(file).size, migration: 1 })
    t.equal(statSync(file).mode & 0o777, 0o600)
    const { rows } = embeddedDatabase(file)
    t.same(await rows('pragma integrity_check'), [{ integrity_check: 'ok' }])
    const kept = new Set(
      (await rows<{ id: string }>('select prospect_log_id as id from prospect_logs')).map((row) => row.id),
    )
    const keptPages = new Set(
      (await rows<{ id: string }>('select page_id as id from pages')).map((row) => row.id),
    )
    t.strictSame(
      logs.filter((id) => !kept.has(id)),
      [],
      `all ${logs.length}`,
    )
    t.strictSame(
      madePages.filter((id) => !keptPages.has(id)),
      [],
    )
  }
  t.strictSame(
    readdirSync(folder)
      .filter((name) => name.startsWith('backup'))
      .sort(),
    backups.map((_, n) => `backup-${n}.db`),
    'no temporary file remains',
  )

  // Restored as documented: in the place of the database, without the old journal.
  const [restored = { file: '', logs: [] }] = backups
  const place = join(newFolder(t), 'test.db')
  copyFileSync(restored.file, place)
  const again = await startProgram(t, urlOf(place))
  await again.ready()
  const callAgain = caller(again.url, apiKey)
  const [item] = (await callAgain('GET', pages)).body.items
  t.equal((await callAgain('GET', `${pages}/${item.pageId}`)).status, 200)
  const published = async () => (await callAgain('GET', `${pages}/${item.pageId}`)).body.publishedVersion
  // It is the last of all that waited when the backup was made.
  const patience = { tries: 2_400 }
  t.match(await until('the waiting page is published', published, patience), { versionNumber: 1 })
  t.equal((await callAgain('POST', '/v0/prospect_logs', { source: 'crm', payload: {} })).status, 201)
  t.equal(await again.stop(), 0)
})

t.test('without a server too the copy has the same rows, and only its owner can read it', async (t) => {
  const { path, file } = await filled(t)
  await answerOf(['backup', file], urlOf(path))
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.strictSame(await sqliteRows(file), await sqliteRows(path))
})

t.test('rows that are only in the journal are copied too', async (t) => {
  const { path, file } = await filled(t)
  const held = new DatabaseSync(path)
  held.exec(
    "insert into tenants (tenant_id, name, created_at) values ('tenant_late', 'Late', '2026-01-01T00:00:00.000Z')",
  )
  t.notOk(readFileSync(path).includes('tenant_late'))
  await answerOf(['backup', file], urlOf(path))
  held.close()
  t.strictSame(await sqliteRows(file), await sqliteRows(path))
})

t.test('a backup does not overwrite a file', async (t) => {
  const { folder, path, file } = await filled(t)
  writeFileSync(file, 'somebody else’s')
  t.match(await refusal(file, urlOf(path)), { code: 1, stdout: '', detail: /already exists/ })
  t.equal(readFileSync(file, 'utf8'), 'somebody else’s')
  t.match(await refusal(path, urlOf(path)), { code: 1, detail: /already exists/ }, 'nor the database itself')
  t.strictSame(
    readdirSync(folder).filter((name) => name.includes('unfinished')),
    [],
  )
})

t.test('a backup into a folder that does not exist names the folder', async (t) => {
  const { folder, path } = await filled(t)
  t.match(await refusal(join(folder, 'missing', 'one.db'), urlOf(path)), {
    code: 1,
    detail: `The folder ${folder}/missing does not exist.`,
  })
})

t.test('a source that is missing, damaged or not a database of ours is refused', async (t) => {
  const { folder, path } = await filled(t)
  const other = join(folder, 'other.db')
  const database = new DatabaseSync(other)
  database.exec('create table mine (id)')
  database.close()
  const garbage = join(folder, 'garbage.db')
  writeFileSync(garbage, 'This is not a database.\n'.repeat(1_000))
  const damaged = join(folder, 'damaged.db')
  writeFileSync(damaged, damage(readFileSync(path)))
  const refusals = [
    [join(folder, 'missing.db'), /does not exist/],
    [other, /is not a database of prospect-pages/],
    [garbage, /not a database/],
    [damaged, /damaged|malformed/],
  ] as const
  for (const [from, detail] of refusals) {
    const file = join(newFolder(t), 'backup.db')
    t.match(await refusal(file, urlOf(from)), { code: 1, stdout: '', detail }, from)
    t.strictSame(readdirSync(dirname(file)), [])
  }
  t.notOk(existsSync(join(folder, 'missing.db')), 'and is not made')
})

/** All but the first pages are something else. */
const damage = (whole: Buffer): Buffer => {
  const damaged = Buffer.from(whole)
  damaged.fill(0xa5, 8 * 4_096)
  return damaged
}

t.test('PostgreSQL and memory are refused with a reason', async (t) => {
  const file = join(newFolder(t), 'backup.db')
  const url = 'postgres://somebody:secret@localhost/db'
  const refused = await refusal(file, { DATABASE_URL: url })
  t.match(refused, { code: 1, stdout: '', detail: /pg_dump/ })
  t.notMatch(refused.detail, /secret/)
  t.match(await refusal(file, { DATABASE_URL: 'memory:' }), { code: 1, detail: /memory/ })
  t.equal((await runCommand(['backup'])).code, 2, 'and no name of a file is wrong use')
})
