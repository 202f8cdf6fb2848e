import { createHash } from 'node:crypto'
import { DomainFailure, obstructed, refuse } from '../../core/engine/failures.ts'
import { memoized } from '../../core/engine/keys.ts'
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
/** A row of `schema_migrations`, in order. Unreleased versions wrote no checksum. */
export type Applied = { readonly number: number; readonly checksum?: string }
/** The last number, 0 if there is none. Refuses a database whose tables are not those of our migrations of these numbers. */
export const lastOf = (ours: readonly Migration[], applied: readonly Applied[]): number => {
  const other = ours.find(({ sql }, i) => applied[i] && applied[i].checksum !== checksumOf(sql))
  if (other !== undefined)
    throw obstructed(
      'unreleased_database',
      `The database was made by an unreleased version of prospect-pages (another form of ${other.name}).`,
    )
  return applied.at(-1)?.number ?? 0
}

/** Those of our migrations that a database lacks. Refuses a database that a newer program has migrated. */
export const missingMigrations = (ours: readonly Migration[], applied: number): readonly Migration[] => {
  if (applied > ours.length)
    throw obstructed(
      'newer_database',
      `The database is newer than this program: it has migration ${applied}, this program knows ${ours.length}.`,
    )
  return ours.slice(applied)
}

/** Refuses `unavailable` unless a database has exactly our migrations. */
export const refuseUnmigrated = (ours: readonly Migration[], applied: number): void => {
  const facts = { retryAfterS: 5 }
  if (applied > ours.length)
    refuse('unavailable', 'The database is newer than this program.', {
      ...facts,
      obstacle: 'newer_database',
    })
  if (applied < ours.length)
    refuse('unavailable', 'The database is not migrated.', { ...facts, obstacle: 'not_migrated' })
}

/** For a statement that finds no table: what callers see, and its cause for the log. */
export const unmigrated = (error: unknown) => {
  const cause = new Error('Not migrated: run migrate() first.', { cause: error })
  const facts = { retryAfterS: 1, obstacle: 'not_migrated' } as const
  return Object.assign(new DomainFailure('unavailable', 'The database is not migrated.', facts), { cause })
}
