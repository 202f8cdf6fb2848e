/** Writes a value as JSON. Parts that are kept as JSON text are inserted unchanged. */
export const writeJson = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if ('rawJson' in value) return value.rawJson as string
  let text = ''
  if (Array.isArray(value)) {
    for (const element of value) {
      if (text !== '') text += ','
      text += writeJson(element)
    }
    return `[${text}]`
  }
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name]
    if (member === undefined) continue
    if (text !== '') text += ','
    text += `"${name}":`
    text += writeJson(member)
  }
  return `{${text}}`
}
