import { h } from './dom.ts'

const LINES_MAX = 1_500

/** Which lines two texts share, in order: of each text, whether a line is in the other one too. */
const sharedLines = (a: readonly string[], b: readonly string[]): readonly [boolean[], boolean[]] => {
  const shared: [boolean[], boolean[]] = [a.map(() => false), b.map(() => false)]
  let start = 0
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++
  let end = 0
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  for (let i = 0; i < start; i++) shared[0][i] = shared[1][i] = true
  for (let i = 1; i <= end; i++) shared[0][a.length - i] = shared[1][b.length - i] = true
  const [rows, columns] = [a.length - start - end, b.length - start - end]
  if (Math.max(rows, columns) > LINES_MAX) return shared
  // The length of the longest sequence that the rests from here on have in common.
  const lengths = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1))
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0
  for (let i = rows - 1; i >= 0; i--)
    for (let j = columns - 1; j >= 0; j--)
      (lengths[i] as Uint16Array)[j] =
        a[start + i] === b[start + j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  for (let i = 0, j = 0; i < rows && j < columns; )
    if (a[start + i] === b[start + j]) shared[0][start + i++] = shared[1][start + j++] = true
    else if (at(i + 1, j) >= at(i, j + 1)) i++
    else j++
  return shared
}

/** Consecutive lines that are alike in this, as one text. */
const runs = (lines: readonly string[], shared: readonly boolean[]) => {
  const all: { text: string; isShared: boolean }[] = []
  for (const [i, line] of lines.entries()) {
    const isShared = shared[i] ?? false
    const last = all.at(-1)
    if (last?.isShared === isShared) last.text += `${line}\n`
    else all.push({ text: `${line}\n`, isShared })
  }
  return all
}
/** Two texts side by side, the lines that differ marked. */
export const sideBySide = (left: string, right: string, names: readonly [string, string]) => {
  const lines = [left.split('\n'), right.split('\n')] as const
  const shared = sharedLines(...lines)
  const sides = ([0, 1] as const).map((side) =>
    h(
      'pre',
      { tabindex: 0, role: 'group', 'aria-label': names[side] },
      runs(lines[side], shared[side]).map(({ text, isShared }) =>
        isShared ? text : h(side === 0 ? 'del' : 'ins', {}, text),
      ),
    ),
  )
  return h('div.diff', {}, sides)
}
