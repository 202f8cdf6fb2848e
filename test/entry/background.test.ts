import { spawnSync } from 'node:child_process'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createApi } from '../../src/entry/http.ts'
import { createService, memoryStore, type Store } from '../../src/entry/index.ts'
import { startBackground } from '../../src/entry/publisher.ts'
import { sourceUrl } from '../support/children.ts'
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

/** A program that accepts an erasure, a webhook endpoint and a page, each twice, over HTTP or by a service. */
const ACCEPTING = `
  const { createService, memoryStore, SCOPES } = await import('${sourceUrl('entry/index.ts')}')
  const { createApi } = await import('${sourceUrl('entry/http.ts')}')
  const { createPublisher, startBackground } = await import('${sourceUrl('entry/publisher.ts')}')
  const [how, options] = JSON.parse(process.argv[1])
  const store = memoryStore()
  if (how.works === 'all') startBackground({ store })
  if (how.works === 'publisher') createPublisher({ store }).start()
  process.on('warning', ({ message }) => console.log(message))
  // Each of them is made of another one, as over a transaction.
  const ofRequest = () => createService({ store: { ...store, watch: () => () => {} }, ...options })
  const { tenantId } = await ofRequest().createTenant({ name: 'Acme' })
  const { value: group } = await ofRequest().createPageGroup({ tenantId, name: 'a', title: 'A' })
  const { apiKey } = await ofRequest().issueApiKey({ tenantId, scopes: SCOPES })
  const api = createApi({ store, ...options })
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const post = async (target, json) => {
    const bytes = Buffer.from(JSON.stringify(json))
    const body = { bytesMax: 1e6, batchBytesMax: 1e6, read: async () => bytes }
    const { status } = await api({ method: 'POST', target, headers: { ...headers, 'content-length': bytes.length }, body })
    if (status > 202) throw new Error(status)
  }
  for (let i = 0; i < 2; i++) {
    if (how.overHttp) {
      await post('/v0/erasures', { email: '${EMAIL}' })
      await post('/v0/webhook_endpoints', { url: '${URL}' })
      await post('/v0/page_groups/' + group.pageGroupId + '/pages', {})
    } else {
      await ofRequest().eraseProspect({ tenantId, email: '${EMAIL}' })
      await ofRequest().createWebhookEndpoint({ tenantId, url: '${URL}' })
      await ofRequest().createPageWithVersion({ tenantId, pageGroupId: group.pageGroupId })
    }
  }
  setImmediate(() => process.exit())`

const warningsOf = (overHttp: boolean, works?: 'all' | 'publisher', options = {}): string[] => {
  const argument = JSON.stringify([{ overHttp, works }, options])
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', ACCEPTING, argument],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(stderr)
  return stdout.split('\n').filter(Boolean)
}

t.test(
  'what nothing in the process completes is accepted with one warning for each kind of work',
  async (t) => {
    const others = /^Erasures, merges and webhooks are accepted, .* Call startBackground\(\{ store \}\)/
    for (const overHttp of [true, false]) {
      t.match(warningsOf(overHttp), [others, /^Pages are accepted, /])
      t.match(warningsOf(overHttp, 'publisher'), [others])
      t.strictSame(warningsOf(overHttp, 'all'), [])
      t.strictSame(warningsOf(overHttp, undefined, { background: 'elsewhere' }), [])
    }
  },
)

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
