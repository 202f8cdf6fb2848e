/** A field of a form: its bytes, or the file that was chosen. Names are bytes, too: they are in the encoding of the page. */
export type Part =
  | { readonly name: Buffer; readonly value: Buffer; readonly charset: string | undefined }
  | { readonly name: Buffer; readonly file: Buffer; readonly type: string; readonly bytes: number }

/** A form with more fields is stored as its text. */
export const FIELDS_MAX = 1_000
export const MORE_FIELDS = `its form has more than ${FIELDS_MAX} fields`
/** RFC 2046 allows 70. */
const BOUNDARY_LENGTH_MAX = 200
/** The boundary between the parts of a form; null if it is missing or too long, or the type is another one. */
export const boundaryIn = (contentType: string): string | null => {
  const boundary = MULTIPART.test(contentType) ? (parameterIn(contentType, 'boundary') ?? '') : ''
  return boundary === '' || boundary.length > BOUNDARY_LENGTH_MAX ? null : boundary
}
export const MULTIPART = /^\s*multipart\/form-data\s*(;|$)/i
/** Whether these are the headers of a file, from the delimiter on. */
export const isFileHead = (head: string): boolean => {
  const part = partIn(Buffer.from(head, 'latin1'))
  return part !== null && 'file' in part
}
/** The headers of one part. */
export const HEADERS_LENGTH_MAX = 16_384

const PARAMETER = /;\s*([\w*-]+)\s*=\s*(?:"(.*?)(?<!\\)"|([^;\s]*))/g
/** The value of a parameter of a header, such as `charset`. */
export const parameterIn = (header: string, name: string): string | undefined => {
  for (const [, found = '', quoted, plain] of header.matchAll(PARAMETER))
    if (found.toLowerCase() === name) return quoted ?? plain
  return undefined
}

/**
 * The parts of a body in `multipart/form-data` (RFC 7578), or what is wrong with it. Bounded: it ends after so many parts,
 * and passes over each byte a fixed number of times. Line ends without CR are accepted. `fileBytes`: the sizes of files that
 * were left out of the body, in order.
 */
export const partsIn = (
  body: Buffer,
  contentType: string,
  fileBytes: readonly number[] = [],
): readonly Part[] | string => {
  const boundary = boundaryIn(contentType)
  if (boundary === null) return 'its boundary is missing or too long'
  let files = 0
  const delimiter = Buffer.from(`\n--${boundary}`, 'latin1')
  const first = delimiter.subarray(1)
  const parts: Part[] = []
  let before = body.subarray(0, first.length).equals(first) ? -1 : body.indexOf(delimiter)
  if (before < 0 && !body.subarray(0, first.length).equals(first)) return NO_END
  for (;;) {
    const begin = before + delimiter.length
    if (body.toString('latin1', begin, begin + 2) === '--') return parts
    const end = body.indexOf(delimiter, begin)
    if (end < 0) return NO_END
    const part = partIn(body.subarray(begin, end))
    if (part === null) return 'a part of its form is malformed'
    const isFile = 'file' in part
    if (parts.push(isFile ? { ...part, bytes: fileBytes[files] ?? part.bytes } : part) > FIELDS_MAX)
      return MORE_FIELDS
    if (isFile) files++
    before = end
  }
}
const NO_END = 'its form has no end'

const HEAD = /^[ \t]*\r?\n((?:[^\r\n]+\r?\n)*)\r?(?:\n|$)/
/** Null if it has no name, or long headers. */
const partIn = (text: Buffer): Part | null => {
  const [head = '', headers = ''] = HEAD.exec(text.toString('latin1', 0, HEADERS_LENGTH_MAX)) ?? []
  const disposition = headerIn(headers, 'content-disposition')
  const name = parameterIn(disposition, 'name')
  if (name === undefined || head.length === HEADERS_LENGTH_MAX) return null
  const value = text.subarray(head.length, text.at(-1) === CR ? -1 : text.length)
  const type = headerIn(headers, 'content-type')
  const encoded = parameterIn(disposition, 'filename*')?.replace(/^[\w-]*'[\w-]*'/, '')
  const file = parameterIn(disposition, 'filename') ?? encoded
  if (file === undefined) return { name: unescaped(name), value, charset: parameterIn(type, 'charset') }
  return {
    name: unescaped(name),
    file: encoded ? percentDecoded(encoded) : unescaped(file),
    type,
    bytes: value.length,
  }
}
const CR = 13
const headerIn = (headers: string, name: string): string =>
  new RegExp(`^${name}:[ \t]*(.*)`, 'im').exec(headers)?.[1]?.trim() ?? ''

/** Browsers escape three characters of a name like this, and programs a quotation mark with a backslash. */
const unescaped = (name: string): Buffer =>
  Buffer.from(
    name
      .replace(/%22|\\"/g, '"')
      .replace(/%0D/gi, '\r')
      .replace(/%0A/gi, '\n'),
    'latin1',
  )
/** The bytes of percent-encoded text. A lone `%` stays. */
export const percentDecoded = (text: string): Buffer =>
  // `unescape` is native, but also reads `%u0041`.
  Buffer.from(unescape(text.replaceAll('%u', '%25u')), 'latin1')
