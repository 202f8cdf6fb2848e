import type { Test } from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { createLog } from '../../src/adapters/log.ts'
import { compose } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { createPageGroup } from '../../src/core/pages/create-page-group.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import { revokeApiKey } from '../../src/core/tenants/revoke-api-key.ts'
import { walk, walkFaults } from '../store-contract/walk.ts'
import { caller } from '../support/api.ts'
import { until } from '../support/program.ts'
import { addTenant } from '../support/rows.ts'
import { START_MS } from '../support/setting.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Pages that are there before a walk over the list begins; several of its slices. */
const PAGES = 30
const SLICE_PAGES = 7
/** The naming model is called for one page at a time. */
const ONE_NAMED_AT_A_TIME = { NAMER_URL: 'http://127.0.0.1:1', NAMER_MODEL: 'small', NAMER_CALLS_MAX: '1' }
type Page = { readonly pageId: string }
const pageIdOf = ({ pageId }: Page): string => pageId

/** The whole service but its socket, on a clock that runs and can be moved, as the system's can. */
const setUp = async (t: Test, kind: StoreKind, environment: Record<string, string> = {}) => {
  const { store, another } = await opened(t, kind)
  let offsetMs = START_MS - Date.now()
  const systemNow = Date.now.bind(Date)
  const clock = () => systemNow() + offsetMs
  t.intercept(Date, 'now', { value: clock })

  const newId = createNewId()
  const config = readConfig({ DATABASE_URL: 'memory:', PUBLISHER_POLL_MS: '50', ...environment })
  const service = compose(config, { store, clock, newId, log: createLog('silent') })
  await service.start()
  t.teardown(() => service.close())

  const deps = { store, clock, newId }
  const { tenantId } = await addTenant(store)
  const issueKey = (lifeMs: number | null) =>
    issueApiKey(deps)({ tenantId, name: null, scopes: SCOPES, lifeMs })
  const { apiKey } = await issueKey(null)
  const { value: pageGroup } = await createPageGroup(deps)({ tenantId, name: 'offers', title: 'Offers' })
  const { pageGroupId } = pageGroup
  const pagesPath = `/v0/page_groups/${pageGroupId}/pages`
  const call = caller(service.api, apiKey)
  const createPage = async (): Promise<string> => {
    const { status, json } = await call(`POST ${pagesPath}`)
    t.equal(status, 201)
    return String(json['pageId'])
  }
  return {
    store,
    openAnotherStore: another,
    clock,
    /** Moves the clock; a negative time sets it back. */
    moveClock: (ms: number): void => {
      offsetMs += ms
    },
    tenantId,
    pageGroupId,
    issueKey,
    call,
    statusWith: async (key: string): Promise<number> =>
      (await caller(service.api, key)('GET /v0/page_groups')).status,
    createPage,
    createPages: async (count: number): Promise<string[]> => {
      const pageIds: string[] = []
      for (let i = 0; i < count; i++) pageIds.push(await createPage())
      return pageIds
    },
    publishedVersionOf: async (pageId: string) => {
      const { json } = await call(`GET ${pagesPath}/${pageId}`)
      return json['publishedVersion'] as { readonly publishedAt: string } | null
    },
    pagesAfter: async (cursor: string | undefined) => {
      const query = cursor === undefined ? '' : `&cursor=${cursor}`
      const { status, json } = await call(`GET ${pagesPath}?limit=${SLICE_PAGES}${query}`)
      t.equal(status, 200)
      return json as { items: Page[]; hasMore: boolean; nextCursor?: string }
    },
  }
}

overStores(async (t, kind) => {
  t.test('a list shows each page once while the clock is set back between its slices', async (t) => {
    const { createPages, moveClock, pagesAfter } = await setUp(t, kind)
    const before = await createPages(PAGES)
    const meanwhile: string[] = []
    const walkedIds = await walk(async (cursor) => {
      if (cursor !== undefined) moveClock(-HOUR_MS / 5)
      meanwhile.push(...(await createPages(3)))
      return pagesAfter(cursor)
    }, pageIdOf)
    t.strictSame(walkFaults(walkedIds, before), [])
    const newestFirst = [...before, ...meanwhile].toReversed()
    t.strictSame(await walk(pagesAfter, pageIdOf), newestFirst, 'in the order of creation')
  })

  t.test(
    'a list shows each page once while a process creates pages that started after the clock was set back',
    async (t) => {
      const scene = await setUp(t, kind)
      const { clock, createPages, moveClock, pagesAfter, pageGroupId, store, tenantId } = scene
      const before = await createPages(PAGES)
      moveClock(-HOUR_MS)
      const config = readConfig({ DATABASE_URL: 'memory:' })
      const { useCases } = compose(config, { store, clock, newId: createNewId(), log: createLog('silent') })
      const meanwhile: string[] = []
      const walkedIds = await walk(async (cursor) => {
        const { value } = await useCases.createPageWithVersion({ tenantId, pageGroupId })
        meanwhile.push(value.pageId)
        return pagesAfter(cursor)
      }, pageIdOf)
      t.strictSame(walkFaults(walkedIds, before), [])
      t.strictSame(walkFaults(await walk(pagesAfter, pageIdOf), [...before, ...meanwhile]), [])
    },
  )

  t.test('a page created after the clock was set back is published at the time it shows', async (t) => {
    const { createPage, moveClock, publishedVersionOf } = await setUp(t, kind)
    const before = await createPage()
    await until('the page before is published', () => publishedVersionOf(before))
    moveClock(-HOUR_MS)
    for (let i = 0; i < 5; i++) {
      const pageId = await createPage()
      const { publishedAt } = await until('the page is published', () => publishedVersionOf(pageId))
      t.ok(publishedAt < new Date(START_MS).toISOString())
    }
  })

  t.test(
    'a page that waits for its name when the clock is set back does not wait until the clock has caught up',
    async (t) => {
      const { clock, createPage, moveClock, publishedVersionOf } = await setUp(t, kind, ONE_NAMED_AT_A_TIME)
      // The first call hangs until the clock was set back, and then fails; the others return a name.
      const clockWasSetBack = Promise.withResolvers<void>()
      let namingCalls = 0
      const fetchName = async () => {
        namingCalls++
        if (namingCalls > 1) return Response.json({ choices: [{ message: { content: 'Well named' } }] })
        await clockWasSetBack.promise
        throw new Error('no model today')
      }
      t.intercept(globalThis, 'fetch', { value: fetchName })

      const beingNamed = await createPage()
      await until('the first page is being named', () => namingCalls === 1)
      const waiting = await createPage()
      moveClock(-HOUR_MS)
      clockWasSetBack.resolve()
      for (const pageId of [waiting, beingNamed]) {
        const { publishedAt } = await until('the page is published', () => publishedVersionOf(pageId))
        t.ok(publishedAt <= new Date(clock()).toISOString(), 'at the time that the clock shows')
      }
    },
  )

  t.test('a key expires by the clock, however it was moved', async (t) => {
    const { issueKey, moveClock, statusWith } = await setUp(t, kind)
    const { apiKey } = await issueKey(30 * MINUTE_MS)
    t.equal(await statusWith(apiKey), 200)
    moveClock(-HOUR_MS)
    t.equal(await statusWith(apiKey), 200, 'an hour back')
    moveClock(2 * HOUR_MS)
    t.equal(await statusWith(apiKey), 401, 'an hour after it was issued')
  })

  t.test('a key that another process revokes is refused, whatever the clock shows', async (t) => {
    const { clock, issueKey, moveClock, openAnotherStore, statusWith } = await setUp(t, kind)
    const expiring = await issueKey(30 * MINUTE_MS)
    const revoked = await issueKey(null)
    t.equal(await statusWith(revoked.apiKey), 200)
    moveClock(-HOUR_MS)
    t.equal(await statusWith(revoked.apiKey), 200, 'the process remembers the key')

    await revokeApiKey({ store: await openAnotherStore(), clock })(revoked.apiKeyId)
    const isRefused = async () => (await statusWith(revoked.apiKey)) === 401
    await until('the revoked key is refused', isRefused, { tries: 80 })
    t.equal(await statusWith(expiring.apiKey), 200, 'another key is not')
    moveClock(2 * HOUR_MS)
    t.equal(await statusWith(expiring.apiKey), 401, 'before it has expired')
    moveClock(-HOUR_MS)
    t.equal(await statusWith(revoked.apiKey), 401, 'an hour back')
  })

  t.test('a caller that has used up its rate is not locked out by a clock set back', async (t) => {
    const { call, moveClock } = await setUp(t, kind, { RATE_LIMIT_PER_MINUTE: '60' })
    const status = async () => (await call('GET /v0/page_groups')).status
    await until('the caller is limited', async () => (await status()) === 429, { tries: 200, pauseMs: 0 })
    moveClock(-HOUR_MS)
    const isServed = until('the caller is served', async () => (await status()) === 200, {
      tries: 50,
      pauseMs: 100,
    })
    await t.resolves(isServed)
  })
})
