import { isLeftover } from '../../json/leftovers.ts'
import { partsOf } from '../../json/places.ts'
import { membersOf } from '../../json/raw-json.ts'
import { isAttributeName, isAttributeText, VALUE_LENGTH_MAX } from '../../shapes/attributes.ts'
import { type HookMap, placesIn } from '../../shapes/hook-rules.ts'
import type { RawJson } from '../../shapes/json.ts'

/** Fields for programs and secrets, and the page, which belongs to the activity. */
const NOT_OF_A_PERSON = /^_|captcha|csrf|password|token|turnstile|^pageid$/i
/** A longer text is no attribute, however it is escaped. */
const JSON_LENGTH_MAX = 6 * 2 * VALUE_LENGTH_MAX + 2

/**
 * Finds the fields of a form that become attributes: texts at the top of a payload, unless a place of the map or the trap
 * names them.
 */
export const fieldsAsAttributes = (map: HookMap, trap: string | null) => {
  const names = placesIn(map)
    .flatMap(([, places]) => places.flatMap(partsOf))
    .filter((part) => part.startsWith('/'))
    .map((pointer) => pointer.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~') ?? '')
  const taken = new Set([...names, ...(trap === null ? [] : [trap])].map((name) => name.toLowerCase()))
  const isTaken = (name: string) => taken.has(name.toLowerCase()) || NOT_OF_A_PERSON.test(name)

  return (payload: RawJson): ReadonlyMap<string, string> => {
    const texts = new Map<string, string>()
    for (const [name, { rawJson }] of membersOf(payload.rawJson).members) {
      if (!rawJson.startsWith('"') || rawJson.length > JSON_LENGTH_MAX || isTaken(name)) continue
      const text: string = JSON.parse(rawJson)
      const isUsable = text.trim() !== '' && isAttributeText(text) && !isLeftover(text)
      if (isUsable && isAttributeName(name)) texts.set(name, text)
    }
    return texts
  }
}
