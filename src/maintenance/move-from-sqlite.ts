import { accessSync, constants, existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { isBusy } from '../adapters/sqlite/error-codes.ts'
import { lastMigration } from '../adapters/sqlite/last-migration.ts'
import { placeTemporaryFiles, refuseLost } from '../adapters/sqlite/place.ts'
import type { Migration } from '../adapters/stores/migrations.ts'
import type { Row, Table } from '../adapters/stores/tables.ts'
import { obstructed } from '../core/engine/obstacles.ts'

/** The embedded database that `move` reads. From `lock` to `close` no other process can open it. */
export const sqliteSource = (path: string, migrations: readonly Migration[]) => {
  refuseLost(path)
  if (!existsSync(path)) throw obstructed('no_source', `The source ${path} does not exist.`)
  accessSync(path, constants.W_OK)
  const file = new DatabaseSync(resolve(path))
  placeTemporaryFiles(file, path)
  // Node 22.13 to 22.15 may collect a statement whose rows are still being read, so this keeps a reference to it.
  const reads = new Map<Table, StatementSync>()
  return {
    /** Refuses a database with another schema than this program's, or that another process has open. */
    lock: (): void => {
      try {
        // A server could write during the move, and the target would lack those rows.
        file.exec('pragma locking_mode = exclusive')
        file.exec('begin exclusive')
      } catch (error) {
        if (!isBusy(error)) throw error
        throw new Error('Another process has the source open. Stop the server, then move.')
      }
      const applied = lastMigration(file, migrations)
      if (applied !== migrations.length)
        throw new Error(
          `The source has migration ${applied} of ${migrations.length}. Run prospect-pages migrate on it with this release first.`,
        )
    },
    count: (table: Table): number =>
      Number(file.prepare(`select count(*) as rows from ${table.name}`).get()?.['rows']),
    /** All rows, in the order of the key. */
    rows: (table: Table) => {
      const { name, key, columns } = table
      const read = file.prepare(`select ${Object.keys(columns).join()} from ${name} order by ${key.join()}`)
      reads.set(table, read)
      return read.iterate() as Iterable<Row>
    },
    close: (): void => file.close(),
  }
}
