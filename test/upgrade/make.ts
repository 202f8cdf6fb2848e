/**
 * Saves what every later version is tested with: databases of this version, what its API returns on them, and the checksums
 * of its migrations. A step of its release, to be repeated if a migration changes before the tag: `node test/upgrade/make.ts`.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { VERSION } from '../../src/config/version.ts'
import { postgresBin, startPostgres } from '../support/postgres.ts'
import { fillFile, fillPostgres } from './fill.ts'
import { checksumsNow, FROZEN, type Frozen, readFrozen, releasedFile } from './released.ts'

const { stdout: tag } = spawnSync('git', ['tag', '--list', `v${VERSION}`], { encoding: 'utf8' })
if (tag !== '') throw new Error(`${VERSION} is released: its databases stay as they are`)

const folder = join(tmpdir(), `prospect-pages-${VERSION}-${process.pid}`)
mkdirSync(folder)
const postgres = await startPostgres()
try {
  const path = join(folder, 'made.db')
  const answers = await fillFile(path)
  const file = new DatabaseSync(path)
  file.exec('vacuum; pragma wal_checkpoint(truncate)')
  file.close()

  const url = await postgres.newDatabase()
  await fillPostgres(url, path)
  const dump = spawnSync(
    join(String(postgresBin()), 'pg_dump'),
    ['--inserts', '--no-owner', '--no-privileges', url],
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

/** The dump without commands of psql, and without settings of the session that another PostgreSQL may not have. */
function statementsOf(dump: string): string {
  return dump.replaceAll(/^(\\(un)?restrict |SET |SELECT pg_catalog\.set_config).*\n/gm, '')
}
