import { createHash } from 'node:crypto'
import { headerOf } from './request-headers.ts'
import type { ApiRequest, ApiResponse } from './requests.ts'

/** Whether the sender is a browser that shows a page: its header `Accept` names HTML, and not JSON before it. */
export const takesHtml = (request: ApiRequest): boolean => {
  const accept = headerOf(request, 'accept') ?? ''
  const weightOf = (type: RegExp) => Number(type.exec(accept)?.[1] ?? (type.test(accept) ? 1 : 0))
  const html = weightOf(/\btext\/(?:html|\*)[^,]*?(?:;\s*q=([\d.]+)|,|$)/i)
  return html > 0 && html >= weightOf(/\bapplication\/json\b[^,]*?(?:;\s*q=([\d.]+)|,|$)/i)
}

/** Text that is already HTML. */
export type Html = { readonly html: string }

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string) => text.replace(/[&<>"]/g, (char) => ESCAPES[char] ?? '')
const textOf = (part: string | Html | readonly Html[]): string => {
  if (typeof part === 'string') return escaped(part)
  return 'html' in part ? part.html : part.map(textOf).join('')
}
/** HTML with its parts escaped, unless they are HTML themselves. */
export const html = (texts: TemplateStringsArray, ...parts: (string | Html | readonly Html[])[]): Html => ({
  html: texts.reduce((done, text, i) => done + textOf(parts[i - 1] ?? '') + text),
})

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.6 system-ui, sans-serif }
body { margin: 12vh auto; max-width: 34rem; padding: 0 1.25rem; background: light-dark(#fafaf8, #131416); color: light-dark(#1b1d20, #e8e9ea) }
h1 { font-size: 1.4rem }
ul { padding: 0; list-style: none }
li { margin: .75rem 0 }
a { color: light-dark(#2f55d4, #8ea8ff) }
`
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; img-src data:; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
}

/** A small page without scripts. */
export const pageFor = (title: string, body: Html): ApiResponse => {
  const { html: text } = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${{ html: STYLE }}</style>
<h1>${title}</h1>
${body}
</html>
`
  return { status: 200, headers: HEADERS, body: text }
}
