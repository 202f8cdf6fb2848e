/** Whether two words become equal if at most `edits` letters are added, removed, replaced or swapped. */
export const isNear = (a: string, b: string, edits: number): boolean => {
  if (edits < 0 || Math.abs(a.length - b.length) > edits) return false
  if (a === b) return true
  const moreA = a.slice(1)
  const moreB = b.slice(1)
  if (a[0] === b[0]) return isNear(moreA, moreB, edits)
  if (a[0] === b[1] && a[1] === b[0] && isNear(a.slice(2), b.slice(2), edits - 1)) return true
  return isNear(moreA, moreB, edits - 1) || isNear(moreA, b, edits - 1) || isNear(a, moreB, edits - 1)
}

/** The known name that a misspelt one may stand for. */
export const nearest = (name: string, known: readonly string[]): string | undefined =>
  known.find((other) => isNear(name, other, name.length > 4 ? 2 : 1))
