import t from 'tap'
import { createApi } from '../../../src/entry/http.ts'
import { memoryStore } from '../../../src/entry/memory.ts'
import { openScene } from '../../support/api.ts'

t.test('the answer is sent even if a hook throws', async (t) => {
  const printed = t.capture(console, 'error', () => {})
  const away = new Error('away')
  const store = { ...memoryStore(), ready: () => Promise.reject(away) }
  const hook = () => {
    throw new Error('hook')
  }
  const api = createApi({ store, onAnswered: hook, onError: hook })
  const get = (target: string) => api({ method: 'GET', target, headers: {} })
  t.equal((await get('/healthz')).status, 200)
  t.equal((await get('/readyz')).status, 500)
  t.equal(printed().length, 3)
})

t.test('the report of a request names its caller, even if it was refused', async (t) => {
  const { call, owner, keyWith, answered } = await openScene({ rateLimitPerMinute: 1 })
  const key = await keyWith('pages:read')
  for (const by of [key, key, 'unknown']) await call('GET /v0/page_groups', { key: by })
  const { tenantId } = owner
  t.match(answered, [
    { code: 'insufficient_scope', tenantId, apiKeyId: /^apikey_/ },
    { code: 'rate_limited', tenantId, apiKeyId: /^apikey_/ },
    { code: 'invalid_api_key' },
  ])
  t.notHas(answered[2], { tenantId: String })
})
