/**
 * The page may only load files from this server and call it. swagger-ui takes its icons from `data:` URLs in its style
 * sheet and sets styles by script, so inline styles need not be allowed.
 */
export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const HEAD = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>prospect-pages: API reference</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">`

export const PAGE = `${HEAD}
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/look.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/start.js" defer></script>
<main id="reference"><p>Loading the API reference. It is also available as <a href="openapi.json">openapi.json</a>.</p></main>
</html>
`

export const PLAIN_PAGE = `${HEAD}
<h1>prospect-pages</h1>
<p>See <a href="openapi.json">openapi.json</a>, the OpenAPI 3.1 document of this API.</p>
<p>The interactive reference is missing here, because prospect-pages was bundled. To get it, leave prospect-pages out of the bundle, or install <code>swagger-ui-dist</code>.</p>
</html>
`

/** Runs in the browser. A pasted API key is kept in memory only, and is gone when the page is closed or reloaded. */
export const START = `const dark = matchMedia('(prefers-color-scheme: dark)')
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', paint)
paint()

new MutationObserver(() => {
  for (const select of document.querySelectorAll('select:not([aria-label])'))
    select.setAttribute('aria-label', select.closest('tr')?.dataset.paramName ?? (select.id || 'examples'))
}).observe(document, { childList: true, subtree: true })

addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') document.querySelector('.close-modal')?.click()
})

const plugin = ({ React: { createElement: h } }) => ({
  wrapComponents: {
    TextArea: (TextArea) => (props) => h(TextArea, { 'aria-label': 'Request body', ...props }),
    operations: (Operations) => (props) => h('section', null, h('h2', null, 'Operations'), h(Operations, props)),
    response: (Response) => (props) => {
      const title = h(props.getComponent('Markdown', true), { source: props.response.get('description') })
      const whole = h('table', null, h('tbody', null, h(Response, props)))
      return h('tr', null, h('td', { colSpan: 3 }, h('details', null, h('summary', null, props.code, title), whole)))
    },
  },
})

// The fields of a body become a table in its description: swagger-ui hides them behind two clicks.
const withFields = ({ description, content }, { schemas }) => {
  const { properties, required = [] } = schemas[content['application/json'].schema.$ref.split('/').pop()]
  const rows = Object.entries(properties).map(([name, property]) => {
    const field = { ...property.anyOf?.[0], ...property }
    const facts = [field.type, property.anyOf && 'or null', required.includes(name) && '**required**']
    const values = field.enum ?? field.items?.enum
    if (values) facts.push('one of ' + values.join(', '))
    if (field.maxLength) facts.push(field.minLength + ' to ' + field.maxLength + ' characters')
    if (field.default) facts.push('default: ' + field.default)
    return ['', name, facts.filter(Boolean).join(', '), field.description, ''].join('|')
  })
  return [description, '', '|field|type|meaning|', '|---|---|---|', ...rows].join('\\n')
}

const here = new URL('.', location.href).href.replace(/[/]$/, '')
// Webhooks are nothing to try out; openapi.json has them.
const show = ({ info, webhooks, ...spec }) => {
  for (const operations of Object.values(spec.paths))
    for (const { requestBody } of Object.values(operations))
      if (requestBody) requestBody.description = withFields(requestBody, spec.components)
  SwaggerUIBundle({
    spec: {
      ...spec,
      info: { ...info, description: info.description + '\\n\\n[openapi.json](openapi.json)' },
      // Send calls to the address of this page, including any prefix.
      servers: [{ url: here }],
    },
    plugins: [plugin],
    domNode: document.getElementById('reference'),
    deepLinking: true,
    defaultModelExpandDepth: 2,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    validatorUrl: 'none',
  })
}
fetch('openapi.json').then((response) => response.json()).then(show)
`

/** Styles that swagger-ui's style sheet lacks: a phone layout, contrast in dark mode, a visible focus. */
export const LOOK = `body { margin: 0 }
#reference > p { font: 1em/1.5 sans-serif; margin: 2em }
.swagger-ui {
  :focus-visible { outline: 2px solid #2f7fd6 !important; outline-offset: 2px }
  .info { margin: 30px 0 }
  .scheme-container { padding: 20px 0 }
  textarea.body-param__text { min-height: 200px }
  .live-responses-table .highlight-code > pre { padding-bottom: 48px !important }
  .json-schema-2020-12-expand-deep-button { color: #666 }
  summary { cursor: pointer; padding: 6px 2px }
  summary :is(div, p) { display: inline; margin: 0 0 0 .4em }
  details tr.response > td { padding-top: 8px }
  details :is(.response-col_status, .response-col_description__inner) { display: none }
  .response-col_links, .responses-inner > table > thead { display: none }
  .opblock-description-wrapper {
    table { margin-bottom: 24px }
    :is(th, td) { padding: 4px 16px 4px 0 !important; vertical-align: baseline }
    td:first-child { font-weight: bold }
  }
  table.headers tbody tr td { vertical-align: top; padding: 4px 8px 4px 0 }
  table.headers td:nth-child(2), table.headers td:nth-child(2) p { font: 13px/1.4 sans-serif; margin: 0 }
}
.dark-mode body { background: #1c2022 }
.dark-mode .swagger-ui {
  .json-schema-2020-12-expand-deep-button { color: #b5bdc1 }
  .examples__section-header, .examples-select__section-label, .header-col { color: #e4e6e6 }
  :is(table.headers, .opblock-description-wrapper, details) td { color: #e4e6e6 }
}
@media (max-width: 640px) {
  .swagger-ui {
    .opblock-body .opblock-section table.parameters, table.parameters :is(tbody, tr, td) { display: block; width: auto }
    .opblock-description-wrapper :is(tbody, tr, td) { display: block; max-width: none }
    .opblock-description-wrapper thead, table.parameters thead { display: none }
    .parameters-col_description { margin-bottom: 1em }
    .parameters-col_description input { width: 100%; max-width: none }
    .response-controls { display: block }
    .response-control-media-type, .response-control-examples { margin-bottom: 8px; padding: 0 }
    .opblock .opblock-section-header, .responses-inner, .opblock-description-wrapper, .table-container { padding-inline: 12px }
    .wrapper { padding: 0 10px }
    table.responses-table, table.headers { table-layout: fixed; width: 100% }
    .response-col_status { width: 3.5em }
    table.headers :is(th, td):nth-child(3) { width: 4em }
  }
}
`
