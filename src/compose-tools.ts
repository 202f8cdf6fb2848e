import { type Check, judgeMigrations, judgeOpenFiles } from './adapters/check.ts'
import { type Moved, move, type Progress } from './adapters/move.ts'
import { chatCompletionsNamer } from './adapters/naming/chat-completions.ts'
import { examinePostgres } from './adapters/postgres/examine.ts'
import { postgresTarget } from './adapters/postgres/move-to.ts'
import { readGrants } from './adapters/read-grants.ts'
import { readMigrations } from './adapters/read-migrations.ts'
import { type BackedUp, backUp } from './adapters/sqlite/backup.ts'
import { examineSqlite } from './adapters/sqlite/examine.ts'
import { sqliteSource } from './adapters/sqlite/move-from.ts'
import { type Config, readConfig } from './config.ts'
import { DomainFailure } from './core/failures.ts'
import { nameFrom } from './core/publish-versions.ts'

type Environment = Readonly<Record<string, string | undefined>>
export type Diagnosis = { readonly ok: boolean; readonly checks: readonly Check[] }

/** Looks at all that the service needs, by the settings of this environment, and changes nothing. */
export const diagnose = async (environment: Environment, thorough: boolean): Promise<Diagnosis> => {
  const checks: Check[] = []
  try {
    const config = readConfig(environment)
    checks.push({ name: 'settings', ok: true, detail: 'each can be read, and they go together' })
    checks.push(...(await databaseChecks(config, thorough)))
    const connections = config.database.kind === 'postgres' ? config.databaseConnectionsMax + 1 : 0
    checks.push(judgeOpenFiles(config.connectionsMax + connections))
    if (config.namer !== null) checks.push(await namerCheck({ ...config.namer, msMax: config.namerMsMax }))
  } catch (error) {
    if (!(error instanceof DomainFailure)) throw error
    const faults = error.facts.errors?.map(({ parameter, detail }) => `${parameter} ${detail}`) ?? []
    const remedy = 'set them as prospect-pages --help tells; the other checks need them'
    checks.push({ name: 'settings', ok: false, detail: faults.join('; ') || error.message, remedy })
  }
  return { ok: checks.every(({ ok }) => ok), checks }
}

const databaseChecks = async (config: Config, thorough: boolean): Promise<readonly Check[]> => {
  const { database } = config
  if (database.kind === 'memory') return [{ name: 'database', ok: true, detail: 'memory: nothing is kept' }]
  const { checks, applied } =
    database.kind === 'sqlite'
      ? examineSqlite({ path: database.path, thorough, nowMs: Date.now() })
      : await examinePostgres({
          url: database.url,
          pooler: config.databasePooler ? { directUrl: config.databaseDirectUrl } : null,
          workers: config.workers,
          connectionsMax: config.databaseConnectionsMax,
          statementMsMax: config.statementMsMax,
          grants: readGrants(),
          clock: Date.now,
        })
  const [first, ...others] = checks
  if (first === undefined || applied === null) return checks
  return [first, judgeMigrations(applied, readMigrations(database.kind).length), ...others]
}

const PAGE = { groupTitle: 'Offers', pageContext: null, supplementaryContext: 'The spring sale' }

/** Asks for the name of a page, as the publisher does. */
const namerCheck = async (settings: Parameters<typeof chatCompletionsNamer>[0]): Promise<Check> => {
  const name = 'namer'
  try {
    nameFrom(await chatCompletionsNamer(settings)(PAGE, new AbortController().signal))
    return { name, ok: true, detail: `${settings.model} gave a page a name` }
  } catch (error) {
    const { message, cause } = error as Error
    const detail = cause instanceof Error ? `${message}: ${cause.message}` : message
    const remedy = 'see NAMER_URL, NAMER_MODEL and NAMER_API_KEY; pages get their built-in names meanwhile'
    return { name, ok: false, detail, remedy }
  }
}

/** Copies the embedded database of these settings to a new file, while a server uses it. */
export const backUpTo = (config: Pick<Config, 'database'>, file: string): Promise<BackedUp> => {
  const { database } = config
  if (database.kind === 'sqlite') return backUp(database.path, file)
  throw new Error(
    database.kind === 'postgres'
      ? 'DATABASE_URL is PostgreSQL: back it up with its own pg_dump, as in the README.'
      : 'DATABASE_URL is memory: nothing of it is kept.',
  )
}

export type { Progress }

/** Copies all that is in an embedded database, which nobody has open, into an empty PostgreSQL. */
export const moveBetween = async (
  from: string,
  to: string,
  told: (progress: Progress) => void,
  warn: (message: string) => void,
): Promise<Moved> => {
  const source = sqliteSource(from, readMigrations('sqlite').length)
  try {
    const target = postgresTarget(to, readMigrations('postgres'), warn)
    try {
      return await move(source, target, told)
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}
