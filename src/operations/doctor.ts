import { chatCompletionsNamer } from '../adapters/naming/chat-completions.ts'
import { readMigrations } from '../adapters/stores/migrations.ts'
import { type Config, readConfig } from '../config/config.ts'
import { misspeltSettings } from '../config/near-names.ts'
import { DomainFailure } from '../core/engine/failures.ts'
import { nameFrom, reasonOf } from '../core/pages/name-patiently.ts'
import { type Check, failed, inWords, passed } from './check.ts'
import { examineSqlite } from './examine-sqlite.ts'

/** Checks everything that the service needs with the settings of this environment. Changes nothing. */
export const diagnose = async (environment: NodeJS.ProcessEnv, thorough: boolean) => {
  const warnings = misspeltSettings(environment).map(({ warning }) => `; warning: ${warning}`)
  let config: Config
  try {
    config = readConfig(environment)
  } catch (error) {
    return { ok: false, checks: [invalidSettings(error, warnings.join(''))] }
  }
  const checks = [
    passed('settings', `each setting is valid${warnings.join('')}`),
    ...(await checkDatabase(config, thorough)),
    ...(config.namer === null ? [] : [await checkNamer(config.namer, config.namerPatienceMs)]),
  ]
  return { ok: checks.every(({ ok }) => ok), checks }
}

const invalidSettings = (error: unknown, warnings: string): Check => {
  if (!(error instanceof DomainFailure)) throw error
  const faults = error.facts.errors?.map(({ parameter, detail }) => `${parameter} ${detail}`) ?? []
  const remedy = 'correct these settings; prospect-pages --help describes each. The other checks were skipped'
  return failed('settings', (faults.join('; ') || error.message) + warnings, remedy)
}

const checkDatabase = async (config: Config, thorough: boolean): Promise<readonly Check[]> => {
  const { database } = config
  if (database.kind === 'memory')
    return [passed('database', 'memory: everything is lost when the service stops')]
  const known = readMigrations(database.kind)
  if (database.kind === 'sqlite') return examineSqlite(database.path, known, thorough, config.secretsKey)
  const { examinePostgres } = await import('./examine-postgres.ts') // brings the driver
  return examinePostgres(database.url, known, config)
}

const PAGE = { groupTitle: 'Offers', pageContext: null, supplementaryContext: 'The spring sale' }

/** Asks for the name of a page, as the publisher does. */
const checkNamer = async (namer: NonNullable<Config['namer']>, msMax: number): Promise<Check> => {
  try {
    nameFrom(await chatCompletionsNamer(namer)(PAGE, AbortSignal.timeout(msMax)))
    return passed('namer', `${namer.model} named a page`)
  } catch (error) {
    const remedy = 'check NAMER_URL, NAMER_MODEL and NAMER_API_KEY; until then pages get their built-in names'
    return failed('namer', inWords({ message: reasonOf(error) }), remedy)
  }
}
