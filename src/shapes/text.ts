import * as v from 'valibot'

/** How the OpenAPI document shows a schema or a check that has no JSON Schema equivalent. */
export type Documented = { readonly jsonSchema: Readonly<Record<string, unknown>> }

export const documented = <T extends object>(
  thing: T,
  jsonSchema: Documented['jsonSchema'],
): T & Documented => Object.assign(thing, { jsonSchema })

/** How a program passes a member to the library, if not in the form that HTTP has: that form is what shapes check. */
export type Form = 'json' | 'time' | 'number'
type InForm = { readonly form?: Form; readonly wrapped?: InForm }

export const inForm = <Schema extends v.GenericSchema>(form: Form, schema: Schema): Schema =>
  Object.assign(schema, { form })

/** The form of a schema, which a pipe that begins with it has too. `wrapped`: the schema of an optional or nullable value. */
export const formOf = ({ form, wrapped }: InForm): Form | undefined => form ?? (wrapped && formOf(wrapped))

/** Adds the description that the OpenAPI document shows. */
export const described = <const Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.pipe(schema, v.description(description))

/** A member that may be left out. */
export const optional = <const Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.optional(described(schema, description))

/** Counts Unicode code points, as JSON Schema and PostgreSQL do; `string.length` counts UTF-16 units. */
const fitsCodePoints = (text: string, min: number, max: number): boolean => {
  if (text.length > max * 2) return false
  const count = text.length - (text.match(SURROGATE_PAIRS)?.length ?? 0)
  return count >= min && count <= max
}
const SURROGATE_PAIRS = /[\u{10000}-\u{10ffff}]/gu

/** PostgreSQL cannot store NUL in a text, and UTF-8 cannot encode a lone surrogate. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/** The pattern excludes NUL only: no pattern for surrogates means the same in every regular-expression dialect. */
const storable = () =>
  documented(v.check(isStorable, 'must not contain a NUL character or an unpaired surrogate'), {
    pattern: '^[^\\x00]*$',
  })

/** Any text that can be stored. */
export const text = () => v.pipe(v.string(), storable())

/** A text of `min` to `max` Unicode code points. */
export const boundedText = (min: number, max: number) =>
  v.pipe(
    v.string(),
    documented(
      v.check((value: string) => fitsCodePoints(value, min, max), `must be ${min} to ${max} characters long`),
      { minLength: min, maxLength: max },
    ),
    storable(),
  )

/** A whole number, at least `min`. */
export const whole = (min: number) =>
  v.pipe(v.number(), v.integer('must be whole'), v.minValue(min, `must be ${min} or more`))

/** An id of this service: a prefix and 26 lowercase characters or digits. */
export const id = (prefix: string) =>
  v.pipe(
    v.string(),
    v.minLength(1, 'must not be empty'),
    v.regex(
      new RegExp(`^${prefix}_[a-z0-9]{26}$`),
      `must be ${prefix}_ followed by 26 characters a-z or 0-9`,
    ),
  )
