import { readdirSync, readFileSync } from 'node:fs'
import type { Migration } from '../core/migrations.ts'

/** The migrations of one kind of database, from `sql/`, in order; their numbers count from 1 without a gap. */
export const readMigrations = (kind: 'postgres' | 'sqlite'): readonly Migration[] => {
  const folder = new URL(`../../sql/${kind}/`, import.meta.url)
  return readdirSync(folder)
    .filter((name) => /^\d{4}_.+\.sql$/.test(name))
    .sort()
    .map((name, i) => {
      const number = Number(name.slice(0, 4))
      if (number !== i + 1) throw new Error(`sql/${kind} lacks migration ${i + 1}`)
      return { number, name, sql: readFileSync(new URL(name, folder), 'utf8') }
    })
}
