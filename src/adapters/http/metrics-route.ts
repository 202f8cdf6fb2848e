import type { RawRoute } from './open-routes.ts'

const HEADERS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }

/**
 * What is scraped, in the text format of Prometheus. It needs no key: who may reach it is for the network to say. Without
 * a text there is no route, and the path is as unknown as any.
 */
export const metricsRoutes = (text: (() => Promise<string>) | undefined): readonly RawRoute[] =>
  text === undefined
    ? []
    : [
        {
          method: 'GET',
          path: '/metrics',
          raw: async () => ({ status: 200, headers: HEADERS, body: await text() }),
        },
      ]
