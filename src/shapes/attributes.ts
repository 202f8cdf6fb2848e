import * as v from 'valibot'
import { isObject, textOnceChecked } from './json.ts'
import { boundedText, documented, inForm } from './text.ts'

/** Maximum attributes of a prospect. */
export const ATTRIBUTES_MAX = 50
/** Maximum characters of a value, if it is a text or a number. */
export const VALUE_LENGTH_MAX = 1_000
const NAME_LENGTH_MAX = 64

const Name = boundedText(1, NAME_LENGTH_MAX)
const Value = boundedText(0, VALUE_LENGTH_MAX)

/** Whether a text can be the name of an attribute. */
export const isAttributeName = (name: string): boolean => name.trim() !== '' && v.is(Name, name)
/** Whether a text can be the value of an attribute. */
export const isAttributeText = (text: string): boolean => v.is(Value, text)

const faultIn = (name: string, value: unknown): string | undefined => {
  if (!isAttributeName(name))
    return `must have a name of 1 to ${NAME_LENGTH_MAX} characters that is not blank`
  if (value === null || ['number', 'boolean'].includes(typeof value)) return undefined
  if (typeof value !== 'string') return 'must be a string, a number, a boolean or null'
  const [issue] = v.safeParse(Value, value).issues ?? []
  return issue?.message
}

/**
 * Fields of a person, with names that callers choose: an object of texts, numbers, booleans and nulls, whose text is kept for
 * the sake of its numbers. The names are checked here because valibot leaves some out of its records, such as `constructor`.
 */
export const attributes = (description: string) =>
  inForm(
    'json',
    v.pipe(
      documented(v.custom<object>(isObject, 'must be an object'), {
        type: 'object',
        maxProperties: ATTRIBUTES_MAX,
        propertyNames: { minLength: 1, maxLength: NAME_LENGTH_MAX },
        additionalProperties: {
          type: ['string', 'number', 'boolean', 'null'],
          maxLength: VALUE_LENGTH_MAX,
        },
      }),
      v.description(description),
      v.rawCheck(({ dataset, addIssue }) => {
        if (!dataset.typed) return
        const members = Object.entries(dataset.value)
        if (members.length > ATTRIBUTES_MAX)
          return addIssue({ message: `must have at most ${ATTRIBUTES_MAX} members` })
        for (const [name, value] of members) {
          const message = faultIn(name, value)
          const place = { type: 'object', origin: 'value', input: dataset.value, key: name, value } as const
          if (message !== undefined) addIssue({ message, path: [place as never] })
        }
      }),
      v.transform(textOnceChecked),
    ),
  )

/** Whether attributes only fill blanks, or overwrite as well. */
export const AttributesMode = v.picklist(['fill', 'overwrite'])
export type AttributesMode = v.InferOutput<typeof AttributesMode>
