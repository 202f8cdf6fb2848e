/** A list of texts as PostgreSQL writes an array: `{"a","b",NULL}`. */
export const textArray = (texts: readonly (string | null)[]): string => {
  let array = '{'
  for (const text of texts) {
    if (array.length > 1) array += ','
    array += text === null ? 'NULL' : `"${needsEscape.test(text) ? text.replace(escapes, '\\$&') : text}"`
  }
  return `${array}}`
}
const needsEscape = /["\\]/
const escapes = /["\\]/g

/** The same for numbers and booleans, which need no quotes. */
export const plainArray = (values: readonly (number | boolean)[]): string => `{${values.join(',')}}`
