import { type Child, counted, h } from './dom.ts'
import { sharedItems } from './shared-items.ts'

type Mark = 'del' | 'ins'
/** A line or a word, and whether both texts have it. */
type Part = { readonly text: string; readonly isShared: boolean }

/** So many unchanged lines are shown before and after one that differs. */
const LINES_AROUND = 2
/** Fewer unchanged lines than this are not left out. */
const LEFT_OUT_MIN = 4

/** Two texts with the words that differ marked; if they have several lines, the lines that differ and a few around them. */
export const marked = (left: string, right: string): readonly [left: Child, right: Child] => {
  const hasLines = left.includes('\n') || right.includes('\n')
  const [leftParts, rightParts] = compared(left, right, hasLines ? linesOf : wordsOf)
  return hasLines
    ? [linesNear(leftParts, 'del'), linesNear(rightParts, 'ins')]
    : [runs(leftParts, 'del'), runs(rightParts, 'ins')]
}

/** Two JSON texts side by side, with the lines that differ marked. */
export const sideBySide = (left: string, right: string, names: readonly [left: string, right: string]) => {
  const [leftLines, rightLines] = compared(left, right, linesOf)
  const side = (name: string, content: Child) =>
    h('pre', { tabindex: 0, role: 'group', 'aria-label': name }, content)
  return h('div.diff', side(names[0], runs(leftLines, 'del')), side(names[1], runs(rightLines, 'ins')))
}

const linesOf = (text: string) => text.split('\n').map((line) => `${line}\n`)
const wordsOf = (text: string) => text.split(/(\s+|\p{P})/u).filter(Boolean)

const compared = (left: string, right: string, partsOf: (text: string) => readonly string[]) => {
  const leftTexts = partsOf(left)
  const rightTexts = partsOf(right)
  const shared = sharedItems(leftTexts, rightTexts)
  const side = (texts: readonly string[], shared: ReadonlySet<number>): readonly Part[] =>
    texts.map((text, i) => ({ text, isShared: shared.has(i) }))
  return [side(leftTexts, shared.left), side(rightTexts, shared.right)] as const
}

/** Neighbors that differ are marked together. */
const runs = (parts: readonly Part[], mark: Mark): Child => {
  const joined: { text: string; isShared: boolean }[] = []
  for (const { text, isShared } of parts) {
    const last = joined.at(-1)
    if (last?.isShared === isShared) last.text += text
    else joined.push({ text, isShared })
  }
  return joined.map(({ text, isShared }) => (isShared ? text : h(mark, text)))
}

const linesNear = (lines: readonly Part[], mark: Mark): Child => {
  const isNear = lines.map((_, i) =>
    lines.slice(Math.max(i - LINES_AROUND, 0), i + LINES_AROUND + 1).some(({ isShared }) => !isShared),
  )
  const shown: Child[] = []
  for (let i = 0; i < lines.length; ) {
    const begin = i
    while (i < lines.length && isNear[i] === isNear[begin]) i++
    const isShown = isNear[begin] || i - begin < LEFT_OUT_MIN
    shown.push(
      isShown
        ? runs(lines.slice(begin, i), mark)
        : h('span.muted.skipped', counted(i - begin, 'unchanged line')),
    )
  }
  return shown
}
