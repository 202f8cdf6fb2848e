import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { Check } from '../../src/maintenance/check.ts'
import type { Finding } from '../../src/maintenance/findings.ts'
import { mountSmallDisk, whyNoSmallDisk } from '../faults/small-disk.ts'
import { runChild, sourceUrl } from '../support/children.ts'
import { diagnosed } from '../support/doctor.ts'
import { fillSource } from '../support/moving.ts'
import { UNPRIVILEGED } from '../support/postgres.ts'
import { embeddedDatabase, linesOf, newFolder, runCommand, startServer } from '../support/program.ts'

t.setTimeout(0)

const filled = async (t: Test) => {
  const folder = newFolder(t)
  const path = join(folder, 'test.db')
  await fillSource(path)
  execute(path, "update erasures set requested_at = strftime('%FT%H:%M:%fZ')")
  return { folder, path, env: { DATABASE_URL: `sqlite:${path}` } }
}
const execute = (path: string, sql: string) => {
  const file = new DatabaseSync(path)
  file.exec(sql)
  file.close()
}

t.test('a sound embedded database passes every check, and doctor does not change it', async (t) => {
  const { path, env } = await filled(t)
  const before = readFileSync(path)
  const { names, failed } = await diagnosed(t, env)
  t.strictSame(failed, [])
  const file = ['database', 'write access', 'disk', 'temporary files', 'privacy', 'integrity', 'migrations']
  t.strictSame(names, [
    'settings',
    ...file,
    'erasures',
    'retention',
    'webhook secrets',
    'encryption',
    'locks',
    'sizes',
  ])
  t.ok(before.equals(readFileSync(path)))
  t.strictSame((await diagnosed(t, env, '--thorough')).failed, [])
})

t.test('an erasure that nobody completes is reported', async (t) => {
  const { path, env } = await filled(t)
  const requested = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
  const asked = (hours: number) => execute(path, `update erasures set requested_at = '${requested(hours)}'`)
  asked(25)
  t.strictSame((await diagnosed(t, env)).failed, [])
  asked(50)
  const detail = /^erasure_\w+ has not been completed \(since 20.*Z\)$/
  t.match((await diagnosed(t, env)).failed, [{ name: 'erasures', detail, remedy: /serve is running/ }])
})

t.test('a clock far past the time at which the database was last served is reported', async (t) => {
  const { path, env } = await filled(t)
  execute(path, "insert into served values (1, '2020-01-01T00:00:00.000Z', null)")
  const detail = /the clock says 20.*, but the database was last served at 2020-01-01T00:00:00.000Z$/
  t.match((await diagnosed(t, env)).failed, [{ name: 'retention', detail, remedy: /^check the clock/ }])
})

t.test('webhook secrets are warned of while unencrypted; all that sign must open', async (t) => {
  const { path, env } = await filled(t)
  const { named } = await diagnosed(t, env)
  t.match(named('encryption'), {
    state: 'warning',
    detail: /^8 webhook secrets are not encrypted/,
    remedy: /^set SECRETS_KEY/,
  })
  const lost =
    "update webhook_endpoints set previous_secret = 'v1:lost', previous_secret_until = '9999' where slot = 2"
  execute(path, lost)
  t.match((await diagnosed(t, env)).failed, [
    { name: 'webhook secrets', detail: /^(no key decrypts a secret of webhookendpoint_[^;]*(; |$)){2}$/ },
  ])
  execute(path, "update webhook_endpoints set previous_secret_until = '2025'")
  t.strictSame((await diagnosed(t, env)).failed, [], 'an old secret that no longer signs is not needed')
  execute(
    path,
    "update webhook_endpoints set secret = 'v1:lost', status = 'deleted', slot = null where slot = 1",
  )
  t.strictSame((await diagnosed(t, env)).failed, [])
  execute(
    path,
    "update hooks set secret = 'v1:lost' where slot = 1; update hooks set secret = 'hash' where slot = 2",
  )
  t.match((await diagnosed(t, env)).failed, [
    { name: 'webhook secrets', detail: /^no key decrypts a secret of hook_[^;]*$/ },
  ])
})

t.test('a database passes every check while a server uses it', async (t) => {
  const { env } = await filled(t)
  const server = await startServer(t, env)
  t.strictSame((await diagnosed(t, env)).failed, [])
  t.equal(await server.stop(), 0)
})

t.test('a database that does not exist yet passes, and doctor does not create it', async (t) => {
  const folder = newFolder(t)
  const path = join(folder, 'not', 'yet', 'test.db')
  const { failed, named } = await diagnosed(t, { DATABASE_URL: `sqlite:${path}` })
  t.strictSame(failed, [])
  t.match(named('database'), { detail: /does not exist yet/ })
  t.match(named('write access'), { detail: folder })
  t.match((await diagnosed(t, { DATABASE_URL: 'memory:' })).failed, [])
})

t.test(
  'copies that a killed command left unfinished an hour ago are named, with the command that removes them',
  async (t) => {
    const { path, env } = await filled(t)
    const BACKUP_DIR = newFolder(t)
    const [left, made] = [path, join(BACKUP_DIR, 'other.db')].map(
      (file) => `${file}.unfinished-${randomUUID()}`,
    )
    for (const file of [left, made]) writeFileSync(String(file), 'half a copy')
    t.notOk(
      (await diagnosed(t, { ...env, BACKUP_DIR })).named('unfinished copies'),
      'they may be in progress',
    )
    for (const file of [left, made]) utimesSync(String(file), 0, Date.now() / 1_000 - 3_601)
    t.match((await diagnosed(t, { ...env, BACKUP_DIR })).named('unfinished copies'), {
      state: 'warning',
      remedy: `run rm ${left} ${made}`,
    })
  },
)

t.test('what the database and its copies occupy is listed, and whether the next backup fits', async (t) => {
  const { folder, path, env } = await filled(t)
  const journal = '0 bytes'
  const sizes = async () => (await diagnosed(t, env)).named('sizes')?.detail
  const { size } = statSync(path)
  t.equal(await sizes(), `the database has ${size} bytes, its journal ${journal}, 0 copies 0 bytes`)
  copyFileSync(path, `${path}.before-restore-2026-11-21T03-00-00.000Z`)
  t.equal(await sizes(), `the database has ${size} bytes, its journal ${journal}, 1 copy ${size} bytes`)
  const { named } = await diagnosed(t, { ...env, BACKUP_DIR: folder })
  t.match(named('backup disk'), { state: 'ok', detail: new RegExp(`^\\d+ bytes free in ${folder}$`) })
})

t.test('copies that are older than an erasure are named, with the number of erasures since', async (t) => {
  const { folder, path, env } = await filled(t)
  const BACKUP_DIR = join(folder, 'backups')
  const copies = async () => (await diagnosed(t, { ...env, BACKUP_DIR })).named('copies')
  execute(path, "update erasures set status = 'completed', completed_at = '2026-11-22T00:00:00.000Z'")
  mkdirSync(BACKUP_DIR)
  t.equal(await copies(), undefined, 'there is no copy')

  const count = 'select count(*) as erasures from erasures where part_of is null'
  const [row] = await embeddedDatabase(path).rows<{ erasures: number }>(count)
  const came = row?.erasures === 1 ? '1 erasure' : `${row?.erasures} erasures`
  const held = (file: string, time: string) =>
    `${file} from ${time} may hold erased people: ${came} came after it`
  const later = join(BACKUP_DIR, 'test.db.2026-11-22T00-00-00.000Z')
  const earlier = join(BACKUP_DIR, 'test.db.2026-11-21T03-00-00.000Z')
  const kept = `${path}.before-restore-2026-11-20T03-00-00.000Z`
  copyFileSync(path, later)
  t.match(await copies(), { state: 'ok', detail: 'no copy is older than an erasure' })
  copyFileSync(path, earlier)
  copyFileSync(path, kept)
  const details = [held(earlier, '2026-11-21T03:00:00.000Z'), held(kept, '2026-11-20T03:00:00.000Z')]
  t.match(await copies(), {
    state: 'warning',
    detail: details.join('; '),
    remedy:
      /^delete with rm each copy .*, or wait until 7 newer backups .*; if you restore one, erase .* again$/,
  })
  execute(path, "update erasures set status = 'processing', completed_at = null")
  const whileErasing = (await copies())?.detail ?? ''
  t.ok(
    whileErasing.includes(held(later, '2026-11-22T00:00:00.000Z')),
    'an erasure that is not complete counts',
  )
})

t.test('a copy that a migration kept is as old as its file', async (t) => {
  const { path, env } = await filled(t)
  const kept = `${path}.before-0.1.0`
  execute(path, "update erasures set status = 'completed', completed_at = '2026-11-22T00:00:00.000Z'")
  copyFileSync(path, kept)
  utimesSync(kept, 0, Date.parse('2026-11-21T00:00:00.000Z') / 1_000)
  const copies = (await diagnosed(t, env)).named('copies')
  t.match(copies?.detail, `${kept} from 2026-11-21T00:00:00.000Z may hold erased people`)
  t.notMatch(copies?.remedy, /newer backups/, 'there is no schedule')
})

t.test(
  'a disk without room for the next backup is reported',
  { skip: whyNoSmallDisk() ?? false },
  async (t) => {
    const disk = mountSmallDisk(t, 1)
    if (disk === null) return t.pass('no small disk', { skip: 'NO SMALL DISK HERE: none could be mounted' })
    const { env } = await filled(t)
    disk.fill()
    const { failed } = await diagnosed(t, { ...env, BACKUP_DIR: disk.folder })
    return t.match(failed, [
      { name: 'backup disk', detail: /^0 bytes free in /, remedy: /the next backup needs \d{6} bytes/ },
      { name: 'backups', detail: /has no backup$/ },
    ])
  },
)

t.test('a folder is no database', async (t) => {
  const folder = newFolder(t)
  const { named } = await diagnosed(t, { DATABASE_URL: `sqlite:${folder}` })
  t.equal(named('database')?.detail, `${folder} could not be read: ${folder} is a folder.`)
})

t.test('a journal whose file is missing is reported', async (t) => {
  const path = join(newFolder(t), 'test.db')
  writeFileSync(`${path}-wal`, 'acknowledged writes', { mode: 0o600 })
  const detail = `${path} is missing, but its journal ${path}-wal is there`
  const remedy = 'put the file back, or move the journal away'
  t.strictSame((await diagnosed(t, { DATABASE_URL: `sqlite:${path}` })).failed, [
    { name: 'database', state: 'failed', detail, remedy },
  ])
  t.notOk(existsSync(path))
})

t.test('every invalid setting is reported without its value', async (t) => {
  const { failed, names } = await diagnosed(t, {
    PORT: 'x',
    DATABASE_URL: 'mysql://somebody:secret@localhost/db',
  })
  t.strictSame(names, ['settings'])
  t.match(failed, [{ detail: /PORT must .*DATABASE_URL must/s, remedy: /--help/ }])
  t.notMatch(failed[0]?.detail, /secret/)
})

t.test('a misspelt setting is named, also beside invalid ones, and fails nothing', async (t) => {
  const typo = { DATABASE_URL: 'memory:', RETENTON_DAYS: 'secret' }
  const warning = 'RETENTON_DAYS is not a setting; did you mean RETENTION_DAYS?'
  const { named, failed } = await diagnosed(t, typo)
  t.strictSame(failed, [])
  t.match(named('settings'), { state: 'warning', detail: warning })
  const invalid = await diagnosed(t, { ...typo, PORT: 'x' })
  t.equal(invalid.named('settings')?.detail, `PORT must be a whole number from 0 to 65535; ${warning}`)
})

t.test('missing migrations and those of a newer release are reported', async (t) => {
  const { path, env } = await filled(t)
  execute(
    path,
    "insert into schema_migrations values (99, '0099_later.sql', '2026-01-01T00:00:00.000Z', '', '9.8.7')",
  )
  t.match((await diagnosed(t, env)).failed, [{ name: 'migrations', remedy: /install the release/ }])
  execute(path, 'delete from schema_migrations')
  t.match((await diagnosed(t, env)).failed, [{ name: 'migrations', detail: /^0 of/, remedy: /migrate/ }])
})

t.test('status names a database of another form, and nothing else', async (t) => {
  const { path, env } = await filled(t)
  const named = async () => linesOf<Finding>((await runCommand(['status'], env)).stdout)
  for (const [change, detail, command] of [
    ['delete from schema_migrations', /^0 of /, 'prospect-pages migrate'],
    ['drop table webhook_deliveries', /^0 of /, 'prospect-pages migrate'],
    ['drop table schema_migrations', /^0 of /, 'prospect-pages migrate'],
  ] as const) {
    execute(path, change)
    const [finding, ...more] = await named()
    t.match(finding, { kind: 'migrations', detail, command })
    t.strictSame(more, [], change)
  }
})

t.test('a file that an unreleased version made is named as such, by every command', async (t) => {
  const { path, env } = await filled(t)
  execute(path, 'alter table schema_migrations drop column checksum')
  const detail = /made by an unreleased version of prospect-pages \(another form of 0001_init\.sql\)/
  t.match((await diagnosed(t, env)).failed, [{ detail, remedy: /^export its data with that version/ }])
  const target = join(newFolder(t), 'copy.db')
  for (const command of [['serve'], ['migrate'], ['tenants', 'list'], ['backup', target]]) {
    const { code, stdout, stderr } = await runCommand(command, { ...env, PORT: '0' })
    t.match({ code, stdout }, { code: 1, stdout: '' })
    t.match(JSON.parse(stderr), { code: 'refused', detail, remedy: /^Export its data with that version/ })
  }
})

t.test('a damaged file is reported, and so is one that is not a database', async (t) => {
  const { path, env } = await filled(t)
  const root = "select rootpage from sqlite_schema where name = 'prospect_logs_idempotency_key'"
  const [index] = await embeddedDatabase(path).rows<{ rootpage: number }>(root)
  const damaged = readFileSync(path)
  damaged.fill(0xa5, ((index?.rootpage ?? 0) - 1) * 4_096, (index?.rootpage ?? 0) * 4_096)
  writeFileSync(path, damaged)
  t.match((await diagnosed(t, env)).failed, [
    { name: 'integrity', detail: /^the file is damaged; SQLite reports: [^*\n]+$/, remedy: /restore/ },
  ])
  writeFileSync(path, 'This is not a database.\n'.repeat(1_000))
  t.match((await diagnosed(t, env)).failed, [
    { name: 'database', detail: /not a database/, remedy: /backup/ },
  ])
})

t.test('a file that other users can read is reported', async (t) => {
  const { path, env } = await filled(t)
  for (const mode of [0o604, 0o640]) {
    chmodSync(path, mode)
    t.match((await diagnosed(t, env)).failed, [
      { name: 'privacy', detail: path, remedy: `chmod 600 ${path}` },
    ])
  }
})

t.test('a file or a folder that the user cannot write to is reported', async (t) => {
  const { folder, path } = await filled(t)
  const look = async (): Promise<Check[]> => {
    const script = `
      const { examineSqlite } = await import(process.argv[1])
      if (process.getuid() === 0) process.setuid(${UNPRIVILEGED})
      const checks = examineSqlite(process.argv[2], [], false)
      process.stdout.write(JSON.stringify(checks.filter(({ name, state }) => state === 'failed' && name !== 'privacy')))`
    return JSON.parse(await runChild(script, sourceUrl('maintenance/examine-sqlite.ts'), path))
  }
  chmodSync(path, 0o444)
  chmodSync(folder, 0o777)
  t.match(await look(), [{ name: 'write access', detail: new RegExp(`to ${path}`), remedy: /user/ }])
  chmodSync(path, 0o666)
  chmodSync(folder, 0o555)
  const check = (await look()).find(({ name }) => name === 'write access')
  t.match(check, { detail: new RegExp(`to ${folder}(,|$)`), remedy: /user/ })
  chmodSync(folder, 0o700)
})

t.test('a large file is read only by doctor --thorough', async (t) => {
  const { path, env } = await filled(t)
  truncateSync(path, 1_100_000_000)
  t.match((await diagnosed(t, env)).named('integrity'), { state: 'ok', detail: /skipped.*--thorough/ })
  const { named } = await diagnosed(t, env, '--thorough')
  t.notMatch(named('integrity'), { detail: /skipped/ })
})

t.test('a disk with little space is reported', { skip: whyNoSmallDisk() ?? false }, async (t) => {
  const disk = mountSmallDisk(t, 16)
  if (disk === null) return t.pass('no small disk', { skip: 'NO SMALL DISK HERE: none could be mounted' })
  const path = join(disk.folder, 'test.db')
  const env = { DATABASE_URL: `sqlite:${path}` }
  const little = { name: 'disk', detail: /bytes free/, remedy: /free some space/ }
  t.match((await diagnosed(t, env)).failed, [little])
  await fillSource(path)
  execute(path, 'create table filler as select zeroblob(6000000)')
  t.match((await diagnosed(t, env)).named('temporary files'), {
    state: 'warning',
    remedy: /which takes \d+ bytes/,
  })
  disk.fill()
  const written = new Date(statSync(path).mtimeMs).toISOString()
  const writes = {
    name: 'writes',
    detail: `the database takes no writes: disk_full; the last one was at ${written}`,
  }
  t.match((await diagnosed(t, env)).named('writes'), {
    ...writes,
    state: 'failed',
    remedy: 'free some space on the disk of the database: see df -h',
  })
  const findings = linesOf<Finding>((await runCommand(['status'], env)).stdout)
  t.match(
    findings.filter(({ kind }) => kind === 'writes'),
    [{ detail: writes.detail }],
  )
  const full = {
    name: 'temporary files',
    detail: /^SQLite cannot write any: .* full/,
    remedy: /^free some space there, or set SQLITE_TMPDIR to a folder on another disk; until then no erasure/,
  }
  return t.match((await diagnosed(t, env)).failed, [little, full, writes, { name: 'erasures' }])
})

t.test('a namer that refuses, answers no name or cannot be reached is reported', async (t) => {
  const asked: string[] = []
  const namer = createServer((request, response) => {
    asked.push(`${request.headers.authorization}`)
    const key = request.headers.authorization?.replace('Bearer ', '') ?? ''
    const content = { right: 'Spring', mute: ' ' }[key]
    if (key === 'hanging') return
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
  t.match((await diagnosed(t, settings('right'))).named('namer'), { state: 'ok', detail: /small/ })
  const refused = await diagnosed(t, settings('secret'))
  t.match(refused.failed, [{ name: 'namer', detail: /401/, remedy: /NAMER_API_KEY/ }])
  t.notMatch(JSON.stringify(refused.failed), /secret/)
  t.match((await diagnosed(t, settings('mute'))).failed, [{ name: 'namer', detail: /no name/ }])
  const hanging = { ...settings('hanging'), NAMER_PATIENCE_MS: '1000' }
  t.match((await diagnosed(t, hanging)).failed, [{ name: 'namer', detail: 'no answer came in time' }])
  namer.closeAllConnections()
  await new Promise((resolve) => namer.close(resolve))
  const away = (await diagnosed(t, settings('right'))).failed
  t.match(away, [{ name: 'namer', detail: `nothing is listening at ${new URL(url).host}` }])
  t.equal(asked.length, 4)
})
