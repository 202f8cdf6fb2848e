import { type Change, changedFields, fieldsOf, textOf, type Value } from './content.ts'
import { marked, sideBySide } from './diff.ts'
import { bdi, type Child, card, counted, h, tag } from './dom.ts'
import { jsonOnDemand } from './json-on-demand.ts'
import { row, table } from './lists.ts'
import { pretty } from './notices.ts'

/** One of two versions that are compared. The content is JSON. */
export type Compared = { readonly number: number; readonly about: string; readonly content: string }

/** More changes than this are shown only as JSON. */
const CHANGES_MAX = 300

/** The fields that differ between two versions, each before and after. Both contents as JSON are shown on demand. */
export const versionChanges = (older: Compared, newer: Compared, ...buttons: readonly Child[]) => {
  const names = [`Version ${older.number}`, `Version ${newer.number}`] as const
  const heads = ['Field', ...names]
  const changes = changedFields(older.content, newer.content)
  const rows = changes.slice(0, CHANGES_MAX).map((change) => changeRow(heads, change))
  if (older.about !== newer.about)
    rows.unshift(rowOf(heads, 'What it is about', tag('changed'), changed(older.about, newer.about)))
  const list = table(heads, rows)
  list.classList.add('changes')
  const hiddenCount = changes.length - CHANGES_MAX
  const unchangedCount = fieldsOf(newer.content).length - changes.filter(({ after }) => after).length
  return card(
    rows.length > 0 ? list : h('p', 'Nothing differs.'),
    hiddenCount > 0 && h('p.muted', `${counted(hiddenCount, 'more field')} changed: see the JSON.`),
    rows.length > 0 && unchangedCount > 0 && h('p.muted', `Unchanged: ${counted(unchangedCount, 'field')}.`),
    jsonOnDemand(() => sideBySide(pretty(older.content), pretty(newer.content), names), ...buttons),
  )
}

const changeRow = (heads: readonly string[], { before, after }: Change) => {
  const path = bdi((after ?? before)?.path)
  if (before === null) return rowOf(heads, path, tag('added', 'ok'), [missing(), h('ins', shown(after))])
  if (after === null) return rowOf(heads, path, tag('removed', 'bad'), [h('del', shown(before)), missing()])
  const isText = [before, after].every(({ kind }) => kind === 'text' || kind === 'lines')
  const sides: readonly [Child, Child] = isText
    ? changed(textOf(before), textOf(after))
    : [h('del', shown(before)), h('ins', shown(after))]
  return rowOf(heads, path, tag('changed'), sides)
}

const missing = () => h('span.muted', '–')
const empty = () => h('span.muted', 'empty')
const shown = (value: Value | null): Child => (value && textOf(value)) || empty()
const changed = (before: string, after: string): readonly [Child, Child] => {
  const [left, right] = marked(before, after)
  return [before === '' ? empty() : left, after === '' ? empty() : right]
}

/** On a narrow screen, where a table has no heads, each cell shows the name of its version. */
const rowOf = (heads: readonly string[], name: Child, state: Child, sides: readonly [Child, Child]) =>
  row(
    h('td', h('b', name), ' ', state),
    ...sides.map((side, i) => h('td.diff', { 'data-head': heads[i + 1] ?? '' }, h('bdi', side))),
  )
