/** One file of `sql/`: forward only, never edited after a release. */
export type Migration = { readonly number: number; readonly name: string; readonly sql: string }

/** Those of our migrations that a database lacks. Refuses a database that a newer program has migrated. */
export const missingMigrations = (ours: readonly Migration[], applied: number): readonly Migration[] => {
  if (applied > ours.length)
    throw new Error(
      `The database is newer than this program: it has migration ${applied}, this program knows ${ours.length}.`,
    )
  return ours.slice(applied)
}
