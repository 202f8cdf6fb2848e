import type { Match } from './router.ts'

/** A route that vendors post to. It has no API key: the hook names the tenant. */
export type ReceivingRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly receives: true
}
export const RECEIVING_ROUTES: readonly ReceivingRoute[] = [
  { method: 'POST', path: '/hooks/{hook_id}', receives: true },
  { method: 'GET', path: '/hooks/{hook_id}', receives: true },
  { method: 'POST', path: '/hooks/{hook_id}/{token}', receives: true },
  { method: 'GET', path: '/hooks/{hook_id}/{token}', receives: true },
]

/** Whether vendors post to this path. */
export const isReceiving = ({ routes }: Match<object>): boolean => 'receives' in (routes.get('POST') ?? {})
