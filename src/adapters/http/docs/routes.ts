import { readFile } from 'node:fs/promises'
import type { RawRoute } from '../public-routes.ts'
import type { ApiResponse } from '../requests.ts'
import { type Asset, answerAsset, assetOf } from './assets.ts'
import { CONTENT_SECURITY_POLICY, LOOK, PAGE, PLAIN_PAGE, START } from './page.ts'

const HTML = 'text/html; charset=utf-8'
const CSS = 'text/css; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'

/** The folder of the optional dependency `swagger-ui-dist`; null if it is not installed. */
const libraryFolder = (): URL | null => {
  try {
    return new URL('./', import.meta.resolve('swagger-ui-dist/package.json'))
  } catch {
    return null
  }
}

/**
 * The API reference: a page at `/docs` and the files that it loads, all from this server. Without the library the page only
 * links the OpenAPI document. Files are read once, at first use.
 */
export const docsRoutes = (library: URL | null = libraryFolder()): readonly RawRoute[] => {
  const page = once(() =>
    assetOf(HTML, library === null ? PLAIN_PAGE : PAGE, {
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'referrer-policy': 'no-referrer',
    }),
  )
  const route = (path: string, asset: () => Promise<Asset>): RawRoute => ({
    method: 'GET',
    path,
    raw: async (request) => answerAsset(await asset(), request),
  })
  const withPage = [route('/docs', page), BESIDES]
  if (library === null) return withPage

  const file = (type: string, name: string): RawRoute =>
    route(
      `/docs/${name}`,
      once(async () => assetOf(type, await readFile(new URL(name, library)))),
    )
  const text = (type: string, name: string, content: string): RawRoute =>
    route(
      `/docs/${name}`,
      once(() => assetOf(type, content)),
    )
  return [
    ...withPage,
    file(SCRIPT, 'swagger-ui-bundle.js'),
    file(CSS, 'swagger-ui.css'),
    text(SCRIPT, 'start.js', START),
    text(CSS, 'look.css', LOOK),
  ]
}

/** The links of the page are relative, so that it works under any prefix. They need the path without the slash. */
const BESIDES: RawRoute = {
  method: 'GET',
  path: '/docs/',
  raw: async (): Promise<ApiResponse> => ({ status: 308, headers: { location: '../docs' }, body: '' }),
}

/** Caches the first result. A failure is not cached. */
const once = <Made>(make: () => Promise<Made>): (() => Promise<Made>) => {
  let made: Promise<Made> | undefined
  return () => {
    made ??= make().catch((error) => {
      made = undefined
      throw error
    })
    return made
  }
}
