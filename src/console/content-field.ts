import { h } from './dom.ts'
import { area } from './fields.ts'

/** A field for JSON that shows its faults while it is typed. */
export const contentField = (value: string) => {
  const verdict = h('small', { role: 'status' }, 'A JSON object, or empty for none.')
  const check = (event: Event) => {
    const wrong = wrongJson((event.target as HTMLTextAreaElement).value)
    verdict.textContent = wrong ?? 'A JSON object, or empty for none.'
    verdict.className = wrong ? 'bad' : ''
  }
  return area('Content', 'content', { value, oninput: check, rows: 10 }, verdict)
}
const wrongJson = (text: string): string | null => {
  if (text.trim() === '') return null
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? null
      : 'The content must be a JSON object: { … }.'
  } catch (error) {
    return `Not JSON yet: ${(error as Error).message}.`
  }
}
/** The content exactly as typed; null for none. */
export const typedContent = (text = ''): { readonly rawJson: string } | null => {
  const wrong = wrongJson(text)
  if (wrong !== null) throw new Error(wrong)
  return text.trim() === '' ? null : { rawJson: text }
}
