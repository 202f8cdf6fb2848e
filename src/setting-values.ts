/** How the texts of settings are read: each answers the value, or throws what is wrong with the text. */

export type DatabaseAddress =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'memory' }

export const text = (given: string): string => given
/** What a header can carry; anything else would be quoted in an error when it is sent. */
export const secret = (given: string): string | undefined => {
  if (!/^[!-~]*$/.test(given)) throw new Error('must be visible ASCII characters')
  return optional(given)
}
export const optional = (given: string): string | undefined => (given === '' ? undefined : given)
export const flag = (given: string): boolean => {
  if (given !== 'true' && given !== 'false') throw new Error('must be true or false')
  return given === 'true'
}
export const onOrOff = (given: string): boolean => {
  if (given !== 'on' && given !== 'off') throw new Error('must be on or off')
  return given === 'on'
}
export const oneOf =
  (allowed: readonly string[]) =>
  (given: string): string => {
    if (!allowed.includes(given)) throw new Error(`must be one of ${allowed.join(', ')}`)
    return given
  }
export const whole =
  (min: number, max: number) =>
  (given: string): number => {
    if (!/^\d{1,12}$/.test(given) || Number(given) < min || Number(given) > max)
      throw new Error(`must be a whole number from ${min} to ${max}`)
    return Number(given)
  }
export const wholeOrNone = (min: number, max: number) => (given: string) =>
  given === '' ? null : whole(min, max)(given)
/** `none` is no value; an empty text would be the default. */
export const noneOr =
  <Value>(read: (given: string) => Value) =>
  (given: string) =>
    given === 'none' ? null : read(given)
export const httpUrl = (given: string): string | undefined => {
  if (given === '') return undefined
  if (!/^https?:\/\/[^\s/@]+(\/[^\s@]*)?$/.test(given) || !URL.canParse(given))
    throw new Error('must be an http or https address without a name or password')
  return given
}
export const database = (given: string): DatabaseAddress => {
  if (given === 'memory:') return { kind: 'memory' }
  if (given.startsWith('sqlite:') && given.length > 'sqlite:'.length)
    return { kind: 'sqlite', path: given.slice('sqlite:'.length) }
  // Of several hosts the first stands for all here.
  if (POSTGRES_ADDRESS.test(given) && canDecode(given) && URL.canParse(given.replace(/,[^/?]*/, '')))
    return { kind: 'postgres', url: given }
  const isPostgres = /^postgres(ql)?:\/\/.*[@#%]/.test(given)
  throw new Error(`must be postgres://…, sqlite:PATH or memory:${isPostgres ? `; ${ENCODED}` : ''}`)
}
/** Where a mark that parts an address stands in its password, a piece of that would be taken for a host, and be told. */
const POSTGRES_ADDRESS = /^postgres(ql)?:\/\/(?=.)([^@/?#]*@)?[^@/?#]*(\/[^@?#]*)?(\?[^@#]*)?$/
const ENCODED = 'in a name or password @ is written %40, / %2F, ? %3F, # %23 and % %25'
const canDecode = (text: string): boolean => {
  try {
    return decodeURIComponent(text) !== ''
  } catch {
    return false
  }
}
export const postgresUrl = (given: string): string | null => {
  if (given === '') return null
  if (!/^postgres/.test(given)) throw new Error('must be postgres://…')
  const address = database(given)
  return address.kind === 'postgres' ? address.url : null
}
