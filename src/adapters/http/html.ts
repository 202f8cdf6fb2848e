import { createHash } from 'node:crypto'
import { headerOf } from './request-headers.ts'
import { type ApiRequest, type ApiResponse, json, jsonLine } from './requests.ts'

const HTML_TYPE = /\btext\/(?:html|\*)[^,]*?(?:;\s*q=([\d.]+)|,|$)/i
const JSON_TYPE = /\bapplication\/json\b[^,]*?(?:;\s*q=([\d.]+)|,|$)/i

/** Whether the sender is a browser that shows a page: its header `Accept` prefers HTML to JSON, or takes both alike. */
export const takesHtml = (request: ApiRequest): boolean => {
  const accept = headerOf(request, 'accept') ?? ''
  const htmlWeight = weightOf(HTML_TYPE, accept)
  return htmlWeight > 0 && htmlWeight >= weightOf(JSON_TYPE, accept)
}

/** The weight of a type in a header `Accept`, its `q`: 1 without a `q`, and 0 if the type is not named. */
const weightOf = (type: RegExp, accept: string): number => {
  const match = type.exec(accept)
  return match === null ? 0 : Number(match[1] ?? 1)
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

/** The page for browsers, and JSON for all other clients. */
export const pageOrJson = (request: ApiRequest, page: () => ApiResponse, value: object): ApiResponse => {
  const response = takesHtml(request) ? page() : json(200, jsonLine(value))
  return { ...response, headers: { ...response.headers, vary: 'accept' } }
}
