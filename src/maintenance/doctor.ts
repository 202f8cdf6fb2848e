import { dirname, resolve } from 'node:path'
import { chatCompletionsNamer } from '../adapters/naming/chat-completions.ts'
import { fileAt } from '../adapters/sqlite/place.ts'
import { type Migration, readMigrations } from '../adapters/stores/migrations.ts'
import { type Config, readConfig } from '../config/config.ts'
import { misspeltSettings } from '../config/near-names.ts'
import { DomainFailure } from '../core/engine/failures.ts'
import { nameFrom, reasonOf } from '../core/pages/name-patiently.ts'
import { abandonedCopies } from './backup.ts'
import { type Check, failed, inWords, passed, warned } from './check.ts'
import { examineCopies } from './examine-copies.ts'
import { examineSecrets } from './examine-secrets.ts'
import { examineSizes } from './examine-sizes.ts'
import { examineSqlite } from './examine-sqlite.ts'
import { findingsOf } from './findings.ts'
import { lateBackups } from './late-backups.ts'
import { type Database, readDatabase } from './read-database.ts'
import { asClause, noWritesRemedy } from './remedies.ts'
import { retentionPause, SELECT_SERVED } from './retention-pause.ts'

/** Checks everything that the service needs with the settings of this environment. Changes nothing. */
export const diagnose = async (environment: NodeJS.ProcessEnv, thorough: boolean) => {
  const misspelt = misspeltSettings(environment)
    .map(({ warning }) => warning)
    .join('; ')
  let config: Config
  try {
    config = readConfig(environment)
  } catch (error) {
    return { ok: false, checks: [invalidSettings(error, misspelt)] }
  }
  const checks = [
    misspelt
      ? warned('settings', misspelt, 'correct the name, or unset it')
      : passed('settings', 'each setting is valid'),
    ...(await checkDatabase(config, thorough)),
    ...(await examineSizes(config)),
    ...lateBackups(config, Date.now()),
    ...unfinishedCopies(config),
    ...(config.namer === null ? [] : [await checkNamer(config.namer, config.namerPatienceMs)]),
  ]
  return { ok: checks.every(({ state }) => state !== 'failed'), checks }
}

const invalidSettings = (error: unknown, misspelt: string): Check => {
  if (!(error instanceof DomainFailure)) throw error
  const faults = error.facts.errors?.map(({ parameter, detail }) => `${parameter} ${detail}`) ?? []
  const remedy = 'correct these settings; prospect-pages --help describes each. The other checks were skipped'
  return failed('settings', [faults.join('; ') || error.message, misspelt].filter(Boolean).join('; '), remedy)
}

const checkDatabase = async (config: Config, thorough: boolean): Promise<readonly Check[]> => {
  const { database } = config
  if (database.kind === 'memory')
    return [passed('database', 'memory: everything is lost when the service stops')]
  const known = readMigrations(database.kind)
  const checks = await examineDatabase(config, known, thorough)
  const isWell = (name: string) => checks.some((check) => check.name === name && check.state === 'ok')
  const isReadable = isWell('migrations') && (database.kind === 'sqlite' || isWell('role'))
  return isReadable ? [...checks, ...(await readDatabase(config, examineContent(config)))] : checks
}

const examineDatabase = async (config: Config, known: readonly Migration[], thorough: boolean) => {
  const { database } = config
  if (database.kind === 'sqlite') return examineSqlite(database.path, known, thorough)
  if (database.kind === 'memory') return []
  // Loads the driver, which an embedded database does not need.
  const { examinePostgres } = await import('./examine-postgres.ts')
  return examinePostgres(database.url, known, config)
}

/** Unfinished copies contain personal data. The next backup or restore that writes into their folder deletes them. */
const unfinishedCopies = ({ database, backupDir }: Config): readonly Check[] => {
  if (database.kind !== 'sqlite') return []
  const folders = new Set([dirname(fileAt(database.path)), resolve(backupDir ?? dirname(database.path))])
  const copies = [...folders].flatMap(abandonedCopies)
  const detail = `a killed backup or restore left ${copies.join(', ')}`
  return copies.length === 0 ? [] : [warned('unfinished copies', detail, `run rm ${copies.join(' ')}`)]
}

const ERASER = 'check that serve is running, or startBackground in your own program, and see its log'
const STATUS = 'prospect-pages status shows each, with a command'
const REENCRYPT = 'prospect-pages secrets reencrypt'
const ENCRYPT = `set SECRETS_KEY to 32 random bytes in base64, then run ${REENCRYPT}`
const secrets = (count: number) => (count === 1 ? '1 webhook secret is' : `${count} webhook secrets are`)

const examineContent = (config: Config) => async (database: Database) => {
  const nowMs = Date.now()
  const checks: Check[] = []
  const check = async (name: string, examine: () => Promise<Check>) => {
    const unread = (error: Error) => failed(name, `could not be checked: ${inWords(error)}`, STATUS)
    checks.push(await examine().catch(unread))
  }
  const unlessFound = (name: string, kind: string, well: string, remedy: string) =>
    check(name, async () => {
      const details = (await findingsOf(database, config, kind, nowMs)).map(({ detail }) => detail)
      return details[0] ? failed(name, details.slice(0, 3).join('; '), remedy) : passed(name, well)
    })
  const refused = await database.whyNoWrites().catch(() => null)
  if (refused) {
    const [finding] = await findingsOf(database, config, 'writes', nowMs)
    const remedy = noWritesRemedy(refused.reason, config.database.kind)
    checks.push(failed('writes', finding?.detail ?? '', asClause(remedy)))
  }
  await unlessFound('erasures', 'erasure', 'no erasure is overdue', ERASER)
  await check('retention', async () => retentionPause(await database.read(SELECT_SERVED), nowMs))
  await unlessFound('webhook secrets', 'secret', 'no webhook secret lacks its key', STATUS)
  await check('encryption', async () => {
    const { rewritten, alreadyNew, undecipherable } = (await examineSecrets(database.read, config, nowMs)).sum
    const all = rewritten + alreadyNew + undecipherable
    const old = config.secretsKey ? rewritten : alreadyNew
    if (all === 0) return passed('encryption', 'there are no webhook secrets')
    if (old === 0 && undecipherable === 0)
      return passed('encryption', 'each webhook secret is encrypted with SECRETS_KEY')
    const detail = [
      old && `${secrets(old)} not encrypted with SECRETS_KEY`,
      undecipherable && `${secrets(undecipherable)} encrypted with a key that is not set`,
    ]
    const remedy = undecipherable ? STATUS : config.secretsKey ? `run ${REENCRYPT}` : ENCRYPT
    return warned('encryption', detail.filter(Boolean).join('; '), remedy)
  })
  await unlessFound('locks', 'lock', 'no session blocks others', STATUS)
  return [...checks, ...(await examineCopies(config, database))]
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
