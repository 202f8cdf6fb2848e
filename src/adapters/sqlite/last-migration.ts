import type { DatabaseSync } from 'node:sqlite'
import { type Applied, lastOf, type Migration } from '../stores/migrations.ts'

export const appliedMigrations = (file: DatabaseSync): readonly Applied[] => {
  const list = file.prepare("select 1 from sqlite_schema where name = 'schema_migrations'").get()
  // An older file lacks the column `checksum`.
  const rows = list && file.prepare('select * from schema_migrations order by number').all()
  return (rows ?? []) as unknown as Applied[]
}

/** The number of the last migration; 0 in an empty database. */
export const lastMigration = (file: DatabaseSync, ours: readonly Migration[]): number =>
  lastOf(ours, appliedMigrations(file))
