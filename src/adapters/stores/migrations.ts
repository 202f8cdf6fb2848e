import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { VERSION } from '../../config/version.ts'
import { DomainFailure, refuse } from '../../core/engine/failures.ts'
import { memoized } from '../../core/engine/memoized.ts'
import { obstructed } from '../../core/engine/obstacles.ts'
import { sqlFiles } from './sql-files.ts'

/** One file of `sql/`: forward only, never edited after a release. */
export type Migration = { readonly number: number; readonly name: string; readonly sql: string }

/** The migrations of one kind of database, from `sql/`, in order; their numbers count from 1 without a gap. */
export const readMigrations = (kind: 'postgres' | 'sqlite'): readonly Migration[] =>
  sqlFiles(kind).map(({ name, sql }, i) => {
    const number = Number(name.slice(0, 4))
    if (number !== i + 1) throw new Error(`sql/${kind} lacks migration ${i + 1}`)
    return { number, name, sql }
  })

export const checksumOf = memoized((sql: string) => createHash('sha256').update(sql).digest('hex'))
/** A row of `schema_migrations`, in order. Unreleased versions wrote no checksum; `version` is that of the program. */
export type Applied = { readonly number: number; readonly checksum?: string; readonly version?: string }
/** The last number, 0 if there is none. Refuses a database that other migrations of these numbers have made. */
export const lastOf = (ours: readonly Migration[], applied: readonly Applied[]): number => {
  const other = ours.find(({ sql }, i) => applied[i] && applied[i].checksum !== checksumOf(sql))
  if (other !== undefined)
    throw obstructed(
      'unreleased_database',
      `The database was made by an unreleased version of prospect-pages (another form of ${other.name}).`,
    )
  return applied.at(-1)?.number ?? 0
}

/** Path of the backup of an embedded file before this version of the program migrates it. */
export const backupBefore = (place: string, version = VERSION): string => `${place}.before-${version}`

/** For a database that a newer program has migrated: both versions and, for an embedded file, the backup. */
const newerDetail = (ours: readonly Migration[], applied: readonly Applied[], place?: string) => {
  const newer = applied[ours.length]
  if (newer === undefined) return null
  const detail = `The database is newer than this program: prospect-pages ${newer.version} applied migration ${newer.number}, this is ${VERSION} and knows ${ours.length}.`
  const backup = place && backupBefore(place, newer.version)
  return backup && existsSync(backup) ? `${detail} The backup made before that is ${backup}.` : detail
}

/** Migrations that a database lacks. Refuses a database that a newer program has migrated. */
export const missingMigrations = (
  ours: readonly Migration[],
  applied: readonly Applied[],
  place?: string,
): readonly Migration[] => {
  const missing = ours.slice(lastOf(ours, applied))
  const newer = newerDetail(ours, applied, place)
  if (newer !== null) throw obstructed('newer_database', newer)
  return missing
}

/**
 * Makes the check that refuses `unavailable` unless a database has exactly our migrations. Migrations only add, so a
 * process that could use the database still can after a newer program has migrated it.
 */
export const readiness = (ours: readonly Migration[], place?: string) => {
  let wasReady = false
  return (applied: readonly Applied[]): void => {
    const facts = { retryAfterS: 5 }
    if (lastOf(ours, applied) < ours.length)
      refuse('unavailable', 'The database is not migrated.', facts, { obstacle: 'not_migrated' })
    const newer = wasReady ? null : newerDetail(ours, applied, place)
    if (newer !== null) refuse('unavailable', newer, facts, { obstacle: 'newer_database' })
    wasReady = true
  }
}

/** The error for a statement that finds no table: a message for callers, and the cause for the log. */
export const unmigrated = (error: unknown) => {
  const cause = new Error('Not migrated: run migrate() first.', { cause: error })
  const internal = { obstacle: 'not_migrated', cause } as const
  return new DomainFailure('unavailable', 'The database is not migrated.', { retryAfterS: 1 }, internal)
}
