import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import * as nodeModules from 'node:module'
import { refuse } from '../../../core/engine/failures.ts'
import { assetOf, loadedOnce } from '../assets.ts'
import { type RawRoute, rawRoute } from '../raw-route.ts'

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

/** Headers of a file, by its ending. */
const HEADERS = {
  html: {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  },
  css: { 'content-type': 'text/css; charset=utf-8' },
  svg: { 'content-type': 'image/svg+xml' },
  js: { 'content-type': 'text/javascript; charset=utf-8' },
}

/** A bundle that is CommonJS has no address. */
const HERE = import.meta.url ?? 'file:///'
/** The folder of the modules: built beside this one, or in a checkout that is run as TypeScript. */
const ROOT = new URL('../../../', HERE)
const ENDING = HERE.slice(HERE.lastIndexOf('.') + 1)

/**
 * The console: a page at `/console/` and the files that it loads, each read at its first request. The modules of the
 * console are at `app/`, and the modules of `json/` beside them, where their imports expect them. Without the files, as in
 * a bundle, there is no console, and a warning says why. A bundle must not serve another program's folder `console`.
 */
export const consoleRoutes = (warn: (message: string) => void): readonly RawRoute[] => {
  const isBundled = !/\/adapters\/http\/console\/routes\.[jt]s$/.test(HERE)
  if (isBundled || !existsSync(new URL('console/index.html', ROOT))) {
    warn('There is no /console/, because its files are missing: leave prospect-pages out of the bundle.')
    return []
  }
  return [
    rawRoute('/console', async () => ({ status: 308, headers: { location: 'console/' }, body: '' })),
    rawRoute('/console/', fileOf('index.html', 'html')),
    rawRoute('/console/console.css', fileOf('console.css', 'css')),
    rawRoute('/console/icons.svg', fileOf('icons.svg', 'svg')),
    modulesOf('/console/app', 'console'),
    modulesOf('/console/json', 'json'),
  ]
}

const fileOf = (name: string, kind: keyof typeof HEADERS) =>
  loadedOnce(async () => assetOf(HEADERS[kind], await readFile(new URL(`console/${name}`, ROOT))))

/** `/console/app/main.js` is `console/main.js`. */
const modulesOf = (path: string, folder: string): RawRoute => {
  const load = async (name: string) => {
    const text = await readFile(new URL(`${folder}/${name}`, ROOT), 'utf8')
    return assetOf(HEADERS.js, scriptOf(text))
  }
  const listModules = () => {
    const modules = new Map<string, ReturnType<typeof loadedOnce>>()
    for (const name of readdirSync(new URL(`${folder}/`, ROOT))) {
      if (name.endsWith(`.${ENDING}`))
        modules.set(
          name.replace(/\.ts$/, '.js'),
          loadedOnce(() => load(name)),
        )
    }
    return modules
  }
  let modules: ReturnType<typeof listModules> | undefined
  return rawRoute(`${path}/{file}`, async (request, { file = '' }) => {
    modules ??= listModules()
    const module = modules.get(file) ?? refuse('not_found', 'Unknown path.')
    return module(request)
  })
}

/** Only Node runs the checkout without a build. */
const scriptOf = (text: string): string =>
  ENDING === 'js'
    ? text
    : nodeModules.stripTypeScriptTypes(text).replace(/((?:from |import\()'\.[^']*)\.ts'/g, "$1.js'")
