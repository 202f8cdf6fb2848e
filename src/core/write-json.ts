/** Writes an answer. A value that is kept as JSON text goes in as that text, unread. */
export const writeJson = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if ('rawJson' in value) return value.rawJson as string
  let text = ''
  if (Array.isArray(value)) {
    for (const element of value) text += `${text && ','}${writeJson(element)}`
    return `[${text}]`
  }
  for (const [name, member] of Object.entries(value))
    if (member !== undefined) text += `${text && ','}"${name}":${writeJson(member)}`
  return `{${text}}`
}
