import { readFileSync } from 'node:fs'
import { type Fault, refuse } from '../core/engine/failures.ts'
import { orNull } from '../core/engine/or-null.ts'
import { type CamelCase, camelCase } from '../json/case.ts'
import { type Environment, type PostgresUrl, postgresUrl } from './database-address.ts'
import { type FollowKeys, followKeysFrom } from './secrets-keys.ts'
import { SECRETS, SETTINGS } from './settings.ts'

type Name = keyof typeof SETTINGS
/** `BODY_BYTES_MAX` is `bodyBytesMax`. */
type Values = { readonly [N in Name as CamelCase<Lowercase<N>>]: ReturnType<(typeof SETTINGS)[N][1]> }

const INVISIBLE: Readonly<Record<string, string>> = {
  '\r': 'a carriage return',
  '\n': 'a line end',
  '\t': 'a tab',
  ' ': 'a blank',
}
/** Refuses what pasted text and files of Windows bring along: a database of that name would be a second, empty one. */
const refuseInvisible = (text: string): void => {
  const found = /^\s|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|\s(?=\s*$)/u.exec(text)
  if (found === null) return
  const name = INVISIBLE[found[0]] ?? `the invisible character U+${hexOf(found[0])}`
  throw new Error(`has ${name} ${placeOf(found.index, text)}`)
}
const placeOf = (index: number, text: string): string => {
  if (text.slice(index).trim() === '') return 'at its end'
  return index === 0 ? 'at its start' : 'in it'
}
const hexOf = (text: string) => text.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')

/** The text of a setting. For a secret it may be in the file that `NAME_FILE` names. */
const settingIn = (environment: Environment, name: Name): string | undefined => {
  const path = SECRETS.has(name) ? environment[`${name}_FILE`] : undefined
  if (!path) return environment[name]
  if (environment[name]) throw new Error(`cannot be set together with ${name}_FILE`)
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '') || fail(`is empty in the file of ${name}_FILE`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw code ? new Error(`cannot be read from the file of ${name}_FILE (${code})`) : error
  }
}
const fail = (detail: string): never => {
  throw new Error(detail)
}

/** The value of a setting now. Throws the requirement that it fails. */
const readSetting = <N extends Name>(
  name: N,
  environment: Environment,
): ReturnType<(typeof SETTINGS)[N][1]> => {
  const [fallback, parseText] = SETTINGS[name]
  const text = settingIn(environment, name) || fallback
  refuseInvisible(text)
  return parseText(text, environment) as ReturnType<(typeof SETTINGS)[N][1]>
}

/** The checked settings by their names in camel case. `database` is DATABASE_URL; `namer` combines the settings of the namer. */
export type Config = ReturnType<typeof readConfig>

/** Reads and checks the settings. Reports all faults at once. An empty variable counts as not set. */
export const readConfig = (environment: Environment) => {
  const errors: Fault[] = []
  const parse = (name: Name): unknown => {
    try {
      return readSetting(name, environment)
    } catch (error) {
      const { message: detail, parameter = name } = error as Error & { parameter?: string }
      if (!errors.some((fault) => fault.parameter === parameter)) errors.push({ parameter, detail })
      return undefined
    }
  }
  const names = Object.keys(SETTINGS) as Name[]
  const values = Object.fromEntries(
    names.map((name) => [camelCase(name.toLowerCase()), parse(name)]),
  ) as Values
  errors.push(...contradictionsIn(values))
  if (errors.length > 0)
    refuse('invalid_request', 'The settings are invalid.', { errors }, { obstacle: 'wrong_settings' })
  const { databaseUrl, namerUrl, namerModel, namerApiKey, namerExtraBody, ...others } = values
  const url = databaseUrl.kind === 'postgres' ? databaseUrl.url : null
  return {
    ...others,
    database: databaseUrl,
    namer: namerIn(values),
    /** The addresses for new connections. Null if PostgreSQL is not used, or has no other address. */
    connections: {
      url: followed('DATABASE_URL', url, environment),
      directUrl: followed('DATABASE_DIRECT_URL', values.databaseDirectUrl, environment),
    },
    /** For a process that runs on when a key is replaced in its file. Null if neither is in a file. */
    followSecretsKeys: followedKeys(values, environment),
  }
}

/**
 * Reads an address from its file again whenever it is used, because the password or token in it may have been replaced.
 * While the file is missing or wrong, the last address counts.
 */
const followed = (
  name: 'DATABASE_URL' | 'DATABASE_DIRECT_URL',
  url: string | null,
  environment: Environment,
): PostgresUrl | null => {
  if (url === null || !environment[`${name}_FILE`]) return url
  let last = url
  return () => {
    last = orNull(() => postgresUrl(settingIn(environment, name) ?? '', environment)) ?? last
    return last
  }
}

const followedKeys = (
  { secretsKey, secretsKeyPrevious }: Values,
  environment: Environment,
): FollowKeys | null => {
  const { SECRETS_KEY_FILE, SECRETS_KEY_PREVIOUS_FILE } = environment
  if (!SECRETS_KEY_FILE && !SECRETS_KEY_PREVIOUS_FILE) return null
  return followKeysFrom({
    key: secretsKey,
    previousKey: secretsKeyPrevious,
    readAgain: (setting) => readSetting(setting, environment),
  })
}

const namerIn = ({ namerUrl, namerModel, namerApiKey, namerExtraBody }: Values) => {
  if (!namerUrl || !namerModel) return null
  return {
    url: namerUrl,
    model: namerModel,
    apiKey: namerApiKey ?? undefined,
    extraBody: namerExtraBody ?? undefined,
  }
}

/** Settings that are valid alone but not together. An unreadable one is undefined here. */
const contradictionsIn = (values: Partial<Values>): Fault[] => {
  const { databaseUrl, databasePooler, databaseDirectUrl, databaseCluster } = values
  const { namerUrl, namerModel, backupDir } = values
  const { bodyBytesMax = 0, batchBytesMax = 0, bodyBytesHeldMax = Number.POSITIVE_INFINITY } = values
  const holdsTooFew = bodyBytesHeldMax < 2 * Math.max(bodyBytesMax, batchBytesMax)
  const isDirect = databasePooler === false && databaseDirectUrl
  const isOldAlone = values.secretsKeyPrevious && values.secretsKey === null
  const isEmbedded = databaseUrl !== undefined && databaseUrl.kind !== 'postgres'
  const faults: readonly [isWrong: unknown, parameter: Name, detail: string][] = [
    [isEmbedded && databasePooler, 'DATABASE_POOLER', 'can be true only if DATABASE_URL is PostgreSQL'],
    [isEmbedded && databaseCluster, 'DATABASE_CLUSTER', 'can be set only if DATABASE_URL is PostgreSQL'],
    [
      databaseUrl && databaseUrl.kind !== 'sqlite' && backupDir,
      'BACKUP_DIR',
      'can be set only for the embedded database',
    ],
    [isOldAlone, 'SECRETS_KEY_PREVIOUS', 'can be set only if SECRETS_KEY is'],
    [isDirect, 'DATABASE_DIRECT_URL', 'can be set only if DATABASE_POOLER is true'],
    [holdsTooFew, 'BODY_BYTES_HELD_MAX', 'must be at least twice BODY_BYTES_MAX and BATCH_BYTES_MAX'],
    [namerUrl && namerModel === null, 'NAMER_MODEL', 'must be set if NAMER_URL is'],
  ]
  return faults.filter(([isWrong]) => isWrong).map(([, parameter, detail]) => ({ parameter, detail }))
}

/** The settings of an empty environment. */
export const DEFAULTS = readConfig({})
