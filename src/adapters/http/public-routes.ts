import { llmsText } from './llms.ts'
import { openapiRoute } from './openapi-route.ts'
import { problemRoute } from './problem-pages.ts'
import { type RawRoute, rawRoute } from './raw-route.ts'
import { json } from './requests.ts'
import type { Route } from './route.ts'
import { welcomeRoute } from './welcome-page.ts'

/**
 * The routes of every service that need no key. `ready` refuses `unavailable` while the service cannot answer; `hasRoute`
 * tells whether it has another route besides.
 */
export const publicRoutes = (
  ready: () => Promise<void>,
  hasRoute: (path: string) => boolean,
  routes: readonly Route[],
): readonly RawRoute[] => [
  welcomeRoute(hasRoute),
  probe('/healthz', async () => json(200, '{"status":"ok"}\n')),
  probe('/readyz', () => ready().then(() => json(200, '{"status":"ready"}\n'))),
  rawRoute('/llms.txt', async ({ basePath = '' }) => ({
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: llmsText(basePath),
  })),
  openapiRoute(routes),
  problemRoute,
]

const probe = (path: string, raw: RawRoute['raw']): RawRoute => ({ ...rawRoute(path, raw), isFree: true })
