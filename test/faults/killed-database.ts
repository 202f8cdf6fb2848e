import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Test } from 'tap'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { sourceUrl } from '../support/children.ts'
import { newFolder, seed } from '../support/program.ts'

/** The names of the tenants in a killed database. */
export const TENANTS = 'Checkpointed,Journaled,Tenant'

/**
 * An embedded database as a killed server leaves it: its last tenant is only in the journal. Returns a function that
 * copies it into a new folder.
 */
export const makeKilledDatabase = async (t: Test) => {
  const original = join(newFolder(t), 'test.db')
  await seed({ DATABASE_URL: `sqlite:${original}` })
  const database = new DatabaseSync(original)
  t.teardown(() => database.close())
  addTenant(database, 'Checkpointed')
  database.exec('pragma wal_checkpoint(truncate)')
  addTenant(database, 'Journaled')

  const root = newFolder(t)
  let copies = 0
  return () => {
    const folder = join(root, `copy ${++copies}`)
    mkdirSync(folder)
    const path = join(folder, 'test.db')
    copyDatabase(original, path)
    return { folder, path }
  }
}

/** Copies a database with its journal. */
export const copyDatabase = (from: string, to: string): void => {
  for (const suffix of ['', '-wal']) copyFileSync(from + suffix, to + suffix)
}

export const addTenant = (database: DatabaseSync, name: string): void => {
  database
    .prepare("insert into tenants (tenant_id, name, created_at) values (?, ?, '2026-01-01T00:00:00.000Z')")
    .run(name, name)
}

/** The names of the tenants, or `damaged` if the database is not sound. */
export const tenantsIn = (path: string): string => {
  const database = new DatabaseSync(path)
  try {
    const check = database.prepare('pragma integrity_check').get()
    if (check?.['integrity_check'] !== 'ok') return 'damaged'
    const rows = database.prepare('select name from tenants order by name').all()
    return rows.map(({ name }) => name).join()
  } finally {
    database.close()
  }
}

/** Files that an interrupted backup, restore or migration has left in a folder. */
export const unfinishedIn = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.includes('unfinished'))

/** A migration of the next release. */
export const NEXT_MIGRATION = 'alter table tenants add column note text'
export const MIGRATIONS = readMigrations('sqlite').length

/** A script that migrates the embedded database at a path to the next release. */
export const MIGRATE_EMBEDDED = `
  const { sqliteStore } = await import('${sourceUrl('adapters/sqlite/store.ts')}')
  const { readMigrations } = await import('${sourceUrl('adapters/stores/migrations.ts')}')
  const { backUpBeforeMigration } = await import('${sourceUrl('maintenance/backup.ts')}')
  const [path] = process.argv.slice(1)
  const ours = readMigrations('sqlite')
  const migrations = [...ours, { number: ours.length + 1, name: 'next.sql', sql: '${NEXT_MIGRATION}' }]
  const beforeMigrating = () => backUpBeforeMigration(path)
  const store = sqliteStore({ path, busyMsMax: 5_000, beforeMigrating }, migrations)
  await store.migrate()
  await store.close()`

/** How many migrations an embedded database has had. */
export const countMigrations = (path: string): number => {
  const database = new DatabaseSync(path)
  const rows = database.prepare('select 1 from schema_migrations').all()
  database.close()
  return rows.length
}
