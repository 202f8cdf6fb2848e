import { membersOf } from '../json/raw-json.ts'
import { isAttributeName } from '../shapes/attributes.ts'
import type { RawJson } from '../shapes/json.ts'
import { ProspectWithIdentifiers } from '../shapes/prospect.ts'
import { wordOf } from './csv-rows.ts'

// Columns of CSV for the attributes of people: `company`, or `attributes/name` if a column `name` is something else.

/** The columns of CSV that are no attributes, in the order in which they are exported. */
export const PROSPECT_COLUMNS = ['externalId', 'email', 'name'] as const

const PREFIX = 'attributes/'
const MEMBER_WORDS: readonly string[] = PROSPECT_COLUMNS.map(wordOf)
/** What the API shows of a person, such as ids and times, is never an attribute. */
const isShown = (name: string): boolean => Object.hasOwn(ProspectWithIdentifiers.entries, name)

/** What becomes of a column that is neither an email nor an external id nor a name. One that is called so must have been meant. */
export const useOfColumn = (name: string): 'read' | 'ignored' | 'refused' => {
  if (MEMBER_WORDS.includes(wordOf(name))) return 'refused'
  if (isShown(name)) return 'ignored'
  return isAttributeName(attributeIn(name)) ? 'read' : 'refused'
}

/** The attribute of a column. */
export const attributeIn = (column: string): string =>
  column.startsWith(PREFIX) ? column.slice(PREFIX.length) : column

/** The column of an attribute. */
export const columnOf = (name: string): string => {
  const isOther = isShown(name) || MEMBER_WORDS.includes(wordOf(name)) || name.startsWith(PREFIX)
  return isOther ? `${PREFIX}${name}` : name
}

/** The texts of attributes, by their names. */
export const textsOf = (attributes: RawJson): ReadonlyMap<string, string> =>
  new Map(
    Array.from(membersOf(attributes.rawJson).members, ([name, { rawJson }]) => [
      name,
      rawJson.startsWith('"') ? JSON.parse(rawJson) : rawJson,
    ]),
  )
