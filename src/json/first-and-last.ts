/**
 * The first and the last word of a person's name, for receivers that want them apart. The last one is null if there is only
 * one.
 */
export const firstAndLast = (name: string | null) => {
  const words = name?.trim().split(/\s+/u) ?? []
  const [first] = words
  return { firstName: first || null, lastName: words.length > 1 ? (words.at(-1) ?? null) : null }
}
