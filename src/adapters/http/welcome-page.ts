import { DESCRIPTION } from '../../config/version.ts'
import { html, pageFor, pageOrJson } from './html.ts'
import { type RawRoute, rawRoute } from './raw-route.ts'
import type { ApiResponse } from './requests.ts'

/** The start of a service: what it is, and links to what it has. */
export const welcomeRoute = (hasRoute: (path: string) => boolean): RawRoute =>
  rawRoute('/', async (request) => {
    const { basePath: base = '' } = request
    const links = {
      console: hasRoute('/console/') ? `${base}/console/` : undefined,
      docs: hasRoute('/docs') ? `${base}/docs` : undefined,
      openapi: `${base}/openapi.json`,
      health: `${base}/healthz`,
    }
    const about = { name: 'prospect-pages', description: DESCRIPTION, ...links }
    return pageOrJson(request, () => welcomePage(links), about)
  })

const LINKS = {
  console: ['Console', 'what arrives, from whom, what is published, and what needs a hand'],
  docs: ['API reference', 'every operation, to read and to try'],
  openapi: ['openapi.json', 'the OpenAPI document, for programs'],
  health: ['Health', 'whether the service runs'],
} as const

const welcomePage = (
  links: {
    readonly [Name in keyof typeof LINKS]: string | undefined
  },
): ApiResponse => {
  const rows = Object.entries(LINKS).map(([name, [title, text]]) => {
    const href = links[name as keyof typeof LINKS]
    return href === undefined ? html`` : html`<li><a href="${href}">${title}</a>: ${text}.</li>`
  })
  return pageFor('prospect-pages', html`<p>${DESCRIPTION}</p><ul>${rows}</ul>`)
}
