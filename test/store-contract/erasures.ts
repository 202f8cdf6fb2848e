import type { Store } from 'prospect-pages/store'
import { equal, like, ok, same } from './assertions.ts'
import { untilCompleted } from './completed.ts'
import { section } from './contract.ts'
import { ADA, DAY_MS, erasureScene, HOUR_MS } from './erasure-scene.ts'
import { heldMoments, NEVER_ABORTED, untilIdle } from './merge-scene.ts'
import {
  addTenant,
  at,
  idBefore,
  logKey,
  newId,
  recordAll,
  someClaim,
  someLog,
  someProspect,
} from './rows.ts'
import { START_MS } from './setting.ts'

/** What callers and erasers see of an erasure, from the request to the end of the block. */
export const erasures = section('erasures', erasureScene, {
  'a requested erasure at once leaves a tombstone, and activities by its id or email are refused': async (
    scene,
  ) => {
    const { here, there, tenantId, kept } = scene
    const { prospectId } = await here.log({ email: ADA, name: 'Ada' })
    like(await there.request({ prospectId: String(prospectId) }), {
      prospectId,
      status: 'processing',
      requestedAt: at(0),
      completedAt: null,
      logsErased: 0,
    })
    same(await here.log({ prospectId: String(prospectId) }), { kind: 'prospect_erased' })
    same(await here.log({ email: ` ${ADA.toUpperCase()}`, name: 'Ada' }), { kind: 'prospect_erased' })
    const { prospects, logs } = await kept()
    equal(logs.length, 1)
    like(prospects, [{ tenantId, prospectId, email: null, name: null }])
  },

  'an erasure deletes all logs of its prospect': async (scene) => {
    const { here, erasureOf, complete, kept, tenantId, store } = scene
    const { prospectId = '' } = await here.log({ email: ADA, name: 'Ada' })
    const moreLogs = Array.from({ length: 1_001 }, () => someLog({ tenantId, prospectId }))
    await recordAll(store.activities, [], moreLogs)
    const erasure = await here.request({ email: ADA })
    await complete()
    const completed = await erasureOf(erasure)
    like(completed, { status: 'completed', prospectId, logsErased: 1_002 })
    ok(completed?.completedAt)
    same((await kept()).logs, [])
  },

  'logs of others with the email of an erased person lose email and name': async (scene) => {
    const { here, complete, kept } = scene
    await here.log({ email: ADA, name: 'Ada' })
    const { prospectId = '' } = await here.log({ email: 'bob@example.com', name: 'Bob' })
    await here.log({ prospectId, email: ` ${ADA}`, name: 'Ada' })
    await here.request({ email: ADA })
    await complete()
    const { logs } = await kept()
    equal(logs.length, 2)
    like(logs, [
      { email: 'bob@example.com', name: 'Bob' },
      { email: null, name: null },
    ])
  },

  'a receipt does not show the email of an erased person, and still answers a replay': async (scene) => {
    const { here, complete, tenantId, store } = scene
    await here.log({ email: ADA })
    const { prospectId = '' } = await here.log({ email: 'bob@example.com' })
    const key = { source: 'crm', idempotencyKey: 'one' }
    await here.log({ ...key, prospectId, email: ` ${ADA}`, name: 'Ada' })
    await here.request({ email: ADA })
    await complete()
    const { receipt } = await store.activities.recall({ tenantId, identifiers: [], key: logKey('one') })
    ok(receipt !== null)
    ok(!JSON.stringify(receipt).includes(ADA), 'the email is gone')
    equal(receipt.requestHash, null, 'no hash from which a guess could be confirmed')
    equal((await here.log({ ...key, prospectId })).prospectLogId, receipt.prospectLogId)
  },

  'an erasure leaves the people and logs of other tenants': async (scene) => {
    const { here, complete, kept, store } = scene
    await here.log({ email: ADA })
    const stranger = someProspect((await addTenant(store)).tenantId, { email: ADA })
    await recordAll(store.activities, [stranger], [someLog(stranger, { email: ADA })])
    await here.request({ email: ADA })
    await complete()
    const { logs, prospects } = await kept()
    like(logs, [{ tenantId: stranger.tenantId, email: ADA }])
    like(
      prospects.find(({ prospectId }) => prospectId === stranger.prospectId),
      { email: ADA },
    )
  },

  'an erasure is completed only once earlier writes have ended, and deletes what they logged': async (
    scene,
  ) => {
    const { here, processOn, store, erasureOf, kept } = scene
    const { prospectId = '' } = await here.log({ email: ADA, name: 'Ada' })
    const { prospectId: other = '' } = await here.log({ email: 'bob@example.com' })
    await here.log({ prospectId: other, email: ADA })
    const erasure = await here.request({ email: ADA })
    // As if these activities were not visible yet.
    let isVisible = false
    const hiding = processOn({
      ...store,
      erasures: {
        ...store.erasures,
        deleteLogs: async (...asked) => (isVisible ? store.erasures.deleteLogs(...asked) : 0),
        namesAfter: async (...asked) => (isVisible ? store.erasures.namesAfter(...asked) : []),
      },
    })
    const { held, moments } = heldMoments(store)
    await hiding.work(moments)
    isVisible = true
    scene.clock.advance(HOUR_MS)
    await hiding.work(moments)
    like(await erasureOf(erasure), { status: 'processing', pass: 2, logsErased: 0 })
    held.arePast = true
    await untilCompleted(store.erasures, scene.clock, () => hiding.work(moments))
    like(await erasureOf(erasure), { status: 'completed', prospectId, logsErased: 1 })
    like((await kept()).logs, [{ prospectId: other, email: 'bob@example.com' }, { prospectId: other }])
    equal((await kept()).logs[1]?.email, null)
  },

  'a remembered person is refused at once in every process, with or without a blank to fill': async (
    scene,
  ) => {
    const { here, there, kept } = scene
    for (const fields of [{ email: ADA }, { email: ADA, name: 'Ada' }])
      for (const process of [here, there, here, there]) equal((await process.log(fields)).kind, 'logged')
    const { prospectId = '' } = await here.log({ email: ADA })
    for (const process of [here, there]) await process.log({ prospectId })
    const { logs } = await kept()
    await here.request({ email: ADA })
    for (const fields of [{ email: ADA }, { email: ADA, name: 'Ada' }, { prospectId }])
      for (const process of [here, there]) same(await process.log(fields), { kind: 'prospect_erased' })
    equal((await kept()).logs.length, logs.length)
  },

  'an activity that was looked up before an erasure and fills a blank is refused': async (scene) => {
    const { here, processOn, store, kept } = scene
    const { prospectId } = await here.log({ email: ADA })
    let isFirst = true
    const recall: Store['activities']['recall'] = async (wants) => {
      const known = await store.activities.recall(wants)
      if (isFirst) {
        isFirst = false
        await here.request({ email: ADA })
      }
      return known
    }
    const late = processOn({ ...store, activities: { ...store.activities, recall } })
    same(await late.log({ email: ADA, name: 'Ada' }), { kind: 'prospect_erased' })
    isFirst = true
    same(await late.log({ prospectId: String(prospectId), name: 'Ada' }), { kind: 'prospect_erased' })
    equal((await kept()).logs.length, 1)
  },

  'equal requests at once, in two processes, are one erasure of the person': async (scene) => {
    const { here, there, listed, complete, tenantId, store } = scene
    await here.log({ email: ADA })
    const requests = Array.from({ length: 10 }, (_, i) => (i % 2 ? here : there).request({ email: ADA }))
    const ids = (await Promise.all(requests)).map(({ erasureId, kind }) => erasureId ?? kind)
    equal(new Set(ids).size, 1, ids.join())
    const [first] = await listed()
    equal(first?.erasureId, ids[0])
    const erasedId = String(first?.prospectId)
    like(await here.request({ prospectId: erasedId }), { erasureId: first?.erasureId })
    for (const want of [{ prospectId: erasedId }, { erasedId }])
      like(await store.erasures.find({ tenantId, ...want }), { erasureId: first?.erasureId })
    await complete()
    like(await store.erasures.find({ tenantId, erasedId }), {
      erasureId: first?.erasureId,
      status: 'completed',
    })
    equal(await store.erasures.find({ tenantId, prospectId: erasedId }), null)
    equal(await store.erasures.find({ tenantId: 'stranger', erasedId }), null)
  },

  'equal requests at once for an unknown email block it, and all of them are completed': async (scene) => {
    const { here, there, complete, email, erasureOf, leadsOf } = scene
    const requests = Array.from({ length: 10 }, (_, i) => (i % 2 ? here : there).request({ email: ADA }))
    const all = await Promise.all(requests)
    for (const erasure of all) like(erasure, { prospectId: null, status: 'processing' })
    const [blocking] = await leadsOf(email(ADA))
    ok(all.some(({ erasureId }) => erasureId === blocking))
    // A later request joins the erasure that blocks the email.
    equal((await there.request({ email: ADA })).erasureId, blocking)
    await complete()
    for (const erasure of all) like(await erasureOf(erasure), { status: 'completed' })
    same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
  },

  'a request is refused if it names an unknown prospect, an erased one, or none': async (scene) => {
    const { here, complete } = scene
    const { prospectId } = await here.log({ email: ADA })
    same(await here.request({ prospectId: newId('prospect') }), { kind: 'prospect_not_found' })
    await here.request({ email: ADA })
    await complete()
    same(await here.request({ prospectId: String(prospectId) }), { kind: 'prospect_erased' })
    for (const fields of [
      {},
      { email: ' ' },
      { email: 'n/a' },
      { email: ADA, prospectId: String(prospectId) },
    ])
      same(await here.request(fields), { kind: 'invalid_request' })
  },

  'an erasure of an unknown email blocks it, and logs with it lose email and name': async (scene) => {
    const { here, complete, kept, tenantId, store } = scene
    const bob = someProspect(tenantId, { email: 'bob@example.com' })
    const log = someLog(bob, { email: ADA, name: 'Ada', prospectLogId: idBefore('prospectlog', 1) })
    await recordAll(store.activities, [bob], [log])
    like(await here.request({ email: ADA }), { prospectId: null, status: 'processing' })
    same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
    await complete()
    like((await kept()).logs, [{ email: null, name: null, prospectId: bob.prospectId }])
  },

  'a blocked email is refused for any prospect that the activity names, remembered or not': async (scene) => {
    const { here, there, kept } = scene
    const bob = await here.log({ email: 'bob@example.com' })
    const prospectId = String(bob.prospectId)
    await here.log({ prospectId })
    await here.log({ prospectId, email: ADA })
    await here.request({ email: ADA })
    for (const email of [ADA, ` ${ADA}`])
      for (const process of [here, there])
        same(await process.log({ prospectId, email }), { kind: 'prospect_erased' })
    equal((await here.log({ prospectId, email: 'bob@example.com' })).kind, 'logged')
    equal((await kept()).logs.length, 4)
  },

  'a prospect without an email is erased, and nothing is blocked': async (scene) => {
    const { here, erasureOf, complete, kept } = scene
    const { prospectId } = await here.log({ name: 'Ada' })
    const erasure = await here.request({ prospectId: String(prospectId) })
    await complete()
    like(await erasureOf(erasure), { status: 'completed', logsErased: 1, blockedUntil: null })
    equal((await kept()).prospects.length, 1)
  },

  'a block ends after its days, and the person may return as a new prospect': async (scene) => {
    const { here, complete, advanceTo, kept } = scene
    const { prospectId } = await here.log({ email: ADA })
    await here.request({ email: ADA, blockDays: 2 })
    await complete()
    advanceTo(2 * DAY_MS - 1)
    await here.expire()
    same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
    advanceTo(2 * DAY_MS)
    await here.expire()
    const returned = await here.log({ email: ADA })
    like(returned, { createdProspect: true })
    ok(returned.prospectId !== prospectId)
    same(await here.log({ prospectId: String(prospectId) }), { kind: 'prospect_erased' })
    equal((await kept()).prospects.length, 2, 'the erased one stays, as a tombstone')
  },

  'a second erasure of a blocked email extends its block, and never shortens it': async (scene) => {
    const { here, complete, advanceTo } = scene
    await here.request({ email: ADA, blockDays: 2 })
    const { erasureId } = await here.request({ email: ADA, blockDays: 3 })
    await complete()
    advanceTo(HOUR_MS)
    const second = await here.request({ email: ADA, blockDays: 1 })
    ok(second.erasureId !== erasureId && second.kind === undefined)
    await complete()
    advanceTo(3 * DAY_MS - 1)
    await here.expire()
    same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
    advanceTo(3 * DAY_MS)
    await here.expire()
    like(await here.log({ email: ADA }), { createdProspect: true })
  },

  'with no block days the email is blocked for an hour, so that the second pass takes nothing of a person who returned':
    async (scene) => {
      const { here, complete, advanceTo, kept } = scene
      await here.log({ email: ADA })
      await here.request({ email: ADA, blockDays: 0 })
      same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
      await complete()
      advanceTo(HOUR_MS - 1)
      await here.expire()
      same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
      advanceTo(HOUR_MS)
      await here.expire()
      like(await here.log({ email: ADA }), { createdProspect: true })
      like((await kept()).logs, [{ email: ADA }])
    },

  'a block lasts as long as its erasure, so that a person who returns keeps email and name': async (
    scene,
  ) => {
    const { here, complete, advanceTo, kept } = scene
    await here.log({ email: ADA, name: 'Ada' })
    await here.request({ email: ADA, blockDays: 0 })
    advanceTo(HOUR_MS + 60_000)
    await here.expire()
    same(await here.log({ email: ADA, name: 'Ada' }), { kind: 'prospect_erased' })
    await complete()
    await here.expire()
    like(await here.log({ email: ADA, name: 'Ada' }), { createdProspect: true })
    await complete()
    like((await kept()).logs, [{ email: ADA, name: 'Ada' }])
  },

  'an erasure shows its block, which can be lifted: at once, or with the end of the erasure': async (
    scene,
  ) => {
    const { here, complete, core, store, clock, tenantId, erasureOf } = scene
    const { erasureId = '' } = await here.request({ email: ADA })
    const again = (await here.request({ email: ADA, blockDays: 40 })).erasureId
    const unblock = async () => (await core.unblockErasure({ store, clock })({ tenantId, erasureId })).value
    const shown = async () => (await core.getErasure({ store })({ tenantId, erasureId })).value
    equal(again, erasureId)
    like(await shown(), { blockedUntil: at(40 * DAY_MS), waitingFor: null })
    like(await unblock(), { status: 'processing', blockedUntil: at(0) })
    await here.expire()
    same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
    await here.work(heldMoments(store).moments)
    like(await shown(), { waitingFor: 'second_pass' })
    clock.advance(HOUR_MS)
    await complete()
    for (let i = 0; i < 2; i++)
      like(await unblock(), { status: 'completed', blockedUntil: null, waitingFor: null })
    like(await here.log({ email: ADA }), { createdProspect: true })
    const requestedMs = clock() - START_MS
    const { erasureId: second } = await here.request({ email: ADA, blockDays: 1 })
    await complete()
    const { erasureId: third } = await here.request({ email: ADA, blockDays: 0 })
    // The last erasure of an email shows its block, which is not shortened.
    like(await erasureOf({ erasureId: String(second) }), { blockedUntil: null })
    like(await erasureOf({ erasureId: String(third) }), { blockedUntil: at(requestedMs + DAY_MS) })
  },

  'all erasures of a tenant share a walk over its logs, and those that come later the next one': async (
    scene,
  ) => {
    const { here, store, tenantId, listed, clock, core, kept } = scene
    const bob = someProspect(tenantId)
    await recordAll(store.activities, [bob])
    const emailOf = (n: number) => `person-${n}@example.com`
    for (let i = 0; i < 4; i++) {
      const logs = Array.from({ length: 1_100 }, (_, n) => someLog(bob, n < 32 ? { email: emailOf(n) } : {}))
      await recordAll(store.activities, [], logs)
    }
    let rows = 0
    const namesAfter: Store['erasures']['namesAfter'] = async (...asked) => {
      const logs = await store.erasures.namesAfter(...asked)
      rows += logs.length
      return logs
    }
    const { held, moments } = heldMoments(store)
    const counted = { erasures: { ...store.erasures, namesAfter }, moments }
    const step = core.eraseProspects({ store: counted, clock })
    await here.request({ email: emailOf(0) })
    for (let i = 0; i < 2; i++) await step(NEVER_ABORTED)
    for (let n = 1; n < 32; n++) await here.request({ email: emailOf(n) })
    await untilIdle(step)
    equal(rows, 2 * 4_400)
    held.arePast = true
    clock.advance(HOUR_MS)
    await untilCompleted(store.erasures, clock, async () => {
      await untilIdle(step)
    })
    ok(rows <= 3 * 4_400, `${rows}`)
    same(new Set((await listed()).map(({ status }) => status)), new Set(['completed']))
    same(new Set((await kept()).logs.map(({ email }) => email)), new Set([null]))
  },

  'the backlog counts erasures in progress and shows the time of the oldest': async (scene) => {
    const { here, store, clock, complete } = scene
    for (const email of [ADA, 'bob@example.com']) {
      await here.request({ email })
      clock.advance(5)
    }
    same(await store.erasures.backlog(10), { count: 2, oldest: at(0) })
    equal((await store.erasures.backlog(1)).count, 1)
    await complete()
    same(await store.erasures.backlog(10), { count: 0, oldest: null })
  },

  'the replay of an activity of an erased person is refused, before its row is deleted and after': async (
    scene,
  ) => {
    const { here, complete, kept } = scene
    const activity = { email: ADA, idempotencyKey: 'one' }
    const { prospectId } = await here.log(activity)
    await here.request({ email: ADA })
    for (let i = 0; i < 2; i++) {
      same(await here.log(activity), { kind: 'prospect_erased' })
      same(await here.log({ ...activity, email: undefined, prospectId: String(prospectId) } as never), {
        kind: 'prospect_erased',
      })
      await complete()
    }
    equal((await kept()).logs.length, 0)
  },

  'an eraser that is killed at any moment leaves right counts, and another one completes': async (scene) => {
    const { here, store, clock, tenantId, erasureOf, complete, kept, core } = scene
    const { prospectId = '' } = await here.log({ email: ADA })
    const logs = Array.from({ length: 1_200 }, () => someLog({ tenantId, prospectId }))
    await recordAll(store.activities, [], logs)
    const erasure = await here.request({ email: ADA })
    const killed = { ...store.erasures, settle: () => Promise.reject(new Error('killed')) }
    for (let i = 0; i < 2; i++) {
      const step = core.eraseProspects({ store: { ...store, erasures: killed }, clock })
      await step(NEVER_ABORTED).catch(() => {})
      clock.advance(20_000)
    }
    equal((await erasureOf(erasure))?.logsErased, 1_201 - (await kept()).logs.length)
    await complete()
    like(await erasureOf(erasure), { status: 'completed', logsErased: 1_201 })
  },

  'several erasers share the work, and no log is counted twice': async (scene) => {
    const { here, there, store, tenantId, erasureOf, complete, clock, kept } = scene
    const { prospectId = '' } = await here.log({ email: ADA })
    const logs = Array.from({ length: 1_200 }, () => someLog({ tenantId, prospectId }))
    await recordAll(store.activities, [], logs)
    const erasure = await here.request({ email: ADA })
    for (let pass = 0; pass < 2; pass++) {
      const claimed = await store.erasures.claim(someClaim({ until: at(0) }))
      const lists = [store, scene.elsewhere].map(({ erasures }) =>
        Promise.all(claimed.map((erasure) => erasures.deleteLogs(erasure, 500).catch(() => 0))),
      )
      await Promise.all([...lists, here.work(), there.work()])
      // A claim skips an erasure that another process is just writing to.
      await here.work()
      clock.advance(HOUR_MS)
    }
    await complete()
    like(await erasureOf(erasure), { status: 'completed', logsErased: 1_201 })
    equal((await kept()).logs.length, 0)
  },
})
