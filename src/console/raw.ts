import { eachChild, endOfValue, membersOf } from '../json/raw-json.ts'

/** The exact text of a member, such as a payload. */
export const memberOf = (text: string, name: string): string =>
  membersOf(text).members.get(name)?.rawJson ?? 'null'

/** The exact texts of the items of a slice. */
export const itemTexts = (text: string): readonly string[] => {
  const items = memberOf(text, 'items')
  const texts: string[] = []
  eachChild(items, 0, (_, begin) => {
    const { end } = endOfValue(items, begin)
    texts.push(items.slice(begin, end))
    return end
  })
  return texts
}

/** Members as JSON, with one more whose text is inserted unchanged. */
export const withExact = (members: object, name: string, text: string): string => {
  const others = JSON.stringify(members).slice(1, -1)
  return `{${others && `${others},`}"${name}":${text}}`
}
