import { resolve } from 'node:path'
import { readPostgresAddress } from './postgres-address.ts'

export type DatabaseAddress =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'memory' }

export type Environment = Readonly<Record<string, string | undefined>>

export const database = (given: string, environment?: Environment): DatabaseAddress => {
  if (given === 'memory:') return { kind: 'memory' }
  const [, path] = /^sqlite:(.+)$/s.exec(given) ?? []
  if (path !== undefined) return { kind: 'sqlite', path: sqlitePath(path) }
  if (/^postgres(ql)?:\/\//.test(given)) return { kind: 'postgres', url: postgresUrl(given, environment) }
  throw new Error('must be postgres://…, sqlite:PATH or memory:')
}

const FORM = 'must be sqlite:PATH, such as sqlite:data/file.db or sqlite:/srv/file.db, without'
/** `//data/x.db` is `/data/x.db`, and nothing here replaces `~` by the home folder. */
const sqlitePath = (path: string): string => {
  if (/^(\/\/[^/]|\/*~)/.test(path)) throw new Error(`${FORM} // or ~`)
  if (path.includes('?')) throw new Error(`${FORM} ?: it takes no parameters`)
  return path
}

/**
 * An address of PostgreSQL that can be read: it stays text, because `readPostgresAddress` adds the variables of libpq. If
 * one of them is the reason for a refusal, it is the `parameter` of the error.
 */
export const postgresUrl = (given: string, environment: Environment = process.env): string => {
  if (!/^postgres(ql)?:\/\//.test(given)) throw new Error('must be postgres://…')
  const detail = refusalOf(given, environment)
  if (detail === null) return given
  const isReason = (name: string) => refusalOf(given, { ...environment, [name]: undefined }) !== detail
  const parameter = Object.keys(environment).find((name) => name.startsWith('PG') && isReason(name))
  throw Object.assign(new Error(detail), { parameter })
}
const refusalOf = (given: string, environment: Environment): string | null => {
  try {
    readPostgresAddress(given, environment)
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
