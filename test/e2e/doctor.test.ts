import { once } from 'node:events'
import { chmodSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { type Check, judgeOpenFiles } from '../../src/adapters/check.ts'
import { mountSmallDisk, whyNoSmallDisk } from '../faults/small-disk.ts'
import { runChild, sourceUrl } from '../support/children.ts'
import { fillSource } from '../support/moving.ts'
import { UNPRIVILEGED } from '../support/postgres.ts'
import {
  type Environment,
  embeddedDatabase,
  newFolder,
  runCommand,
  startProgram,
} from '../support/program.ts'

t.setTimeout(120_000)

/** What doctor says; that it changes nothing and ends with the right code is looked at each time. */
const examined = async (t: Test, env: Environment, ...args: string[]) => {
  const { code, stdout, stderr } = await runCommand(['doctor', ...args], env)
  t.equal(stderr, '')
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] }
  t.equal(ok, !checks.some((check) => !check.ok))
  t.equal(code, ok ? 0 : 1)
  for (const check of checks)
    t.equal(check.remedy === undefined, check.ok, `${check.name}: a remedy where it is needed`)
  return {
    names: checks.map(({ name }) => name),
    // How many files may be open is this machine's affair.
    wrong: checks.filter((check) => !check.ok && check.name !== 'open files'),
    named: (name: string) => checks.find((check) => check.name === name),
  }
}
const filled = async (t: Test) => {
  const folder = newFolder(t)
  const path = join(folder, 'test.db')
  await fillSource(path)
  return { folder, path, env: { DATABASE_URL: `sqlite:${path}` } }
}
const tell = (path: string, sql: string) => {
  const file = new DatabaseSync(path)
  file.exec(sql)
  file.close()
}

t.test('a sound embedded database has nothing wrong with it, and is left as it was', async (t) => {
  const { path, env } = await filled(t)
  const before = readFileSync(path)
  const { names, wrong } = await examined(t, env)
  t.strictSame(wrong, [])
  t.strictSame(names, [
    'settings',
    'database',
    'migrations',
    'write access',
    'disk',
    'clock',
    'integrity',
    'open files',
  ])
  t.ok(before.equals(readFileSync(path)))
  t.strictSame((await examined(t, env, '--thorough')).wrong, [])
})

t.test('while a server runs too', async (t) => {
  const { env } = await filled(t)
  const server = await startProgram(t, env)
  await server.ready()
  t.strictSame((await examined(t, env)).wrong, [])
  t.equal(await server.stop(), 0)
})

t.test('before the first run there is no database, and none is made', async (t) => {
  const folder = newFolder(t)
  const path = join(folder, 'not', 'yet', 'test.db')
  const { wrong, named } = await examined(t, { DATABASE_URL: `sqlite:${path}` })
  t.strictSame(wrong, [])
  t.match(named('database'), { detail: /is not there yet/ })
  t.match(named('write access'), { detail: folder })
  t.match((await examined(t, { DATABASE_URL: 'memory:' })).wrong, [])
})

t.test('every setting that is not right is told, without its value', async (t) => {
  const { wrong, names } = await examined(t, {
    PORT: 'x',
    DATABASE_URL: 'mysql://somebody:secret@localhost/db',
  })
  t.strictSame(names, ['settings'])
  t.match(wrong, [{ detail: /PORT must .*DATABASE_URL must/s, remedy: /--help/ }])
  t.notMatch(wrong[0]?.detail, /secret/)
})

t.test('missing migrations, and those of a newer release, are told', async (t) => {
  const { path, env } = await filled(t)
  tell(path, "insert into schema_migrations values (99, '0099_later.sql', '2026-01-01T00:00:00.000Z')")
  t.match((await examined(t, env)).wrong, [{ name: 'migrations', remedy: /install the release/ }])
  tell(path, 'delete from schema_migrations')
  t.match((await examined(t, env)).wrong, [{ name: 'migrations', detail: /^0 of/, remedy: /migrate/ }])
})

t.test('a damaged file is told, and one that is no database', async (t) => {
  const { path, env } = await filled(t)
  const root = "select rootpage from sqlite_schema where name = 'prospect_logs_idempotency_key'"
  const [index] = await embeddedDatabase(path).rows<{ rootpage: number }>(root)
  const damaged = readFileSync(path)
  damaged.fill(0xa5, ((index?.rootpage ?? 0) - 1) * 4_096, (index?.rootpage ?? 0) * 4_096)
  writeFileSync(path, damaged)
  t.match((await examined(t, env)).wrong, [{ name: 'integrity', remedy: /restore/ }])
  writeFileSync(path, 'This is not a database.\n'.repeat(1_000))
  t.match((await examined(t, env)).wrong, [{ name: 'database', detail: /not a database/, remedy: /backup/ }])
})

t.test('a clock that was set back shows in what was written later than now', async (t) => {
  const { path, env } = await filled(t)
  const later = Date.now() / 1_000 + 3_600
  utimesSync(path, later, later)
  t.match((await examined(t, env)).wrong, [
    { name: 'clock', detail: /ms behind the last write/, remedy: /NTP/ },
  ])
})

t.test('a file or a folder that may not be written to is told', async (t) => {
  const { folder, path } = await filled(t)
  const look = async (): Promise<Check[]> => {
    const script = `
      const { examineSqlite } = await import(process.argv[1])
      if (process.getuid() === 0) process.setuid(${UNPRIVILEGED})
      const { checks } = examineSqlite({ path: process.argv[2], thorough: false, nowMs: Date.now() })
      process.stdout.write(JSON.stringify(checks.filter(({ ok }) => !ok)))`
    return JSON.parse(await runChild(script, sourceUrl('adapters/sqlite/examine.ts'), path))
  }
  chmodSync(path, 0o444)
  chmodSync(folder, 0o777)
  t.match(await look(), [{ name: 'write access', detail: new RegExp(`to ${path}`), remedy: /user/ }])
  chmodSync(path, 0o666)
  chmodSync(folder, 0o555)
  const shut = (await look()).find(({ name }) => name === 'write access')
  t.match(shut, { detail: new RegExp(`to ${folder}(,|$)`), remedy: /user/ })
  chmodSync(folder, 0o700)
})

t.test('a large file is looked at only where that is asked for', async (t) => {
  const { path, env } = await filled(t)
  truncateSync(path, 1_100_000_000)
  t.match((await examined(t, env)).named('integrity'), { ok: true, detail: /not looked at.*--thorough/ })
  const { named } = await examined(t, env, '--thorough')
  t.notMatch(named('integrity'), { detail: /not looked at/ })
})

t.test('a disk with little room is told', { skip: whyNoSmallDisk() ?? false }, async (t) => {
  const disk = mountSmallDisk(t, 16)
  if (disk === null) return t.pass('no small disk', { skip: 'NO SMALL DISK HERE: none could be mounted' })
  const { wrong } = await examined(t, { DATABASE_URL: `sqlite:${disk.folder}/test.db` })
  return t.match(wrong, [{ name: 'disk', detail: /bytes are free/, remedy: /make room/ }])
})

t.test('a limit of open files that is too low is told', async (t) => {
  t.match(judgeOpenFiles(1), { ok: true })
  t.match(judgeOpenFiles(1e9), { ok: false, detail: /1000000064/, remedy: /LimitNOFILE/ })
})

t.test('a namer is asked for a name: one that gives it, one that refuses, and none at all', async (t) => {
  const asked: string[] = []
  const namer = createServer((request, response) => {
    asked.push(`${request.headers.authorization}`)
    const key = request.headers.authorization?.replace('Bearer ', '') ?? ''
    const content = { right: 'Spring', mute: ' ' }[key]
    response.writeHead(content === undefined ? 401 : 200)
    response.end(JSON.stringify({ choices: [{ message: { content } }] }))
  })
  await once(namer.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => namer.close())
  const url = `http://127.0.0.1:${(namer.address() as AddressInfo).port}/v1`
  const { env } = await filled(t)
  const settings = (NAMER_API_KEY: string) => ({
    ...env,
    NAMER_URL: url,
    NAMER_MODEL: 'small',
    NAMER_API_KEY,
  })
  t.match((await examined(t, settings('right'))).named('namer'), { ok: true, detail: /small/ })
  const refused = await examined(t, settings('secret'))
  t.match(refused.wrong, [{ name: 'namer', detail: /401/, remedy: /NAMER_API_KEY/ }])
  t.notMatch(JSON.stringify(refused.wrong), /secret/)
  t.match((await examined(t, settings('mute'))).wrong, [{ name: 'namer', detail: /no name/ }])
  namer.closeAllConnections()
  await new Promise((resolve) => namer.close(resolve))
  t.match((await examined(t, settings('right'))).wrong, [{ name: 'namer', detail: /ECONNREFUSED/ }])
  t.equal(asked.length, 3)
})
