import type { Test } from 'tap'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import { createApi } from '../../src/entry/http.ts'
import { createService } from '../../src/entry/index.ts'
import type { Hook } from '../../src/shapes/hook.ts'
import { hooksOver } from '../support/hooks.ts'
import { until } from '../support/program.ts'
import { stoppedClock } from '../support/setting.ts'
import { opened, type StoreKind } from '../support/stores.ts'

export const PUBLIC_URL = 'https://hooks.example.com'
/** The time of the scene's clock until a test advances it. */
export const NOW = Date.UTC(2026, 10, 20, 10)
export const NOW_TEXT = '2026-11-20T10:00:00.000Z'
export const HOUR_MS = 3_600_000
/** Maps the members of an activity from members of the body. */
export const MAP = {
  type: ['/type'],
  email: ['/email'],
  name: ['/name'],
  occurredAt: ['/at'],
  idempotencyKey: ['/id'],
}

/** The API and the library over a new store with one tenant, and hooks of that tenant. */
export const openHooks = async (t: Test, kind: StoreKind, options: object = {}) => {
  const { store } = await opened(t, kind)
  const clock = stoppedClock(NOW)
  const api = createApi({ store, clock, publicUrl: PUBLIC_URL, background: 'elsewhere', ...options })
  const service = createService({ store, clock, publicUrl: PUBLIC_URL, background: 'elsewhere' })
  t.teardown(api.close)
  t.teardown(service.close)
  const { tenantId } = await service.createTenant({ name: 'One' })
  const { apiKey } = await service.issueApiKey({ tenantId, scopes: SCOPES })
  const hooks = hooksOver(api, apiKey)

  /** A member of a hook once it is set: what a hook has received or refused is stored a moment later. */
  const readOnceSet = (hook: Pick<Hook, 'hookId'>, name: 'lastReceivedAt' | 'lastRefusal' | 'lastWarning') =>
    until(`${name} is set`, async () => (await hooks.read(hook))[name])

  return { store, clock, service, tenantId, ...hooks, readOnceSet }
}
