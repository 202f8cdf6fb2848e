import { h } from './dom.ts'

/** Longer texts are compared only up to their first and from their last difference. */
const LINES_MAX = 1_500

/** Two texts side by side, with the lines that differ marked. */
export const sideBySide = (left: string, right: string, names: readonly [left: string, right: string]) => {
  const leftLines = left.split('\n')
  const rightLines = right.split('\n')
  const shared = sharedLines(leftLines, rightLines)
  const side = (name: string, lines: readonly string[], shared: ReadonlySet<number>, mark: 'del' | 'ins') => {
    const marked = lines.map((line, i) => (shared.has(i) ? `${line}\n` : h(mark, `${line}\n`)))
    return h('pre', { tabindex: 0, role: 'group', 'aria-label': name }, marked)
  }
  return h(
    'div.diff',
    side(names[0], leftLines, shared.left, 'del'),
    side(names[1], rightLines, shared.right, 'ins'),
  )
}

/** The lines that two texts have in common, in the same order, by their index in each. */
const sharedLines = (left: readonly string[], right: readonly string[]) => {
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
  if (Math.max(leftEnd, rightEnd) - start > LINES_MAX) return shared
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

/** Returns how long the longest common sequence of lines is, after the first i lines of one text and j of the other. */
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
