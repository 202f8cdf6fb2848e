import { readdirSync, readFileSync } from 'node:fs'

// In the package, `sql/embed.js` replaces this module by the texts of these files.

/** The grants of the role that serves. */
export const rolesFile = () => readFileSync(new URL('../../../sql/roles.sql', import.meta.url), 'utf8')
/** The migrations in `sql/` for one kind of database. */
export const sqlFiles = (kind: 'postgres' | 'sqlite') => {
  const folder = new URL(`../../../sql/${kind}/`, import.meta.url)
  const names = readdirSync(folder).filter((name) => /^\d{4}_.+\.sql$/.test(name))
  return names.sort().map((name) => ({ name, sql: readFileSync(new URL(name, folder), 'utf8') }))
}
