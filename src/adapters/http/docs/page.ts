/**
 * The page may only load files from this server and call it. swagger-ui takes its icons from `data:` URLs in its style
 * sheet and sets styles by script, so inline styles need not be allowed.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

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
<p>To get the interactive reference on this page, install the optional package <code>swagger-ui-dist</code> and restart the service.</p>
</html>
`

/** Runs in the browser. A pasted API key is kept in memory only, and is gone when the page is closed or reloaded. */
export const START = `const dark = matchMedia('(prefers-color-scheme: dark)')
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', paint)
paint()

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
  const rows = Object.entries(properties).map(([name, field]) => {
    const facts = [field.type, required.includes(name) && '**required**']
    if (field.maxLength) facts.push(field.minLength + ' to ' + field.maxLength + ' characters')
    if (field.default) facts.push('default: ' + field.default)
    return ['', name, facts.filter(Boolean).join(', '), field.description, ''].join('|')
  })
  return [description, '', '|field|type|meaning|', '|---|---|---|', ...rows].join('\\n')
}

const here = new URL('.', location.href).href.replace(/[/]$/, '')
const show = ({ info, ...spec }) => {
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

/** Adds what swagger-ui's style sheet lacks: a phone layout, contrast in dark mode, a visible focus. */
export const LOOK = `body { margin: 0 }
#reference > p { font: 1em/1.5 sans-serif; margin: 2em }
.dark-mode body { background: #1c2022 }
.swagger-ui :focus-visible { outline: 2px solid #2f7fd6 !important; outline-offset: 2px }
.swagger-ui .info { margin: 30px 0 }
.swagger-ui .scheme-container { padding: 20px 0 }
.swagger-ui .response-col_links { display: none }
.swagger-ui textarea.body-param__text { min-height: 200px }
.swagger-ui .live-responses-table .highlight-code > pre { padding-bottom: 48px !important }
.swagger-ui details tr.response > td { padding-top: 8px }
.swagger-ui details :is(.response-col_status, .response-col_description__inner), .swagger-ui .responses-inner > table > thead { display: none }
.swagger-ui summary { cursor: pointer; padding: 6px 2px }
.swagger-ui summary :is(div, p) { display: inline; margin: 0 0 0 .4em }
.swagger-ui .opblock-description-wrapper table { margin-bottom: 24px }
.swagger-ui .opblock-description-wrapper :is(th, td) { padding: 4px 16px 4px 0 !important; vertical-align: baseline }
.swagger-ui .opblock-description-wrapper td:first-child { font-weight: bold }
.swagger-ui table.headers tbody tr td { vertical-align: top; padding: 4px 8px 4px 0 }
.swagger-ui table.headers td:nth-child(2), .swagger-ui table.headers td:nth-child(2) p { font: 13px/1.4 sans-serif; margin: 0 }
.swagger-ui .json-schema-2020-12-expand-deep-button { color: #666 }
.dark-mode .swagger-ui .json-schema-2020-12-expand-deep-button { color: #b5bdc1 }
.dark-mode .swagger-ui .examples__section-header, .dark-mode .swagger-ui .examples-select__section-label,
.dark-mode .swagger-ui :is(table.headers, .opblock-description-wrapper, details) td, .dark-mode .swagger-ui .header-col { color: #e4e6e6 }
@media (max-width: 640px) {
  .swagger-ui .opblock-body .opblock-section table.parameters,
  .swagger-ui table.parameters thead, .swagger-ui table.parameters tbody,
  .swagger-ui table.parameters tr, .swagger-ui table.parameters td { display: block; width: auto }
  .swagger-ui .opblock-description-wrapper :is(tbody, tr, td) { display: block; max-width: none }
  .swagger-ui .opblock-description-wrapper thead, .swagger-ui table.parameters thead { display: none }
  .swagger-ui .parameters-col_description { margin-bottom: 1em }
  .swagger-ui .parameters-col_description input { width: 100%; max-width: none }
  .swagger-ui .response-controls { display: block }
  .swagger-ui .response-control-media-type, .swagger-ui .response-control-examples { margin-bottom: 8px; padding: 0 }
  .swagger-ui .opblock .opblock-section-header, .swagger-ui .responses-inner, .swagger-ui .opblock-description-wrapper,
  .swagger-ui .table-container { padding-left: 12px; padding-right: 12px }
  .swagger-ui .wrapper { padding: 0 10px }
  .swagger-ui table.responses-table, .swagger-ui table.headers { table-layout: fixed; width: 100% }
  .swagger-ui .response-col_status { width: 3.5em }
  .swagger-ui table.headers :is(th, td):nth-child(3) { width: 4em }
}
`
