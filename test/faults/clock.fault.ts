import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { createLog } from '../../src/adapters/log.ts'
import { compose } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import type { LoggedActivity } from '../../src/core/activities/log-prospect-activity.ts'
import { eraseProspects } from '../../src/core/erasures/erase-prospects.ts'
import { createPageGroup } from '../../src/core/pages/create-page-group.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { Clock } from '../../src/core/ports/world.ts'
import { moveMerged } from '../../src/core/prospects/move-merged.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import { revokeApiKey } from '../../src/core/tenants/revoke-api-key.ts'
import { createService } from '../../src/entry/index.ts'
import { walk, walkFaults } from '../store-contract/walk.ts'
import { caller } from '../support/api.ts'
import { until } from '../support/program.ts'
import { addTenant } from '../support/rows.ts'
import { START_MS } from '../support/setting.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const LEAPS_MS = [1, -1, 8 * 24, -8 * 24, 40 * 24, -40 * 24].map((hours) => hours * HOUR_MS)
/** One call to the namer at a time. */
const HELD_UP = { NAMER_URL: 'http://127.0.0.1:1', NAMER_MODEL: 'small', NAMER_CALLS_MAX: '1' }
type Ided = { readonly pageId: string }

/** The whole service but its socket, on a running clock that can be set, as the system's can. */
const setting = async (t: Test, kind: StoreKind, environment: Record<string, string> = {}) => {
  const { store, another } = await opened(t, kind)
  let offsetMs = START_MS - Date.now()
  const now = Date.now.bind(Date)
  const clock = () => now() + offsetMs
  t.intercept(Date, 'now', { value: clock })
  const newId = createNewId()
  const config = readConfig({ DATABASE_URL: 'memory:', PUBLISHER_POLL_MS: '50', ...environment })
  const service = compose(config, { store, clock, newId, log: createLog('silent') })
  await service.start()
  t.teardown(() => service.close())
  const deps = { store, clock, newId }
  const { tenantId } = await addTenant(store)
  const newKey = (lifeMs: number | null) =>
    issueApiKey(deps)({ tenantId, name: null, scopes: SCOPES, lifeMs })
  const { apiKey } = await newKey(null)
  const { value: pageGroup } = await createPageGroup(deps)({ tenantId, name: 'offers', title: 'Offers' })
  const { pageGroupId } = pageGroup
  const pagesPath = `/v0/page_groups/${pageGroupId}/pages`
  const call = caller(service.api, apiKey)
  return {
    store: store as Store,
    another,
    clock,
    newKey,
    call,
    callWith: (key: string) => caller(service.api, key),
    /** Moves the clock; less than nothing sets it back. */
    move: (ms: number) => {
      offsetMs += ms
    },
    pagesPath,
    create: async (): Promise<string> => {
      const { status, json } = await call(`POST ${pagesPath}`)
      t.equal(status, 201)
      return String(json['pageId'])
    },
    publishedOf: async (pageId: string) =>
      (await call(`GET ${pagesPath}/${pageId}`)).json['publishedVersion'] as { publishedAt: string } | null,
    sliceAfter: async (cursor: string | undefined) => {
      const query = cursor === undefined ? '' : `&cursor=${cursor}`
      const { status, json } = await call(`GET ${pagesPath}?limit=7${query}`)
      t.equal(status, 200)
      return json as { items: Ided[]; hasMore: boolean; nextCursor?: string }
    },
  }
}
const pageIdOf = ({ pageId }: Ided) => pageId

overStores(async (t, kind) => {
  t.test('the clock is set back while pages are made and walked over', async (t) => {
    const { create, move, sliceAfter } = await setting(t, kind)
    const made: string[] = []
    for (let i = 0; i < 30; i++) made.push(await create())
    const throughout = [...made]
    const ids = await walk(async (cursor) => {
      if (cursor !== undefined) move(-HOUR_MS / 5)
      for (let i = 0; i < 3; i++) made.push(await create())
      return sliceAfter(cursor)
    }, pageIdOf)
    t.strictSame(walkFaults(ids, throughout), [])
    t.strictSame(await walk(sliceAfter, pageIdOf), made.toReversed(), 'newest first, in the order of making')
  })

  t.test('another process starts after the clock was set back, and makes pages', async (t) => {
    const { call, create, move, pagesPath, sliceAfter, clock, store } = await setting(t, kind)
    const throughout: string[] = []
    for (let i = 0; i < 30; i++) throughout.push(await create())
    move(-HOUR_MS)
    const config = readConfig({ DATABASE_URL: 'memory:' })
    const other = compose(config, { store, clock, newId: createNewId(), log: createLog('silent') })
    const [{ tenantId = '', pageGroupId = '' } = {}] = (await call(`GET ${pagesPath}?limit=1`)).json[
      'items'
    ] as { tenantId: string; pageGroupId: string }[]
    const later: string[] = []
    const ids = await walk(async (cursor) => {
      later.push((await other.useCases.createPageWithVersion({ tenantId, pageGroupId })).value.pageId)
      return sliceAfter(cursor)
    }, pageIdOf)
    t.strictSame(walkFaults(ids, throughout), [])
    t.strictSame(walkFaults(await walk(sliceAfter, pageIdOf), [...throughout, ...later]), [])
  })

  t.test(
    'pages made after the clock was set back are published, and not before they were made',
    async (t) => {
      const { create, move, publishedOf } = await setting(t, kind)
      const before = await create()
      await until('the first is published', () => publishedOf(before))
      move(-HOUR_MS)
      for (let i = 0; i < 5; i++) {
        const pageId = await create()
        const { publishedAt } = await until('it is published', () => publishedOf(pageId))
        t.ok(publishedAt < new Date(START_MS).toISOString(), 'by the clock as it is')
      }
    },
  )

  t.test(
    'what waits to be published when the clock is set back does not wait for it to catch up',
    async (t) => {
      const { clock, create, move, publishedOf } = await setting(t, kind, HELD_UP)
      const naming = Promise.withResolvers<string>()
      let named = 0
      t.intercept(globalThis, 'fetch', {
        value: async () => {
          if (++named === 1) return naming.promise.then(() => Promise.reject(new Error('no model today')))
          return Response.json({ choices: [{ message: { content: 'Well named' } }] })
        },
      })
      const first = await create()
      await until('it is being named', () => named === 1)
      const second = await create()
      move(-HOUR_MS)
      naming.resolve('')
      for (const pageId of [second, first]) {
        const { publishedAt } = await until('it is published', () => publishedOf(pageId))
        t.ok(publishedAt <= new Date(clock()).toISOString(), 'by the clock as it is')
      }
    },
  )

  t.test(
    'the clock of one of two processes leaps while people are erased, merged and corrected',
    async (t) => {
      const { store, another, kept } = await opened(t, kind)
      let aheadMs = 0
      const processOn = (store: Store, clock: Clock) => {
        const deps = { store, clock, newId: createNewId(clock) }
        const service = createService({ ...deps, background: 'elsewhere' })
        t.teardown(service.close)
        return { service, steps: [eraseProspects(deps), moveMerged(deps)] }
      }
      const steady = processOn(store, Date.now)
      const leaping = processOn(await another(), () => Date.now() + aheadMs)
      const processes = [steady, leaping]
      const serviceOf = (i: number) => (i % 2 === 0 ? steady : leaping).service
      const { tenantId } = await addTenant(store)
      const newPeople = (name: string) =>
        Promise.all(
          LEAPS_MS.map(async (_, i) => {
            const person = { tenantId, email: `${name}-${i}@x.org` }
            return (await serviceOf(i).createProspect(person)).value.prospectId
          }),
        )
      const [gone, merged, survivors, corrected] = await Promise.all(
        ['gone', 'merged', 'survivor', 'corrected'].map(newPeople),
      )

      const acknowledged = new Map<string, string>()
      let isOver = false
      const logOn = async (email: string, { service }: (typeof processes)[number]) => {
        while (!isOver) {
          const activity = { tenantId, source: 'crm', email, payload: {} }
          const answer = await service.logProspectActivity(activity).catch((why: unknown) => why)
          if (answer instanceof Error) t.match(answer, { kind: 'prospect_erased' })
          else acknowledged.set((answer as LoggedActivity).value.prospectLogId, email)
        }
      }
      const emails = ['gone', 'merged', 'corrected'].flatMap((name) =>
        LEAPS_MS.map((_, i) => `${name}-${i}@x.org`),
      )
      const flows = processes.flatMap((process) => emails.map((email) => logOn(email, process)))
      const stop = new AbortController()
      t.teardown(() => stop.abort())
      const works = processes.flatMap(({ steps }) =>
        steps.map(async (step) => {
          while (!stop.signal.aborted) if (!(await step(stop.signal).catch(console.error))) await pause(20)
        }),
      )

      for (const [i, leapMs] of LEAPS_MS.entries()) {
        aheadMs = leapMs
        await pause(200)
        const [prospectId = '', into = ''] = [merged?.[i], survivors?.[i]]
        await serviceOf(i).eraseProspect({ tenantId, prospectId: gone?.[i] ?? '' })
        await serviceOf(i + 1).mergeProspect({ tenantId, prospectId, into })
        const now = { tenantId, prospectId: corrected?.[i] ?? '', email: `now-${i}@x.org` }
        await serviceOf(i).updateProspect(now)
      }
      isOver = true
      await Promise.all(flows)
      aheadMs = 0
      // After that only the file of SQLite is rewritten, and that waits for its time.
      const isErased = async () => {
        const erasures = await store.erasures.list({ tenantId, beforeId: null, limit: 100 })
        return erasures.every(({ pass }) => pass > 2)
      }
      await until('all are erased', isErased, { tries: 600 })
      await until('all are merged', async () => (await store.merges.backlog(1)).count === 0, { tries: 600 })
      stop.abort()
      await Promise.all(works)

      const { logs, prospects } = await kept()
      const ownerOf = new Map(logs.map(({ prospectLogId, prospectId }) => [prospectLogId, prospectId]))
      t.strictSame(
        logs.filter(({ email }) => email?.startsWith('gone')),
        [],
        'nothing names the erased',
      )
      t.strictSame(
        prospects.filter(({ email }) => email?.startsWith('gone')),
        [],
        'nor are they back',
      )
      const rest = [...acknowledged].filter(([, email]) => !email.startsWith('gone'))
      t.strictSame(
        rest.filter(([id]) => !ownerOf.has(id)),
        [],
        'nothing that was acknowledged is lost',
      )
      for (const [i, survivor] of (survivors ?? []).entries()) {
        const owners = rest
          .filter(([, email]) => email === `merged-${i}@x.org`)
          .map(([id]) => ownerOf.get(id))
        t.strictSame([...new Set(owners)], [survivor], 'all of the merged is the survivor’s')
      }
    },
  )

  t.test('keys end by the clock, and are revoked at once whatever it shows', async (t) => {
    const { another, callWith, clock, move, newKey } = await setting(t, kind)
    const status = async (key: string) => (await callWith(key)('GET /v0/page_groups')).status
    const ending = await newKey(30 * MINUTE_MS)
    const revoked = await newKey(null)
    for (const { apiKey } of [ending, revoked]) t.equal(await status(apiKey), 200)
    move(-HOUR_MS)
    for (const { apiKey } of [ending, revoked]) t.equal(await status(apiKey), 200, 'it is remembered')
    const elsewhere = await another()
    await revokeApiKey({ store: elsewhere, clock })(revoked.apiKeyId)
    await until('the revoked key is refused', async () => (await status(revoked.apiKey)) === 401, {
      tries: 80,
    })
    t.equal(await status(ending.apiKey), 200)
    move(2 * HOUR_MS)
    t.equal(await status(ending.apiKey), 401, 'its end has come')
    move(-HOUR_MS)
    t.equal(await status(revoked.apiKey), 401)
  })

  t.test('a caller that has used up its rate is not locked out by a clock set back', async (t) => {
    const { call, move } = await setting(t, kind, { RATE_LIMIT_PER_MINUTE: '60' })
    await until('it is limited', async () => (await call('GET /v0/page_groups')).status === 429, {
      tries: 200,
      pauseMs: 0,
    })
    move(-HOUR_MS)
    await t.resolves(
      until('it is answered', async () => (await call('GET /v0/page_groups')).status === 200, {
        tries: 50,
        pauseMs: 100,
      }),
    )
  })
})
