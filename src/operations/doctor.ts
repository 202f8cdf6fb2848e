import { readMigrations } from '../adapters/migrations.ts'
import { chatCompletionsNamer } from '../adapters/naming/chat-completions.ts'
import { type Config, readConfig } from '../config/config.ts'
import { DomainFailure } from '../core/failures.ts'
import { nameFrom, reasonOf } from '../core/name-patiently.ts'
import { type Check, failed, passed } from './check.ts'
import { examinePostgres } from './examine-postgres.ts'
import { examineSqlite } from './examine-sqlite.ts'

type Diagnosis = { readonly ok: boolean; readonly checks: readonly Check[] }

/** Checks everything that the service needs with the settings of this environment. Changes nothing. */
export const diagnose = async (
  environment: Readonly<Record<string, string | undefined>>,
  thorough: boolean,
): Promise<Diagnosis> => {
  let config: Config
  try {
    config = readConfig(environment)
  } catch (error) {
    return { ok: false, checks: [invalidSettings(error)] }
  }
  const checks = [
    passed('settings', 'each setting is valid'),
    ...(await checkDatabase(config, thorough)),
    ...(config.namer === null ? [] : [await checkNamer(config.namer, config.namerPatienceMs)]),
  ]
  return { ok: checks.every(({ ok }) => ok), checks }
}

const invalidSettings = (error: unknown): Check => {
  if (!(error instanceof DomainFailure)) throw error
  const faults = error.facts.errors?.map(({ parameter, detail }) => `${parameter} ${detail}`) ?? []
  const remedy = 'correct these settings; prospect-pages --help describes each. The other checks were skipped'
  return failed('settings', faults.join('; ') || error.message, remedy)
}

const checkDatabase = async (config: Config, thorough: boolean): Promise<readonly Check[]> => {
  const { database, databasePooler, statementMsMax } = config
  if (database.kind === 'memory')
    return [passed('database', 'memory: everything is lost when the service stops')]
  const { checks, applied } =
    database.kind === 'sqlite'
      ? examineSqlite(database.path, thorough)
      : await examinePostgres({
          url: database.url,
          isPooler: databasePooler,
          statementMsMax,
          clock: Date.now,
        })
  return applied === null
    ? checks
    : [...checks, checkMigrations(applied, readMigrations(database.kind).length)]
}

const checkMigrations = (applied: number, known: number): Check => {
  if (applied === known) return passed('migrations', `all ${known} are applied`)
  if (applied < known) {
    const remedy = 'run prospect-pages migrate as the owner of the tables'
    return failed('migrations', `${applied} of ${known} are applied`, remedy)
  }
  const detail = `the database has migration ${applied}, this release only knows ${known}`
  return failed('migrations', detail, 'install the release that migrated the database, or a newer one')
}

const PAGE = { groupTitle: 'Offers', pageContext: null, supplementaryContext: 'The spring sale' }

/** Asks for the name of a page, as the publisher does. */
const checkNamer = async (namer: NonNullable<Config['namer']>, msMax: number): Promise<Check> => {
  try {
    nameFrom(await chatCompletionsNamer(namer)(PAGE, AbortSignal.timeout(msMax)))
    return passed('namer', `${namer.model} named a page`)
  } catch (error) {
    const remedy = 'check NAMER_URL, NAMER_MODEL and NAMER_API_KEY; until then pages get their built-in names'
    return failed('namer', reasonOf(error), remedy)
  }
}
