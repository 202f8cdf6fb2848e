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

const here = new URL('.', location.href).href.replace(/[/]$/, '')
const show = ({ info, ...spec }) =>
  SwaggerUIBundle({
    spec: {
      ...spec,
      info: { ...info, description: info.description + '\\n\\n[openapi.json](openapi.json)' },
      // Send calls to the address of this page, including any prefix.
      servers: [{ url: here }],
    },
    domNode: document.getElementById('reference'),
    deepLinking: true,
    defaultModelExpandDepth: 2,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    validatorUrl: 'none',
  })
fetch('openapi.json').then((response) => response.json()).then(show)
`

/** Adds what swagger-ui's style sheet lacks: a phone layout, contrast in dark mode, a visible focus. */
export const LOOK = `body { margin: 0 }
#reference > p { font: 1em/1.5 sans-serif; margin: 2em }
.dark-mode body { background: #1c2022 }
.swagger-ui :focus-visible { outline: 2px solid #2f7fd6; outline-offset: 2px }
.swagger-ui .info { margin: 30px 0 }
.swagger-ui .scheme-container { padding: 20px 0 }
.swagger-ui .response-col_links { display: none }
.swagger-ui textarea.body-param__text { min-height: 160px }
.swagger-ui .live-responses-table .highlight-code > pre { padding-bottom: 48px !important }
.swagger-ui tr.response > td { border-top: 1px solid #8884; padding-top: 12px }
.swagger-ui table.headers tbody tr td { vertical-align: top; padding: 4px 8px 4px 0 }
.swagger-ui table.headers td:nth-child(2), .swagger-ui table.headers td:nth-child(2) p { font: 13px/1.4 sans-serif; margin: 0 }
.swagger-ui .json-schema-2020-12-expand-deep-button { color: #666 }
.dark-mode .swagger-ui .json-schema-2020-12-expand-deep-button { color: #b5bdc1 }
.dark-mode .swagger-ui .examples__section-header, .dark-mode .swagger-ui .examples-select__section-label,
.dark-mode .swagger-ui table.headers td, .dark-mode .swagger-ui .header-col { color: #e4e6e6 }
@media (max-width: 640px) {
  .swagger-ui .opblock-body .opblock-section table.parameters,
  .swagger-ui table.parameters thead, .swagger-ui table.parameters tbody,
  .swagger-ui table.parameters tr, .swagger-ui table.parameters td { display: block; width: auto }
  .swagger-ui table.parameters thead { display: none }
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
