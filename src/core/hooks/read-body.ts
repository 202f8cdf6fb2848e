import { isUtf8 } from 'node:buffer'
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, type ZlibOptions } from 'node:zlib'
import type { PointerTree } from '../../json/find-in-json.ts'
import { jsonDepth, objectOrArrayIn } from '../../json/is-json.ts'
import { NESTING_MAX } from '../../json/raw-json.ts'
import type { RawJson } from '../../shapes/json.ts'
import { orNull } from '../engine/or-null.ts'
import { type Delivery, headerIn } from './delivery.ts'
import {
  FIELDS_MAX,
  MORE_FIELDS,
  MULTIPART,
  type Part,
  parameterIn,
  partsIn,
  percentDecoded,
} from './multipart.ts'

/** A body as JSON. */
export type Document = {
  /** The payload to store. That of a form is written when it is first asked for: it takes as long as reading the form. */
  readonly payload: () => RawJson
  /** The JSON in which these pointers are resolved. */
  readonly textFor: (pointers: PointerTree) => string
  /** The body, if it is stored as it came: it is no JSON, and no form that can be read. */
  readonly unread?: Buffer
}
/** Called with what a person should know about a delivery that was accepted, as it continues the words "The body". */
export type Warn = (what: string) => void

/** Collects warnings as one text, each only once; null if there is none. `body`: how the text names the body. */
export const collectWarnings = (body: string) => {
  const found = new Set<string>()
  const warn: Warn = (what) => void found.add(what)
  const text = () => (found.size === 0 ? null : [...found].map((what) => `${body} ${what}.`).join(' '))
  return { warn, text }
}

/** A delivery whose body was inflated, or why it was not. */
export type Inflated = Delivery & {
  readonly unread?: string
  /** Whether the body is the query. */
  readonly isQuery?: true
}
/** Maximum size of an inflated body, unless the delivery names another. */
const BYTES_MAX = 1_048_576
const INFLATES: Readonly<Record<string, (bytes: Uint8Array, options: ZlibOptions) => Buffer>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  br: brotliDecompressSync,
  // Some programs leave out the header of zlib, whose first byte ends in 8.
  deflate: (bytes, options) => (((bytes[0] ?? 0) & 0xf) === 8 ? inflateSync : inflateRawSync)(bytes, options),
}

/** Whether bytes begin like gzip, the method of which is always 8. No text does. */
export const isGzip = ([first, second, method]: Uint8Array): boolean =>
  first === 0x1f && second === 0x8b && method === 8

export const inflated = (delivery: Delivery): Inflated => {
  const named = (headerIn(delivery, 'content-encoding') ?? '').trim().toLowerCase()
  const isNamed = named !== '' && named !== 'identity'
  if ((!isNamed && !isGzip(delivery.body)) || delivery.body.length === 0) return delivery
  const encoding = isNamed ? named : 'gzip'
  const { bytesMax: maxOutputLength = BYTES_MAX } = delivery
  const inflate = Object.hasOwn(INFLATES, encoding) ? INFLATES[encoding] : undefined
  const body = inflate && orNull(() => inflate(delivery.body, { maxOutputLength }))
  if (body) return { ...delivery, body }
  const [name = 'this'] = /^[a-z][\w-]{0,20}$/.exec(encoding) ?? []
  const unread = inflate
    ? `it is not ${name}, or has more than ${maxOutputLength} bytes without it`
    : `the content encoding ${name} is not supported`
  return { ...delivery, unread }
}

/** Without a body, the query is what was sent: a form. */
export const queryAsBody = (delivery: Inflated): Inflated => {
  if (!delivery.query || delivery.body.length > 0) return delivery
  const headers = { ...delivery.headers, 'content-type': 'application/x-www-form-urlencoded' }
  return { ...delivery, headers, body: Buffer.from(delivery.query), isQuery: true }
}

const FORM = /^\s*application\/x-www-form-urlencoded\s*(;|$)/i
/** What the name of a field begins with: no object or array does. */
const NAME = /^[a-z_%]/i
const JSON_TYPE = /^\s*[\w.-]+\/([\w.-]+\+)?json\s*(;|$)/i
const TEXT_TYPE = /^\s*(text\/|[\w.-]+\/([\w.-]+\+)?xml\b)/i

/** Any body as JSON: no verified delivery is refused for its shape. `each`: see `mapperOf`. */
export const documentOf = (delivery: Inflated, each: string | null, warn: Warn): Document => {
  const type = headerIn(delivery, 'content-type') ?? ''
  const charset = parameterIn(type, 'charset')
  const body = Buffer.from(delivery.body.buffer, delivery.body.byteOffset, delivery.body.length)
  const parts = MULTIPART.test(type) ? partsIn(body, type, delivery.fileBytes) : null
  if (parts !== null && typeof parts !== 'string') return formDocument(fieldsOf(parts, warn))

  const isForm = FORM.test(type) && body.length > 0
  // Most forms begin with the name of a field, so they cannot be JSON: decoding them just to see that would take time.
  const isSurelyForm = isForm && each !== '' && NAME.test(body.toString('latin1', 0, 1))
  const form = isSurelyForm ? fieldsIn(body, charset, warn) : null
  if (form) return formDocument(form)

  const { text, encoding, isGuessed } = decoded(body, charset)
  const json = jsonDocument(text) ?? inStringDocument(text) ?? (each === '' ? linesDocument(text) : null)
  const isText = encoding === 'utf-8' || !isGuessed || TEXT_TYPE.test(type)
  if (isGuessed && (json || isText)) warn(guessedAs(encoding))
  if (json) return json
  const fields = isForm ? fieldsIn(body, charset, warn) : null
  if (fields) return formDocument(fields)
  const notJson = JSON_TYPE.test(type) && (isText ? unlikeJson(text) : 'it is not UTF-8')
  const why = delivery.unread ?? parts ?? (isForm ? MORE_FIELDS : notJson)
  if (why && body.length > 0) warn(`was stored unread: ${why}`)
  return { ...written(isText ? { body: text } : { bodyBase64: body.toString('base64') }), unread: body }
}

/** The reason why a text is not read as JSON; null for a number or a string, which is stored as text anyway. */
const unlikeJson = (text: string): string | null => {
  const depth = jsonDepth(text)
  if (depth === null) return 'it is not JSON'
  return depth >= NESTING_MAX ? 'it is nested too deep' : null
}

/** A JSON object unchanged, an array as `items`, without blanks around it; null for neither, or if nested too deep. */
export const jsonDocument = (body: string): Document | null => {
  const text = objectOrArrayIn(body)
  if (text === null) return null
  const isObject = text.startsWith('{')
  const payload = { rawJson: isObject ? text : `{"items":${text}}` }
  return { payload: () => payload, textFor: () => text }
}
/** The JSON in a string: some programs encode twice. */
export const inStringDocument = (text: string): Document | null =>
  /^\s*"/.test(text) ? jsonDocument(orNull(() => String(JSON.parse(text))) ?? '') : null
/** Lines of JSON objects as an array. No text in JSON contains a line end. */
const linesDocument = (text: string): Document | null =>
  jsonDocument(`[${text.replace(/\}[ \t]*\r?\n[ \t\r\n]*\{/g, '},{')}]`)

export const written = (value: object): Document => {
  const text = JSON.stringify(value)
  return { payload: () => ({ rawJson: text }), textFor: () => text }
}

/** The name of a field, and its text or file. */
type Field = readonly [name: string, value: string | object]
/** An object of the fields; a repeated field is a list. */
const formDocument = (fields: readonly Field[]): Document => {
  const values = new Map<string, unknown>()
  for (const [name, all] of Map.groupBy(fields, ([name]) => name))
    values.set(name, all.length > 1 ? all.map(([, value]) => value) : all[0]?.[1])
  let text: string | undefined
  const textOfAll = () => {
    text ??= JSON.stringify(Object.fromEntries(values))
    return text
  }
  return {
    payload: () => ({ rawJson: textOfAll() }),
    textFor: (pointers) => openedForm(values, pointers) ?? textOfAll(),
  }
}

/** In how many fields members are looked for that are no fields: vendors that send JSON in a form use one. */
const OPENED_MAX = 10

/**
 * The fields as JSON in which pointers find also a field by its name in another case, and a member of an object in a field:
 * some vendors send the whole message in one field, `payload`. Null if every pointer leads to a field under its exact name,
 * as in most forms: the rest takes time.
 */
const openedForm = (values: ReadonlyMap<string, unknown>, { root }: PointerTree): string | null => {
  const missing = [...root.names.keys()].filter((name) => !values.has(name))
  if (missing.length === 0) return null
  const inOtherCase = new Map([...values].map(([name, value]) => [name.toLowerCase(), value]))
  const renamed = missing.flatMap((name) => {
    const value = inOtherCase.get(name.toLowerCase())
    return value === undefined ? [] : [memberText(name, value)]
  })
  const members = [...values.values()]
    .filter((value) => typeof value === 'string' && /^\s*\{\s*[^\s}]/.test(value))
    .slice(0, OPENED_MAX)
    .flatMap((value) => objectOrArrayIn(String(value))?.slice(1, -1) ?? [])
  const own = [...values].map(([name, value]) => memberText(name, value))
  // The last of several members with the same name counts: a field of the form, then the first field that has it.
  return renamed.length + members.length === 0 ? null : `{${[...members.reverse(), ...renamed, ...own]}}`
}
const memberText = (name: string, value: unknown) => `${JSON.stringify(name)}:${JSON.stringify(value)}`

/** A hidden field with this name gets the name of the encoding in which the browser sends the form (HTML Standard). */
const CHARSET_FIELD = '_charset_'
/** The fields of an encoded form, as browsers read it; null if there are too many. */
const fieldsIn = (body: Buffer, charset: string | undefined, warn: Warn): Field[] | null => {
  const pieces = withBlanks(body)
    .toString('latin1')
    .split('&', FIELDS_MAX + 1)
  if (pieces.length > FIELDS_MAX) return null
  const textOf = textsIn(warn)
  const [named = ''] = pieces.filter((piece) => piece.startsWith(`${CHARSET_FIELD}=`))
  const label = charset ?? (named.slice(CHARSET_FIELD.length + 1) || undefined)
  const read = (part: string) => textOf(percentDecoded(part), label)
  return pieces.filter(Boolean).map((piece) => {
    const nameEnd = `${piece}=`.indexOf('=')
    return [read(piece.slice(0, nameEnd)), read(piece.slice(nameEnd + 1))]
  })
}

/** The bytes of an encoded form with a blank for each `+`. In a text it takes much longer to replace hundreds of thousands. */
const withBlanks = (body: Buffer): Buffer => {
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === PLUS) bytes[at] = BLANK
  return bytes
}
const PLUS = 0x2b
const BLANK = 0x20

const fieldsOf = (parts: readonly Part[], warn: Warn): Field[] => {
  const textOf = textsIn(warn)
  const isNamed = (part: Part) => part.name.toString('latin1') === CHARSET_FIELD
  const named = parts.find(isNamed)
  const label = named && 'value' in named ? named.value.toString('latin1').trim() || undefined : undefined
  return parts.map((part) => {
    const name = textOf(part.name, label)
    if ('value' in part) return [name, textOf(part.value, part.charset ?? label)]
    const { type, bytes } = part
    return [name, { name: textOf(part.file, label), type, bytes }]
  })
}
const textsIn = (warn: Warn) => (bytes: Buffer, charset?: string) => {
  const { text, encoding, isGuessed } = decoded(bytes, charset)
  if (isGuessed) warn(guessedAs(encoding))
  return text
}
const guessedAs = (encoding: string) => `was read as ${encoding}: it is not UTF-8`

/** UTF-8, else the encoding that is named, else UTF-16 if it says so, else windows-1252. Marks of byte order are dropped. */
const decoded = (bytes: Buffer, charset?: string) => {
  const isNamed = charset !== undefined && !/^utf-?8$/i.test(charset)
  if (isUtf8(bytes) && !(isNamed && isAsciiOf(charset, bytes)))
    return { text: bytes.toString().replace(/^\ufeff+/, ''), encoding: 'utf-8', isGuessed: false }
  const label = isNamed ? charset : labelByMark(bytes)
  const decoder = label === '' ? null : orNull(() => new TextDecoder(label, { fatal: true }))
  const isOther = decoder !== null && decoder.encoding !== 'windows-1252'
  const text = isOther ? orNull(() => decoder.decode(bytes)) : null
  if (text !== null) return { text, encoding: decoder?.encoding ?? '', isGuessed: !isNamed }
  const isGuessed = decoder?.encoding !== 'windows-1252'
  return { text: windows1252(bytes), encoding: 'windows-1252', isGuessed }
}

/** Whether bytes that are valid UTF-8 are in another encoding, which has bytes that no text in UTF-8 has. */
const isAsciiOf = (charset: string, bytes: Buffer): boolean =>
  (/^utf-?16/i.test(charset) && bytes.includes(0)) || (/^iso-2022-/i.test(charset) && bytes.includes(ESCAPE))
const ESCAPE = 0x1b

/** The encoding that a mark of byte order names; empty without one. */
const labelByMark = (bytes: Buffer): string => {
  const mark = bytes.toString('latin1', 0, 2)
  if (mark === '\xff\xfe') return 'utf-16le'
  return mark === '\xfe\xff' ? 'utf-16be' : ''
}

/** Not by `TextDecoder`, which reads 32 of these characters as ISO-8859-1 on some versions of Node. */
const windows1252 = (bytes: Buffer): string => {
  const units = Buffer.allocUnsafe(bytes.length * 2)
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    const code = byte >= 0x80 && byte < 0xa0 ? WINDOWS_1252.charCodeAt(byte - 0x80) : byte
    units[i * 2] = code & 0xff
    units[i * 2 + 1] = code >> 8
  }
  return units.toString('utf16le')
}
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'
