import type { AttributesMode } from '../../shapes/attributes.ts'
import type { RawJson } from '../../shapes/json.ts'

/** What an activity or a creation says of a person besides identifiers. */
type Fields = {
  readonly name?: string | undefined
  readonly attributes?: RawJson | undefined
  readonly attributesMode?: AttributesMode | undefined
}

/** One text for the name and the attributes: two with the same text fill the same blanks. */
export const fillsOf = ({ name = '', attributes }: Fields): string =>
  attributes === undefined ? name : `${name}\0${attributes.rawJson}`

/** Whether attributes that the person already has may be replaced. */
export const overwritesAny = ({ attributes, attributesMode }: Fields): boolean =>
  attributes !== undefined && attributesMode === 'overwrite'
