/**
 * Makes the databases of the present version, what its API returns on them, and the checksums of its migrations. Run it
 * before the release, whenever a migration of this version has changed: `node test/upgrade/make.ts`.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { createLog } from '../../src/adapters/log.ts'
import { createRuntime } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { VERSION } from '../../src/config/version.ts'
import { fillSource } from '../support/moving.ts'
import { postgresBin, startPostgres } from '../support/postgres.ts'
import { answerOf, databaseAt } from '../support/program.ts'
import { at } from '../support/rows.ts'
import { readEverything } from './read-everything.ts'
import { checksumsNow, FROZEN, type Frozen, readFrozen, releasedFile } from './released.ts'

const { stdout: tag } = spawnSync('git', ['tag', '--list', `v${VERSION}`], { encoding: 'utf8' })
if (tag !== '') throw new Error(`${VERSION} is released: its databases stay as they are`)

const folder = join(tmpdir(), `prospect-pages-${VERSION}-${process.pid}`)
mkdirSync(folder)
const postgres = await startPostgres()
try {
  const path = join(folder, 'made.db')
  await fillSource(path)
  const world = await createRuntime(readConfig({ DATABASE_URL: `sqlite:${path}` }), createLog('silent'))
  await world.store.erasures.saveClock({ servedAt: at(0), pausedAt: null })
  const answers = await readEverything(world)
  await world.store.close()
  const file = new DatabaseSync(path)
  file.exec('vacuum; pragma wal_checkpoint(truncate)')
  file.close()

  const DATABASE_URL = await postgres.newDatabase()
  await answerOf(['move', '--from', `sqlite:${path}`, '--to', DATABASE_URL], {})
  await databaseAt(DATABASE_URL).rows(`insert into served (id, served_at) values (1, '${at(0)}')`)
  const dump = spawnSync(
    join(String(postgresBin()), 'pg_dump'),
    ['--inserts', '--no-owner', '--no-privileges', DATABASE_URL],
    { encoding: 'utf8' },
  )
  if (dump.status !== 0) throw new Error(dump.stderr)

  const save = (url: URL, content: string | Buffer) => writeFileSync(url, gzipSync(content, { level: 9 }))
  save(releasedFile(VERSION, 'sqlite.db.gz'), readFileSync(path))
  save(releasedFile(VERSION, 'postgres.sql.gz'), statementsOf(dump.stdout))
  save(releasedFile(VERSION, 'answers.json.gz'), JSON.stringify(answers))
  const before = Object.entries(readFrozen()).filter(([, { release }]) => release !== VERSION)
  const frozen: Record<string, Frozen[string]> = Object.fromEntries(before)
  for (const [name, checksum] of checksumsNow()) frozen[name] ??= { release: VERSION, checksum }
  writeFileSync(FROZEN, `${JSON.stringify(frozen, null, 2)}\n`)
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true })
}

/** Without what only psql understands, and without settings of the session that another PostgreSQL may not have. */
function statementsOf(dump: string): string {
  return dump.replaceAll(/^(\\(un)?restrict |SET |SELECT pg_catalog\.set_config).*\n/gm, '')
}
