import type { ApiResponse } from './requests.ts'

/** What is scraped. It needs no key: who may reach it is for the network to say. */
export type MetricsRoute = {
  readonly method: 'GET'
  readonly path: '/metrics'
  readonly scrape: () => Promise<ApiResponse & { readonly headers: Record<string, string> }>
}

const HEADERS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }

/** Nothing where nothing is measured: then the path is as unknown as any. */
export const metricsRoutes = (text: (() => Promise<string>) | undefined): MetricsRoute[] => {
  if (text === undefined) return []
  const scrape = async () => ({ status: 200, headers: HEADERS, body: await text() })
  return [{ method: 'GET', path: '/metrics', scrape }]
}
