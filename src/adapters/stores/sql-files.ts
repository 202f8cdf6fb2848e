import { readdirSync, readFileSync } from 'node:fs'

/**
 * The migrations in `sql/` for one kind of database. In the package, `sql/embed.js` replaces this module by their
 * texts.
 */
export const sqlFiles = (kind: 'postgres' | 'sqlite') => {
  const folder = new URL(`../../../sql/${kind}/`, import.meta.url)
  const names = readdirSync(folder).filter((name) => /^\d{4}_.+\.sql$/.test(name))
  return names.sort().map((name) => ({ name, sql: readFileSync(new URL(name, folder), 'utf8') }))
}
