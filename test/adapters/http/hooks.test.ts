import t from 'tap'
import { createApi } from '../../../src/entry/http.ts'
import { memoryStore } from '../../../src/entry/memory.ts'

t.test('a hook that throws does not cost the answer', async (t) => {
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
