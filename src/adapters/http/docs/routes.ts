import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { orNull } from '../../../core/engine/or-null.ts'
import { type Asset, assetOf, loadedOnce } from '../assets.ts'
import { type RawRoute, rawRoute } from '../raw-route.ts'
import { CONTENT_SECURITY_POLICY, LOOK, PAGE, PLAIN_PAGE, START } from './page.ts'

const HTML = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'referrer-policy': 'no-referrer',
}
const CSS = { 'content-type': 'text/css; charset=utf-8' }
const SCRIPT = { 'content-type': 'text/javascript; charset=utf-8' }
/** A bundle that is CommonJS has no address. */
const HERE = import.meta.url ?? 'file:///'

/** The folder of swagger-ui's files: beside the built modules, or in `swagger-ui-dist`; null if there is neither. */
const libraryFolder = (): URL | null => {
  const built = new URL('../../../swagger-ui/', HERE)
  if (existsSync(new URL('swagger-ui.css', built))) return built
  return orNull(() => new URL('./', import.meta.resolve('swagger-ui-dist/package.json')))
}

/**
 * The API reference: a page at `/docs` and the files that it loads, all from this server. Without the library, as in a
 * bundle, the page only links the OpenAPI document. Files are read once, at first use.
 */
export const docsRoutes = (library: URL | null = libraryFolder()): readonly RawRoute[] => {
  if (library === null) return [routeOf('/docs', () => assetOf(HTML, PLAIN_PAGE)), BESIDES]
  const file = (name: string) => readFile(new URL(name, library))
  return [
    routeOf('/docs', () => assetOf(HTML, PAGE)),
    BESIDES,
    routeOf('/docs/swagger-ui-bundle.js', async () => assetOf(SCRIPT, await file('swagger-ui-bundle.js'))),
    routeOf('/docs/swagger-ui.css', async () => assetOf(CSS, await file('swagger-ui.css'))),
    routeOf('/docs/start.js', () => assetOf(SCRIPT, START)),
    routeOf('/docs/look.css', () => assetOf(CSS, LOOK)),
  ]
}

const routeOf = (path: string, load: () => Promise<Asset>): RawRoute => rawRoute(path, loadedOnce(load))

/** The links of the page are relative, so that it works under any prefix. They need the path without the slash. */
const BESIDES = rawRoute('/docs/', async () => ({ status: 308, headers: { location: '../docs' }, body: '' }))
