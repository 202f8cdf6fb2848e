import { obstacleOf } from '../core/engine/obstacles.ts'

/** One thing checked by the doctor. Unless it is `ok`, it has a remedy. */
export type Check = {
  readonly name: string
  /** Only `failed` makes the diagnosis fail. */
  readonly state: 'ok' | 'warning' | 'failed'
  readonly detail: string
  readonly remedy?: string
}

type CheckWithRemedy = (name: string, detail: string, remedy: string) => Check
export const passed = (name: string, detail: string): Check => ({ name, state: 'ok', detail })
export const warned: CheckWithRemedy = (name, detail, remedy) => ({ name, state: 'warning', detail, remedy })
export const failed: CheckWithRemedy = (name, detail, remedy) => ({ name, state: 'failed', detail, remedy })

/** A failed check about an error of the database: some errors have a special remedy. */
export const failedBy = (error: unknown, detail: string, remedy: string) =>
  failed('database', detail, obstacleOf(error) === 'unreleased_database' ? UNRELEASED : remedy)
const UNRELEASED = 'export its data with that version, then use a new database'

/** The reason for a failure, without the codes of Node; some errors have nothing else. */
export const inWords = ({ message, code }: { message: string; code?: string }): string =>
  (message || `${code}`)
    .replace('The server offers no TLS.', 'the server offers no TLS')
    .replace(/; if the root CA .*$/, '')
    .replace(/^.*connect (ECONNREFUSED|ENOENT)/, 'nothing is listening at')
    .replace('ECONNREFUSED', 'nothing is listening there')
    .replace('The operation was aborted due to timeout', 'no answer came in time')
    .replace(/^canceling.* lock timeout$/, 'a table is locked; prospect-pages status names who holds it')

/** Compares the migrations of a database with those that this release knows. */
export const checkMigrations = (applied: number, known: number): Check => {
  if (applied === known) return passed('migrations', `${known} of ${known} applied`)
  const migrate = 'run prospect-pages migrate as the owner of the tables'
  if (applied < known) return failed('migrations', `${applied} of ${known} applied`, migrate)
  const detail = `the database has migration ${applied}, this release only knows ${known}`
  return failed('migrations', detail, 'install the release that migrated the database, or a newer one')
}
