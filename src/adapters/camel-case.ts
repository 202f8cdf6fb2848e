const names = new Map<string, string>()

/** `page_group_id` is `pageGroupId`, and so are `PageGroupId` and `page-group-id`, which an embedder's driver makes of it. */
export const camelCase = (column: string): string => {
  const known = names.get(column)
  if (known !== undefined) return known
  const name = column
    .replace(/^[A-Z]/, (letter) => letter.toLowerCase())
    .replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase())
  names.set(column, name)
  return name
}
