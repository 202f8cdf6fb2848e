import type { DatabaseSizes } from '../../core/ports/store.ts'
import type { Ask } from './sql.ts'

/** Adds up the sizes of files: of each table and index, and of each gigabyte of a larger one. */
const SELECT_DATABASE = `
  select pg_database_size(current_database())::float8 as bytes,
    has_function_privilege('pg_ls_waldir()', 'execute') as may_see_journal`
/** The write-ahead log of the whole server. PostgreSQL checks the privilege even where the call is not reached. */
const SELECT_JOURNAL = 'select coalesce(sum(size), 0)::float8 as bytes from pg_ls_waldir()'

/** What a PostgreSQL database occupies, and the write-ahead log if the role is a member of `pg_monitor`. */
export const readSizes = async (ask: Ask): Promise<DatabaseSizes> => {
  type Database = { readonly bytes: number; readonly maySeeJournal: boolean }
  const [database] = await ask((sql) => sql.unsafe<[Database]>(SELECT_DATABASE))
  if (!database.maySeeJournal) return { databaseBytes: database.bytes, journalBytes: null }
  const [journal] = await ask((sql) => sql.unsafe<[{ readonly bytes: number }]>(SELECT_JOURNAL))
  return { databaseBytes: database.bytes, journalBytes: journal.bytes }
}
