import { resolve } from 'node:path'
import { readPostgresAddress } from './postgres-address.ts'

export type DatabaseAddress =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'memory' }

/**
 * The address of PostgreSQL; or a function that returns it for each new connection, because a password or a token in it may
 * be replaced while the service runs.
 */
export type PostgresUrl = string | (() => string)
export const urlNow = (url: PostgresUrl): string => (typeof url === 'string' ? url : url())
/** The address with a change to its text. */
export const withUrl = (url: PostgresUrl, change: (text: string) => string): PostgresUrl =>
  typeof url === 'string' ? change(url) : () => change(url())

export type Environment = Readonly<Record<string, string | undefined>>

/** Throws the requirement if a text is no address; `form` is the form that it names. */
export const database = (
  text: string,
  environment?: Environment,
  form = 'postgres://…, sqlite:PATH or memory:',
): DatabaseAddress => {
  if (text === 'memory:') return { kind: 'memory' }
  const [, path] = /^sqlite:(.+)$/s.exec(text) ?? []
  if (path !== undefined) return { kind: 'sqlite', path: sqlitePath(path) }
  if (text.startsWith('file:')) throw new Error(NOT_A_URI)
  if (/^postgres(ql)?:\/\//.test(text)) return { kind: 'postgres', url: postgresUrl(text, environment) }
  throw new Error(`must be ${form}`)
}

const FORM = 'must be sqlite:PATH, such as sqlite:data/file.db or sqlite:/srv/file.db, without'
const NOT_A_URI = `${FORM} file:, which SQLite would read as a URI`
/**
 * A path is taken literally, escapes such as `%20` included. Refused is what another reader of the same text takes for
 * something else, because it would open a second, empty file: `//data/x.db` is `/data/x.db`, nothing here replaces `~` by
 * the home folder, SQLite ends the path of a URI at `?` or `#`, and a file of settings may end a value at `#`.
 */
const sqlitePath = (path: string): string => {
  if (/^(\/\/[^/]|\/*~)/.test(path)) throw new Error(`${FORM} // or ~`)
  if (path.startsWith('file:')) throw new Error(NOT_A_URI)
  if (path.includes('?')) throw new Error(`${FORM} ?: it takes no parameters`)
  if (path.includes('#'))
    throw new Error(`${FORM} #, where other programs end a path: rename the file or folder`)
  return path
}

/**
 * An address of PostgreSQL that can be read: it stays text, because `readPostgresAddress` adds the variables of libpq. If
 * one of them is the reason for a refusal, it is the `parameter` of the error.
 */
export const postgresUrl = (text: string, environment: Environment = process.env): string => {
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error('must be postgres://…')
  const detail = refusalOf(text, environment)
  if (detail === null) return text
  const isReason = (name: string) => refusalOf(text, { ...environment, [name]: undefined }) !== detail
  const parameter = Object.keys(environment).find((name) => name.startsWith('PG') && isReason(name))
  throw Object.assign(new Error(detail), { parameter })
}
const refusalOf = (text: string, environment: Environment): string | null => {
  try {
    readPostgresAddress(text, environment)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

/** A database as a person may see it: the whole path of its file, no password. */
export const nameOf = (address: DatabaseAddress): string => {
  if (address.kind === 'memory') return 'memory:'
  if (address.kind === 'sqlite') return `sqlite:${resolve(address.path)}`
  return address.url.replace(/(\/\/[^:@/]*):[^@]*@/, '$1@').replace(/password=[^&]*/g, 'password=…')
}
