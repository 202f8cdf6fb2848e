import { endOfString, skipBlanks } from '../json/raw-json.ts'
import { button, h } from './dom.ts'

/** A longer text is not shown completely at first. */
const SHOWN_MAX = 100_000
const LEVELS_MAX = 20
/** JSON with line breaks: every other character stays as sent, even 12345678901234567890. */
export const pretty = (json: string): string => {
  if (json.length > 2 * SHOWN_MAX) return json
  let [text, level] = ['', 0]
  const line = () => `\n${'  '.repeat(Math.min(level, LEVELS_MAX))}`
  for (let at = skipBlanks(json, 0); at < json.length; at = skipBlanks(json, at)) {
    const char = json.charAt(at)
    const end = char === '"' ? endOfString(json, at) : at + 1
    const next = json.charAt(skipBlanks(json, end))
    const opens = char === '{' || char === '['
    if (opens) level++
    if (next === '}' || next === ']') level--
    const isEmpty = opens && (next === '}' || next === ']')
    const breaks = opens || char === ',' || next === '}' || next === ']'
    text +=
      json.slice(at, end) + (isEmpty || end === json.length ? '' : breaks ? line() : char === ':' ? ' ' : '')
    at = end
  }
  return text
}
export const code = (text: string, name: string) => {
  const pre = h('pre', { tabindex: 0, role: 'group', 'aria-label': name }, text.slice(0, SHOWN_MAX))
  if (text.length <= SHOWN_MAX) return pre
  const more = button(`Show all ${text.length.toLocaleString('en')} characters`, () => {
    pre.textContent = text
    more.remove()
  })
  return [pre, more]
}
