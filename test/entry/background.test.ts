import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createApi } from '../../src/entry/http.ts'
import { createService, memoryStore, SCOPES, type Store } from '../../src/entry/index.ts'
import { startBackground } from '../../src/entry/publisher.ts'
import { caller } from '../support/api.ts'
import { stoppedClock } from '../support/setting.ts'

const EMAIL = 'ada@example.com'
const URL = 'https://example.com/hooks'
const ACTIVITY = { source: 'crm', email: EMAIL, payload: { rawJson: '{}' } }

t.test('one call completes whatever is accepted', async (t) => {
  const store = memoryStore({ everyEvent: true })
  const clock = stoppedClock()
  const service = createService({ store, clock })
  const background = startBackground({ store, clock, onError: (error) => t.fail(String(error)) })
  t.teardown(background.stop)
  const { tenantId } = await service.createTenant({ name: 'Acme' })
  const { value: pageGroup } = await service.createPageGroup({ tenantId, name: 'offers', title: 'Offers' })
  const { pageGroupId } = pageGroup
  const { value: page } = await service.createPageWithVersion({ tenantId, pageGroupId })
  await service.logProspectActivity({ tenantId, ...ACTIVITY })
  const { erasureId } = (await service.eraseProspect({ tenantId, email: EMAIL })).value
  const isCompleted = async () => {
    const { publishedVersion } = (await service.getPage({ tenantId, pageGroupId, pageId: page.pageId })).value
    const { status } = (await service.getErasure({ tenantId, erasureId })).value
    const { items } = (await service.listEvents({ tenantId, types: 'prospect.erased' })).value
    return publishedVersion !== null && status === 'completed' && items.length === 1
  }
  while (!(await isCompleted())) {
    clock.advance(1_000)
    background.wake()
    await turn()
  }
  t.pass('all of it')
})

/** The output while an erasure and a webhook endpoint are accepted, each twice, over HTTP or by a service. */
const warningsOf = async (store: Store, overHttp: boolean, options = {}) => {
  const warnings: string[] = []
  const onWarning = ({ message }: Error) => void warnings.push(message)
  process.on('warning', onWarning)
  const service = createService({ store, ...options })
  const { tenantId } = await service.createTenant({ name: 'Acme' })
  const { apiKey } = await service.issueApiKey({ tenantId, scopes: SCOPES })
  const call = caller(createApi({ store, ...options }), apiKey)
  for (let i = 0; i < 2; i++)
    if (overHttp) {
      await call('POST /v0/erasures', { json: { email: EMAIL } })
      await call('POST /v0/webhook_endpoints', { json: { url: URL } })
    } else {
      await service.eraseProspect({ tenantId, email: EMAIL })
      await service.createWebhookEndpoint({ tenantId, url: URL })
    }
  await turn()
  process.off('warning', onWarning)
  return warnings
}

t.test('what nothing in the process completes is accepted with one warning', async (t) => {
  for (const overHttp of [true, false]) {
    const warnings = await warningsOf(memoryStore(), overHttp)
    t.match(warnings, [/Call startBackground\(\{ store \}\)/])
    t.equal(warnings.length, 1)
    t.strictSame(await warningsOf(memoryStore(), overHttp, { background: 'elsewhere' }), [])
    const store = memoryStore()
    const background = startBackground({ store })
    t.teardown(background.stop)
    t.strictSame(
      await warningsOf({ ...store }, overHttp),
      [],
      'a store that is made from another is the same',
    )
  }
})

t.test('a service or an API that is closed no longer listens to the store', async (t) => {
  const store = memoryStore()
  let listeners = 0
  const watch: Store['watch'] = (listener) => {
    const unwatch = store.watch(listener)
    listeners++
    return () => {
      listeners--
      unwatch()
    }
  }
  for (const create of [createService, createApi]) {
    const { close } = create({ store: { ...store, watch } })
    t.equal(listeners, 1)
    close()
    t.equal(listeners, 0)
  }
})
