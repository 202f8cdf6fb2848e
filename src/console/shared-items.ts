/** More items than this between the first and the last difference all count as different. */
const COMPARED_MAX = 1_500

/** The items that two lists have in common, in the same order, by their index in each. */
export const sharedItems = (left: readonly string[], right: readonly string[]) => {
  const shared = { left: new Set<number>(), right: new Set<number>() }
  const add = (i: number, j: number): void => {
    shared.left.add(i)
    shared.right.add(j)
  }
  const shorter = Math.min(left.length, right.length)
  let start = 0
  while (start < shorter && left[start] === right[start]) {
    add(start, start)
    start++
  }
  let leftEnd = left.length
  let rightEnd = right.length
  while (leftEnd > start && rightEnd > start && left[leftEnd - 1] === right[rightEnd - 1]) {
    leftEnd--
    rightEnd--
    add(leftEnd, rightEnd)
  }
  if (Math.max(leftEnd, rightEnd) - start > COMPARED_MAX) return shared
  const lengths = commonLengths(left.slice(start, leftEnd), right.slice(start, rightEnd))
  let i = start
  let j = start
  while (i < leftEnd && j < rightEnd) {
    if (left[i] === right[j]) {
      add(i, j)
      i++
      j++
    } else if (lengths(i + 1 - start, j - start) >= lengths(i - start, j + 1 - start)) i++
    else j++
  }
  return shared
}

/** Returns how long the longest common sequence is, after the first i items of one list and j of the other. */
const commonLengths = (left: readonly string[], right: readonly string[]) => {
  const columns = right.length + 1
  const lengths = new Uint16Array((left.length + 1) * columns)
  const at = (i: number, j: number): number => lengths[i * columns + j] ?? 0
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const isSame = left[i] === right[j]
      lengths[i * columns + j] = isSame ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  return at
}
