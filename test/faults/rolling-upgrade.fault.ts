import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { databaseKinds, newFolder, seedByCommands, startServer, until } from '../support/program.ts'
import { keptFaults, versionFaults } from './kept.ts'
import { noteSettlements, settlementFaults } from './settlements.ts'
import { createTraffic } from './traffic.ts'
import { figuresOf } from './verdict.ts'

t.setTimeout(0)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const CALLERS = 8
/** The three phases: the old version alone, both, the new one alone. */
const ANSWERS = 300
const LEASE_MS = 20_000

/**
 * As migrations have to be while an older version serves: it adds, what it adds may be left out, and it locks one busy
 * table. Two could deadlock with a statement that uses both.
 */
const NEXT = `
  create table later (tenant_id text collate "C" primary key);
  alter table prospect_logs add column later text not null default 'later'`

/** The program of the newest release, or of this checkout if there is none. */
const olderVersion = (t: Test): string => {
  const tags = spawnSync('git', ['tag', '--list', 'v*', '--sort=-version:refname'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return copyIn(newFolder(t), tags.stdout.split('\n')[0])
}

/** The program of this checkout, with one more migration. */
const newerVersion = (t: Test): string => {
  const folder = newFolder(t)
  const bin = copyIn(folder)
  const sql = join(folder, 'sql/postgres')
  const count = readdirSync(sql).filter((name) => /^\d{4}_/.test(name)).length
  writeFileSync(join(sql, `${String(count + 1).padStart(4, '0')}_later.sql`), NEXT)
  return bin
}

const copyIn = (folder: string, tag = ''): string => {
  const parts = ['src', 'sql', 'package.json']
  if (tag === '') for (const part of parts) cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  else
    execFileSync('sh', ['-c', `git archive ${tag} ${parts.join(' ')} | tar -x -C ${folder}`], { cwd: ROOT })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return join(folder, 'src/cli/bin.ts')
}

const [kind] = databaseKinds().filter(({ name }) => name === 'postgres')
t.test(
  'a newer version replaces an older one under load: nothing is refused, lost or doubled',
  { skip: kind?.skip ?? false },
  async (t) => {
    if (kind === undefined) return
    t.teardown(kind.end)
    const database = await kind.open(t)
    const older = olderVersion(t)
    const { apiKey, pageGroupId } = await seedByCommands(database.env, older)
    await noteSettlements(database)
    const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId] })
    t.teardown(traffic.close)
    const start = async (bin: string) => {
      const server = await startServer(t, database.env, undefined, [process.execPath, bin, 'serve'])
      return { ...server, flow: traffic.flow(server.url, { callers: CALLERS }) }
    }
    const underLoad = (since = traffic.answers.length) =>
      until('there are more answers', () => traffic.answers.length >= since + ANSWERS, { tries: 2_400 })

    const old = await start(older)
    await underLoad()
    const next = await start(newerVersion(t))
    t.equal((await database.rows("select 1 from schema_migrations where name like '%later.sql'")).length, 1)
    await underLoad()
    t.equal((await fetch(`${old.url}/readyz`)).status, 200, 'the older one stays ready')
    // As a load balancer does it: no new requests, while those in flight are answered.
    const [code] = await Promise.all([old.stop(), old.flow.stop()])
    t.equal(code, 0)
    await underLoad()
    await next.flow.stop()

    const refused = traffic.answers.filter(({ kind, status }) => status !== (kind === 'read' ? 200 : 201))
    t.strictSame(refused, [], 'nothing is refused')
    const faults = [
      ...(await keptFaults(traffic, database)),
      ...(await versionFaults(database, LEASE_MS * 2)),
      ...(await settlementFaults(database)),
    ]
    t.strictSame(faults, [], 'nothing is lost, doubled or published twice')
    t.strictSame(
      [old, next].flatMap(({ logs }) => logs().filter(({ level }) => level >= 50)),
      [],
      'neither logs an error',
    )
    t.equal(await next.stop(), 0)
    t.comment(figuresOf(traffic, faults, {}))
  },
)
