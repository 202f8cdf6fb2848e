import type postgres from 'postgres'
import { type Columns, camelCase, columnsOf, memberOf } from '../stores/columns.ts'

type Rows = readonly (object | undefined)[]
/**
 * Sends one statement and returns its rows. Refuses `unavailable` if the database cannot answer in time. `tenantId` is
 * the one tenant that the statement is for, if there is one: tenants take turns.
 */
export type Ask = <Answer extends Rows>(
  statement: (sql: postgres.Sql) => postgres.PendingQuery<Answer>,
  tenantId?: string | null,
) => Promise<Answer>

/** A piece of a statement: its texts, and the values between them. */
export type Piece = { readonly texts: readonly string[]; readonly values: readonly Value[] }
type Parameter = string | number | boolean | null
type Value = Parameter | Piece

export const piece = (texts: readonly string[], ...values: readonly Value[]): Piece => ({ texts, values })

/** Sends one statement for a tenant, or for none, by the driver's template. */
export type Query = (
  tenantId?: string | null,
) => <Row extends object>(texts: readonly string[], ...values: readonly Value[]) => Promise<readonly Row[]>

export const queryOver =
  (ask: Ask): Query =>
  (tenantId = null) =>
  <Row extends object>(texts: readonly string[], ...values: readonly Value[]) => {
    const statement = { texts, values }
    const parameters: Parameter[] = []
    const place = placeAfter(statement, PLACES, parameters)
    place.template ??= templateOf(statement)
    const { template } = place
    return ask((sql) => sql<Row[]>(template, ...parameters), tenantId)
  }

/**
 * Where a template is kept: found by the texts of the statement and of its pieces, each the same object at each call, and by
 * the parameters between them. To join the texts at each call would take longer than all else here.
 */
type Place = {
  readonly after: WeakMap<object, Place>
  template: TemplateStringsArray | undefined
}
const newPlace = (): Place => ({ after: new WeakMap(), template: undefined })
const PLACES = newPlace()
const PARAMETER = {}

const isPiece = (value: Value): value is Piece => typeof value === 'object' && value !== null

/** The place after a piece. Adds the parameters of the piece. */
const placeAfter = ({ texts, values }: Piece, before: Place, parameters: Parameter[]): Place => {
  let place = nextPlace(before, texts)
  for (const value of values) {
    if (isPiece(value)) place = placeAfter(value, place, parameters)
    else {
      parameters.push(value)
      place = nextPlace(place, PARAMETER)
    }
  }
  return place
}
const nextPlace = ({ after }: Place, step: object): Place => {
  const known = after.get(step)
  if (known !== undefined) return known
  const place = newPlace()
  after.set(step, place)
  return place
}

/** The driver caches what it knows about a template by identity. Statements have fixed texts, so there are few. */
const templates = new Map<string, TemplateStringsArray>()
const templateOf = (statement: Piece): TemplateStringsArray => {
  const written = ['']
  appendTexts(statement, written)
  const texts = written.map(withoutComments)
  const key = texts.join('\0')
  const template = templates.get(key) ?? Object.assign([...texts], { raw: texts })
  templates.set(key, template)
  return template
}

/** Also without indentation: at each call the driver hashes the whole text of the statement, to find what it has prepared. */
const withoutComments = (text: string): string =>
  text.replaceAll(/^[ \t]*--.*$/gm, '').replaceAll(/\s*\n\s*/g, '\n')

/**
 * Adds a piece to a template that has only parameters left. The driver makes a promise of each nested template, which with
 * five of them takes a third more of Node's time for a statement.
 */
const appendTexts = ({ texts, values }: Piece, template: string[]): void => {
  template[template.length - 1] += texts[0] ?? ''
  for (const [i, value] of values.entries()) {
    const nextText = texts[i + 1] ?? ''
    if (isPiece(value)) {
      appendTexts(value, template)
      template[template.length - 1] += nextText
    } else template.push(nextText)
  }
}

/** A list as PostgreSQL writes an array: `{"a","b",NULL}`. The driver takes 50 % longer and first queries the types. */
export const textArray = (values: readonly (string | number | null)[]): string => {
  let array = '{'
  for (const value of values) {
    if (array.length > 1) array += ','
    array += typeof value === 'string' ? quoted(value) : (value ?? 'NULL')
  }
  return `${array}}`
}
/** JSON escapes quotes and backslashes in the same way, several times faster. It is not used if it would escape more. */
const quoted = (text: string): string => {
  if (!NEEDS_ESCAPE.test(text)) return `"${text}"`
  return JSON_ESCAPES_MORE.test(text) ? `"${text.replace(EVERY_ESCAPE, '\\$&')}"` : JSON.stringify(text)
}
const NEEDS_ESCAPE = /["\\]/
const EVERY_ESCAPE = /["\\]/g
const JSON_ESCAPES_MORE = /[^ -\ud7ff\ue000-\uffff]/

/**
 * The columns of a table, or of a list that a statement brings along. The member `pageId` of a row is the column
 * `page_id`.
 *
 * Rows are one parameter, a JSON text, so that a statement has the same text for any number of them and is prepared once.
 * For 32 activities this takes half the time of `values`; for one activity it takes as long. `arrays` take less for lists that
 * are often long.
 */
export const columns = (alias: string, list: Columns | string) => {
  const types = Object.entries(typeof list === 'string' ? columnsOf(list) : list)
  const members = types.map(([name]) => ({ name, member: camelCase(name) }))
  const isJson = (type: string) => type === 'json'
  const columnList = (form: (name: string, type: string) => string): Piece => {
    return { texts: [types.map(([name, type]) => form(name, type)).join(', ')], values: [] }
  }
  /** A JSON column is sent as text, which keeps every character. */
  const recordTypes = types.map(([name, type]) => `${name} ${isJson(type) ? 'text' : type}`).join(', ')
  const texts = ['json_to_recordset(', `::text::json) as ${alias} (${recordTypes})`]
  const rowTexts = [
    '(select ',
    ...types.map(([name, type], i) => {
      const cast = type === 'text' || isJson(type) ? '::text' : `::text::${type}`
      return `${cast} as ${name}${i < types.length - 1 ? ', ' : `) as ${alias}`}`
    }),
  ]
  const nulls = types.map(([name, type]) => `null::${isJson(type) ? 'text' : type} as ${name}`).join(', ')
  const noRowTexts = [`(select ${nulls} where false) as ${alias}`]
  const recordOf = (row: object) => {
    const record: Record<string, unknown> = {}
    for (const { name, member } of members) {
      const value = (row as Readonly<Record<string, unknown>>)[member]
      // Undefined is left out of the JSON, so the column is null.
      record[name] = Array.isArray(value) ? value : (memberOf(row, member) ?? undefined)
    }
    return record
  }
  const from = (rows: readonly object[]): Piece => ({ texts, values: [JSON.stringify(rows.map(recordOf))] })
  const fromArrays = arrays(alias, list).from
  const fromFew = (rows: readonly object[]): Piece => {
    const [row] = rows
    if (row === undefined) return { texts: noRowTexts, values: [] }
    if (rows.length > 1) return from(rows)
    const values = members.map(({ member }) => memberOf(row, member))
    return { texts: rowTexts, values: values.map((value) => (value === null ? null : String(value))) }
  }
  return {
    /** `page_id, content` */
    names: columnList((name) => name),
    /** `p.page_id, p.content::text as content`: as rows are read. */
    selected: columnList((name, type) => `${alias}.${name}${isJson(type) ? `::text as ${name}` : ''}`),
    /** `p.page_id, p.content::json`: as the rows of `from` are stored. */
    values: columnList((name, type) => `${alias}.${name}${isJson(type) ? '::json' : ''}`),
    /** These rows, for the `from` of a statement. */
    from,
    /** The same, as `arrays`: for long lists. No column may be a list. */
    fromArrays,
    /**
     * The same, but one row is sent as parameters, which PostgreSQL reads in half the time, and no row as nothing, so that its plan
     * has no part for it: for statements that a single caller waits for most. Such a statement is prepared for no row, for one
     * and for several. No column may be a list.
     */
    fromFew,
    /** The same, but a long list is sent as arrays. */
    fromAny: (rows: readonly object[]): Piece => (rows.length < LONG_LIST ? fromFew(rows) : fromArrays(rows)),
  }
}

/** From this length on, PostgreSQL reads arrays in less time than JSON. A statement that may do both is prepared twice. */
export const LONG_LIST = 16

/**
 * A list that a statement brings along, as one array for each column: for a hundred logs this takes PostgreSQL half the time of
 * the JSON of `columns`, and as long for one. A column that is null in all rows is an empty array, which costs nothing. In the
 * list of a `select`, arrays take less time than in `from`, where PostgreSQL first copies the rows of each.
 */
export const arrays = (alias: string, list: Columns | string) => {
  const types = Object.entries(typeof list === 'string' ? columnsOf(list) : list)
  const members = types.map(([name]) => camelCase(name))
  const after = types.map(
    ([name, type], i) => `::text::${type}[]) as ${name}${types[i + 1] ? ', unnest(' : `) as ${alias}`}`,
  )
  const texts = ['(select unnest(', ...after]
  /** `valuesOf` returns the values of a column, such as `pageId`, for all rows. */
  const fromColumns = (valuesOf: (member: string) => readonly Parameter[]): Piece => ({
    texts,
    values: members.map((member) => arrayOf(valuesOf(member))),
  })
  return {
    fromColumns,
    from: (rows: readonly object[]): Piece =>
      fromColumns((member) => rows.map((row) => memberOf(row, member))),
  }
}

/** The same as `textArray` writes, several times faster. */
const arrayOf = (values: readonly Parameter[]): string => {
  if (values.every((value) => value === null)) return '{}'
  const json = JSON.stringify(values)
  const isAlike = !json.includes('\\') || !ESCAPE_OF_JSON.test(json)
  return isAlike ? `{${json.slice(1, -1)}}` : textArray(values.map(asText))
}
const asText = (value: Parameter) => (typeof value === 'boolean' ? String(value) : value)
/** An escape that arrays do not have, such as `\n`. */
const ESCAPE_OF_JSON = /(?<!\\)(?:\\\\)*\\[^"\\]/
