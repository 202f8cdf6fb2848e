/** The known word that is meant by a mistyped one: the nearest, if it is near. */
export const nearest = (given: string, known: readonly string[]): string | undefined => {
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(given.length / 3)) + 1
  for (const word of known) {
    const distance = distanceOf(given.toLowerCase(), word)
    if (distance < bestDistance) [best, bestDistance] = [word, distance]
  }
  return best
}

export const didYouMean = (meant: string | undefined): string =>
  meant === undefined ? '' : `; did you mean ${meant}?`

/** How many letters must be put in, taken out, changed or swapped with the next to make one word of the other. */
const distanceOf = (a: string, b: string): number => {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      let least = Math.min(changed, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (beforeLast[j - 2] ?? 0) + 1)
      row.push(least)
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}
