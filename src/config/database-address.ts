import { orNull } from '../core/engine/outcome.ts'

export type DatabaseAddress =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'memory' }

export const database = (given: string): DatabaseAddress => {
  if (given === 'memory:') return { kind: 'memory' }
  const [, path] = /^sqlite:(.+)$/s.exec(given) ?? []
  // `//data/x.db` is `/data/x.db`, and nothing here replaces `~` by the home folder.
  if (/^(\/\/[^/]|\/*~)/.test(path ?? ''))
    throw new Error(
      'must be sqlite:PATH, such as sqlite:data/file.db or sqlite:/srv/file.db, without // or ~',
    )
  if (path !== undefined) return { kind: 'sqlite', path }
  const isDecodable = orNull(() => decodeURIComponent(given)) !== null
  // `URL` knows one host only, so the others of a list are left out.
  if (POSTGRES_URL.test(given) && isDecodable && URL.canParse(given.replace(/,[^/?]*/, '')))
    return { kind: 'postgres', url: given }
  const isPostgres = /^postgres(ql)?:\/\/.*[@#%]/.test(given)
  throw new Error(`must be postgres://…, sqlite:PATH or memory:${isPostgres ? `; ${ESCAPES}` : ''}`)
}
/** Unescaped delimiters in the password are refused: part of it would appear in errors as the host. */
const POSTGRES_URL = /^postgres(ql)?:\/\/(?=.)([^@/?#]*@)?[^@/?#]*(\/[^@?#]*)?(\?[^@#]*)?$/
const ESCAPES = 'in a user name or password write @ as %40, / as %2F, ? as %3F, # as %23 and % as %25'
export const postgresUrl = (given: string): string => {
  const address = /^postgres/.test(given) ? database(given) : undefined
  if (address?.kind !== 'postgres') throw new Error('must be postgres://…')
  return address.url
}
