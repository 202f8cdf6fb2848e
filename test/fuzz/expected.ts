import { isUtf8 } from 'node:buffer'

/**
 * The result for a body by the specification's tables, read from its bytes by other code than the service's.
 */
type Fits = (value: unknown) => boolean
type Field = { readonly fits: Fits; readonly isRequired?: boolean }
type Table = Readonly<Record<string, Field>>
export type Verdict =
  | { readonly code: 'invalid_json' }
  /** `pointers`: the fields at fault, each once. */
  | { readonly code: 'invalid_request'; readonly pointers: readonly string[] }
  | { readonly code: null; readonly fields: Readonly<Record<string, unknown>>; readonly texts: Texts }
/** The text of each member of the body. */
type Texts = ReadonlyMap<string, string>

const text =
  (min: number, max: number): Fits =>
  (value) =>
    typeof value === 'string' &&
    !/[\0\ud800-\udfff]/u.test(value) &&
    [...value].length >= min &&
    [...value].length <= max
const object: Fits = (value) => Object.prototype.toString.call(value) === '[object Object]'
const prospectId: Fits = (value) => typeof value === 'string' && /^prospect_[a-z0-9]{26}$/.test(value)

/** Specification 2.1. */
export const ACTIVITY: Table = {
  source: { fits: text(1, 100), isRequired: true },
  type: { fits: text(1, 100) },
  payload: { fits: object, isRequired: true },
  prospectId: { fits: prospectId },
  email: { fits: text(0, Infinity) },
  idempotencyKey: { fits: text(1, 255) },
  name: { fits: text(1, 255) },
}
/** Specification 4.5. */
export const PAGE: Table = {
  supplementaryContext: { fits: text(0, Infinity) },
  customName: { fits: text(0, Infinity) },
}
const DEPTH_MAX = 512

export const verdictOn = (table: Table, bytes: Buffer): Verdict => {
  if (!isUtf8(bytes)) return { code: 'invalid_json' }
  const written = bytes.toString().replace(/^\ufeff/, '')
  const value = parsed(written)
  if (value === NOT_JSON) return { code: 'invalid_json' }
  if (!object(value)) return { code: 'invalid_request', pointers: [''] }
  const { texts, depth } = membersOf(written)
  if (depth > DEPTH_MAX) return { code: 'invalid_json' }
  const fields = value as Record<string, unknown>
  const unfit = Object.entries(table).flatMap(([name, { fits, isRequired = false }]) => {
    const isThere = Object.hasOwn(fields, name)
    return (isThere ? fits(fields[name]) : !isRequired) ? [] : [`/${name}`]
  })
  const unknown = Object.keys(fields).filter((name) => !Object.hasOwn(table, name))
  const pointers = table === PAGE ? [...unfit, ...unknown.map(pointerTo)] : unfit
  return pointers.length === 0
    ? { code: null, fields: ownOf(table, fields), texts }
    : { code: 'invalid_request', pointers: [...new Set(pointers)] }
}

/** Beyond the specification: an unknown member of a page is refused. Its name is not repeated if it may be data. */
const pointerTo = (name: string): string =>
  name.length > 100 || name.includes('@') ? '' : `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

const NOT_JSON = Symbol('not JSON')
const parsed = (written: string): unknown => {
  try {
    return JSON.parse(written)
  } catch {
    return NOT_JSON
  }
}

const ownOf = (table: Table, fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.keys(table)
      .filter((name) => Object.hasOwn(fields, name))
      .map((name) => [name, fields[name]]),
  )

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/gs

/** The members of an object that is known to be well-formed, and how deep the deepest of them nests. */
const membersOf = (written: string): { texts: Texts; depth: number } => {
  const texts = new Map<string, string>()
  let name: string | null = null
  let open = 0
  let depth = 0
  let begin = 0
  for (const { 0: token, index } of written.matchAll(TOKEN)) {
    const isOpening = token === '{' || token === '['
    const isClosing = token === '}' || token === ']'
    if (isOpening) open++
    if (isClosing) open--
    depth = Math.max(depth, open - 1)
    if (open === 1 && token === ',') name = null
    else if (open === 1 && name === null && token.startsWith('"')) name = JSON.parse(token)
    else if (isOpening && open === 2) begin = index
    else if (open === 1 && name !== null && token !== ':')
      texts.set(name, written.slice(isClosing ? begin : index, index + token.length))
  }
  return { texts, depth }
}
