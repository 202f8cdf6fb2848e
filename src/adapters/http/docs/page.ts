/**
 * What the page may do: run and load what this server sends, and call it. The library draws its signs from `data:`
 * addresses in its style sheet, and sets styles by script alone, so that no inline style has to be allowed.
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
<main id="reference"><p>The reference is loading. It is also there as <a href="openapi.json">openapi.json</a>.</p></main>
</html>
`

export const PLAIN_PAGE = `${HEAD}
<h1>prospect-pages</h1>
<p>The API is described in <a href="openapi.json">openapi.json</a>, an OpenAPI 3.1 document.</p>
<p>To read it here, install the optional package <code>swagger-ui-dist</code> and start the service again.</p>
</html>
`

/** Run by the browser. The key that is pasted stays in the page: it is gone when the page is. */
export const START = `const dark = matchMedia('(prefers-color-scheme: dark)')
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', paint)
paint()

const show = (spec) =>
  SwaggerUIBundle({
    // Calls go to where the page came from, whatever prefix it stands under.
    spec: { ...spec, servers: [{ url: new URL('.', location.href).href.replace(/[/]$/, '') }] },
    domNode: document.getElementById('reference'),
    deepLinking: true,
    defaultModelExpandDepth: 2,
    defaultModelRendering: 'example',
    displayRequestDuration: true,
    tryItOutEnabled: true,
    validatorUrl: 'none',
  })
fetch('openapi.json').then((response) => response.json()).then(show)
`

export const LOOK = `body { margin: 0 }
`
