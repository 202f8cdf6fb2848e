import { setTimeout } from 'node:timers/promises'
import type { ProspectLogReceipt } from 'prospect-pages'
import type {
  Clock,
  FoundProspect,
  Identifier,
  Moments,
  NewId,
  Store,
  StoredErasure,
} from 'prospect-pages/store'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { untilCompleted } from './completed.ts'
import { type Core, type Subject, section } from './contract.ts'
import {
  addTenant,
  at,
  emailIdentifier,
  externalIdentifier,
  foundProspect,
  idBefore,
  identifiersOf,
  newId,
  readEach,
  recordAll,
  type SomeProspect,
  someClaim,
  someErasure,
  someLog,
  someProspect,
} from './rows.ts'
import { START_MS, stoppedClock } from './setting.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const ROUNDS = 5
const ADA = 'ada@example.com'
const ON = new AbortController().signal

type World = { readonly store: Store; readonly clock: Clock; readonly newId: NewId }
type Logged = Partial<ProspectLogReceipt> & { readonly kind: string }
type ErasureRequest = { readonly prospectId?: string; readonly email?: string; readonly blockDays?: number }
type Requested = { readonly kind?: string; readonly erasureId?: string; readonly prospectId?: string | null }

const activityOf = (tenantId: string, fields: Partial<NewActivity>): NewActivity => ({
  tenantId,
  source: 'crm',
  type: 'webhook',
  payload: { rawJson: '{}' },
  ...fields,
})

/** Moments that are past once the gate opens, whatever still runs. */
const gatedMoments = ({ moments: { now } }: Store) => {
  const gate = { isPast: false }
  const moments: Moments = { now, arePast: async (asked) => asked.map(() => gate.isPast) }
  return { gate, moments }
}

/** What callers and background workers do in one process. Its prospects are remembered. */
const processOf = (core: Core, world: World, tenantId: string) => {
  const { store, clock } = world
  const activities = core.remembering(store.activities, 1_000)
  const logActivity = core.logProspectActivity({ ...world, store: { activities } })
  const requestErasure = core.requestErasure(world)
  return {
    /** The receipt, or the kind of the refusal. */
    log: async (fields: Partial<NewActivity>): Promise<Logged> => {
      try {
        const { value } = await logActivity(activityOf(tenantId, fields))
        return { kind: 'logged', ...value }
      } catch (error) {
        if (error instanceof core.DomainFailure) return { kind: error.kind }
        throw error
      }
    },
    /** The erasure, or the kind of the refusal. */
    request: async (fields: ErasureRequest): Promise<Requested> => {
      try {
        return (await requestErasure({ blockDays: 30, ...fields, tenantId })).value
      } catch (error) {
        if (error instanceof core.DomainFailure) return { kind: error.kind }
        throw error
      }
    },
    work: async (moments = store.moments) => {
      const step = core.eraseProspects({ store: { ...store, moments }, clock })
      await untilIdle(() => step(ON))
    },
    expire: async (retentionDays: number | null = null) => {
      const errors: unknown[] = []
      const onError = (error: unknown) => errors.push(error)
      const step = core.deleteExpired({
        store,
        clock,
        retentionDays,
        eventDaysKept: 30,
        onError,
        onPause: onError,
      })
      await store.erasures.saveClock({ servedAt: new Date(clock()).toISOString(), pausedAt: null })
      await untilIdle(() => step(ON))
      same(errors, [])
    },
  }
}

const settingOf = async ({ core, store, another, kept }: Subject) => {
  const clock = stoppedClock()
  const elsewhere = await another()
  const { tenantId } = await addTenant(store)
  const processOn = (on: Store) => processOf(core, { store: on, clock, newId: core.createNewId() }, tenantId)
  const here = processOn(store)
  const listed = () => store.erasures.list({ tenantId, beforeId: null, limit: 100 })
  const erasureOf = async ({ erasureId = '' }: { erasureId?: string }) =>
    store.erasures.find({ tenantId, erasureId })
  /** Both passes of all erasures. */
  const complete = () => untilCompleted(store.erasures, clock, () => here.work())
  /** Sets the clock to this many milliseconds after its start. */
  const advanceTo = (ms: number) => clock.advance(START_MS + ms - clock())
  const everything = async () => JSON.stringify([await kept(), await listed()])

  /** A prospect, recorded by the store's verb. */
  const person = async (fields: Partial<SomeProspect> = {}) => {
    const prospect = someProspect(tenantId, fields)
    equal(await recordAll(store.activities, [prospect]), 'recorded')
    return foundProspect(prospect)
  }
  /** Gives a prospect other identifiers, so that its present ones become former ones. Returns the corrected prospect. */
  const correct = async (before: FoundProspect, values: Partial<FoundProspect>) => {
    const updatedAt = new Date(Date.parse(before.updatedAt) + 1).toISOString()
    const after = { ...before, ...values, updatedAt }
    const added = identifiersOf(after)
    const isKept = (identifier: Identifier) =>
      added.some(({ kind, hash }) => kind === identifier.kind && hash === identifier.hash)
    const released = identifiersOf(before).filter((identifier) => !isKept(identifier))
    equal(await store.prospects.correct({ before, after, added, released }), 'recorded')
    return after
  }
  /** Merges a prospect into a survivor, which keeps its fields. Returns the changed survivor. */
  const merge = async (before: FoundProspect, survivor: FoundProspect) => {
    const { prospectId } = before
    const intoId = survivor.prospectId
    const after = { ...survivor, updatedAt: new Date(Date.parse(survivor.updatedAt) + 1).toISOString() }
    const outcome = await store.merges.record({
      merge: { tenantId, mergeId: newId('merge'), prospectId, intoId, requestedAt: at(1) },
      merged: { before, after: { ...before, name: null, mergedInto: intoId, updatedAt: at(1) } },
      survivor: { before: survivor, after },
    })
    equal(outcome, 'recorded')
    return after
  }
  /** Erases a prospect and those merged into it, by the store's verb. */
  const erase = async (prospect: FoundProspect, until = at(DAY_MS), on = store) => {
    const erasure = someErasure(tenantId, { prospectId: prospect.prospectId })
    const merged = (await store.prospects.findWithMerged(prospect)).slice(1)
    const parts = merged.map(({ prospectId }) =>
      someErasure(tenantId, { prospectId, partOf: erasure.erasureId }),
    )
    const outcome = await on.erasures.record({
      tenantId,
      now: at(5),
      until,
      prospects: [prospect, ...merged],
      identifier: null,
      erasures: [erasure, ...parts],
    })
    return { outcome, erasure }
  }
  /** Blocks an identifier that leads to no one, by the store's verb. */
  const block = async (identifier: Identifier, until = at(DAY_MS), on = store) => {
    const erasure = someErasure(tenantId)
    const changes = { tenantId, now: at(5), until, prospects: [], identifier, erasures: [erasure] }
    return { outcome: await on.erasures.record(changes), erasure }
  }
  /** Completes these erasures. */
  const end = async (...erasures: readonly StoredErasure[]) => {
    const claimed = await store.erasures.claim(someClaim({ now: at(1e9), until: at(1e9) }))
    const ids = new Set(erasures.map(({ erasureId }) => erasureId))
    const completed = { status: 'completed', completedAt: at(6), claimableAt: at(6) } as const
    const steps = claimed.filter(({ erasureId }) => ids.has(erasureId))
    await store.erasures.settle(
      tenantId,
      steps.map((step) => ({ ...step, ...completed })),
    )
  }
  const email = (text: string) => emailIdentifier(tenantId, text)
  /** The prospect that each identifier leads to, or the erasure that blocks it, or undefined. */
  const leadsOf = async (...identifiers: readonly Identifier[]) => {
    const known = await readEach(
      store.activities.recall,
      identifiers.map((identifier) => ({ tenantId: identifier.tenantId, identifiers: [identifier] })),
    )
    return known.map(({ identifiers: [found] }) => found?.prospectId ?? found?.erasureId)
  }
  return {
    clock,
    elsewhere,
    tenantId,
    processOn,
    here,
    there: processOn(elsewhere),
    listed,
    erasureOf,
    complete,
    advanceTo,
    everything,
    person,
    correct,
    merge,
    erase,
    block,
    end,
    email,
    leadsOf,
  }
}

export const erasures = section('erasures', settingOf, {
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

  'an erasure deletes all logs of its prospect, and other logs with its email lose email and name': async (
    scene,
  ) => {
    const { here, erasureOf, complete, kept, tenantId, store } = scene
    const { prospectId = '' } = await here.log({ email: ADA, name: 'Ada' })
    const other = await here.log({ email: 'bob@example.com', name: 'Bob' })
    const idempotencyKey = 'one'
    await here.log({ prospectId: String(other.prospectId), email: ` ${ADA}`, name: 'Ada', idempotencyKey })
    const ada = { tenantId, prospectId }
    const more = Array.from({ length: 1_001 }, () => someLog(ada))
    await recordAll(store.activities, [], more)
    const stranger = someProspect((await addTenant(store)).tenantId, { email: ADA })
    await recordAll(store.activities, [stranger], [someLog(stranger, { email: ADA })])
    const erasure = await here.request({ email: ADA })
    await complete()
    like(await erasureOf(erasure), { status: 'completed', prospectId, logsErased: 1_002 })
    ok((await erasureOf(erasure))?.completedAt)
    const key = { source: 'crm', idempotencyKey }
    const { receipt } = await store.activities.recall({ tenantId, identifiers: [], key })
    ok(receipt !== null)
    ok(!JSON.stringify(receipt).includes(ADA), 'nor has the receipt the email')
    equal(receipt.requestHash, null, 'from which a guess could be confirmed')
    const retry = await here.log({ prospectId: String(other.prospectId), idempotencyKey })
    equal(retry.prospectLogId, receipt.prospectLogId)
    const { logs, prospects } = await kept()
    const ours = logs.filter((log) => log.tenantId === tenantId)
    same(
      ours.map(({ email, name }) => [email, name]),
      [
        ['bob@example.com', 'Bob'],
        [null, null],
      ],
    )
    equal(logs.length - ours.length, 1)
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
    const { gate, moments } = gatedMoments(store)
    await hiding.work(moments)
    isVisible = true
    scene.clock.advance(HOUR_MS)
    await hiding.work(moments)
    like(await erasureOf(erasure), { status: 'processing', pass: 2, logsErased: 0 })
    gate.isPast = true
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
    await here.work(gatedMoments(store).moments)
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
    const { gate, moments } = gatedMoments(store)
    const counted = { erasures: { ...store.erasures, namesAfter }, moments }
    const step = core.eraseProspects({ store: counted, clock })
    await here.request({ email: emailOf(0) })
    for (let i = 0; i < 2; i++) await step(ON)
    for (let n = 1; n < 32; n++) await here.request({ email: emailOf(n) })
    await untilIdle(() => step(ON))
    equal(rows, 2 * 4_400)
    gate.isPast = true
    clock.advance(HOUR_MS)
    await untilCompleted(store.erasures, clock, async () => {
      await untilIdle(() => step(ON))
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
      await step(ON).catch(() => {})
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

  'a step of an erasure that another eraser has claimed is not saved': async (scene) => {
    const { here, store, tenantId, erasureOf } = scene
    const erasure = await here.request({ email: ADA })
    const [first] = await store.erasures.claim(someClaim({ until: at(0) }))
    const [second] = await store.erasures.claim(someClaim())
    if (!first || !second) throw new Error('nothing was claimed')
    like(
      [first, second],
      [
        { attempt: 1, pass: 1, position: '' },
        { attempt: 2, settlesAfter: null },
      ],
    )
    const completed = { status: 'completed', completedAt: at(6), claimableAt: at(6) } as const
    await store.erasures.settle(tenantId, [{ ...first, ...completed }])
    like(await erasureOf(erasure), { status: 'processing' })
    const settlesAfter = await store.moments.now()
    const step = { ...second, pass: 2, position: 'x', settlesAfter, claimableAt: at(5) } as const
    await store.erasures.settle(tenantId, [step])
    same(await store.erasures.claim(someClaim({ now: at(4) })), [])
    const [third] = await store.erasures.claim(someClaim({ now: at(5) }))
    like(third, { attempt: 3, pass: 2, position: 'x', settlesAfter, requestedAt: at(0) })
    if (third) await store.erasures.settle(tenantId, [{ ...third, ...completed }])
    like(await erasureOf(erasure), { status: 'completed', completedAt: at(6) })
    same(await store.erasures.claim(someClaim({ now: at(100) })), [])
  },

  'every moment is past in the end': async ({ store, elsewhere }) => {
    const moments = [await store.moments.now(), await elsewhere.moments.now()]
    for (const on of [store, elsewhere]) {
      same(await on.moments.arePast([]), [])
      for (let round = 0; (await on.moments.arePast(moments)).includes(false); round++) {
        ok(round < 1_000)
        await setTimeout(5)
      }
    }
  },

  'each identifier that leads to a person, or did, is blocked by the erasure': async (scene) => {
    const { correct, email, erase, leadsOf, merge, person, store, tenantId } = scene
    const external = (text: string) => externalIdentifier(tenantId, text)
    const ada = await person({ email: 'a1@x', externalId: 'a' })
    const eve = await person({ email: 'e1@x', externalId: 'e' })
    const bob = await person({ email: 'b1@x' })
    const formerAda = await correct(await correct(ada, { email: 'a2@x' }), {
      email: 'a3@x',
      externalId: null,
    })
    const formerEve = await correct(eve, { email: 'e2@x' })
    // Eve is merged into Bob, and Bob into Ada.
    const survivor = await merge(formerEve, bob)
    const whole = await merge(survivor, formerAda)
    const all = ['a1@x', 'a2@x', 'a3@x', 'e1@x', 'e2@x', 'b1@x'].map(email)
    const identifiers = [...all, external('a'), external('e')]
    const { outcome, erasure } = await erase(whole)
    equal(outcome, 'recorded')
    same(
      await leadsOf(...identifiers),
      identifiers.map(() => erasure.erasureId),
    )
    const blocked = await store.erasures.blockedBy(tenantId, [erasure.erasureId])
    same(hashesOf(blocked), hashesOf(identifiers))
    for (const identifier of blocked)
      like(identifier, { tenantId, prospectId: null, blockedUntil: at(DAY_MS), erasureId: erasure.erasureId })
    like(await store.erasures.find({ tenantId, erasureId: erasure.erasureId }), {
      blockedUntil: at(DAY_MS),
    })
    const erased = await readEach(store.prospects.find, [ada, eve, bob])
    for (const prospect of erased)
      like(prospect, { email: null, externalId: null, name: null, erasedAt: at(5), updatedAt: at(5) })
  },

  'a former identifier that leads to another person today stays there': async (scene) => {
    const { correct, email, end, erase, leadsOf, person, store, tenantId } = scene
    const ada = await correct(await person({ email: 'shared@x', externalId: '1' }), { email: 'ada@x' })
    const bob = await person({ email: 'shared@x' })
    const { erasure } = await erase(ada)
    same(await leadsOf(email('shared@x'), email('ada@x')), [bob.prospectId, erasure.erasureId])
    equal((await store.erasures.blockedBy(tenantId, [erasure.erasureId])).length, 2)
    // A completed erasure forgets the former identifiers of its prospect.
    await end(erasure)
    const { erasure: second } = await erase(await correct(bob, { email: null }))
    same(await leadsOf(email('shared@x')), [second.erasureId])
  },

  'an identifier that the person lost and got back is blocked once': async (scene) => {
    const { correct, email, erase, leadsOf, person, store, tenantId } = scene
    let ada = await person({ email: '1@x' })
    for (const text of ['2@x', '1@x', '2@x', '1@x']) ada = await correct(ada, { email: text })
    const { erasure } = await erase(ada)
    same(await leadsOf(email('1@x'), email('2@x')), [erasure.erasureId, erasure.erasureId])
    equal((await store.erasures.blockedBy(tenantId, [erasure.erasureId])).length, 2)
  },

  'a former identifier that is blocked already is blocked by the new erasure, never for a shorter time':
    async (scene) => {
      const { block, correct, email, erase, leadsOf, person, store, tenantId } = scene
      let ada = await person({ email: '1@x' })
      for (const text of ['2@x', '3@x']) ada = await correct(ada, { email: text })
      const { erasure: longer } = await block(email('1@x'), at(2 * DAY_MS))
      const { erasure: shorter } = await block(email('2@x'), at(HOUR_MS))
      same(await leadsOf(email('1@x'), email('2@x')), [longer.erasureId, shorter.erasureId])
      const { erasure } = await erase(ada)
      const blocked = await store.erasures.blockedBy(tenantId, [erasure.erasureId])
      same(blocked.map(({ blockedUntil }) => blockedUntil).toSorted(), [
        at(DAY_MS),
        at(DAY_MS),
        at(2 * DAY_MS),
      ])
      same(await store.erasures.blockedBy(tenantId, [longer.erasureId, shorter.erasureId]), [])
      like(await store.erasures.find({ tenantId, erasureId: longer.erasureId }), { blockedUntil: null })
      like(await store.erasures.find({ tenantId, erasureId: erasure.erasureId }), {
        blockedUntil: at(2 * DAY_MS),
      })
    },

  'an identifier that leads to a prospect is not blocked alone, and the request saves nothing': async (
    scene,
  ) => {
    const { everything, block, email, leadsOf, person } = scene
    const ada = await person({ email: 'ada@x' })
    const before = await everything()
    const { outcome } = await block(email('ada@x'))
    equal(outcome, 'overtaken')
    equal(await everything(), before)
    same(await leadsOf(email('ada@x')), [ada.prospectId])
  },

  'an erasure of a prospect that has changed since is overtaken, and saves nothing': async (scene) => {
    const { everything, correct, email, erase, leadsOf, merge, person, store } = scene
    const ada = await person({ email: 'ada@x', name: 'Ada' })
    const before = await everything()
    for (const stale of [
      { ...ada, name: null },
      { ...ada, email: 'other@x' },
      { ...ada, externalId: '1' },
      { ...ada, updatedAt: at(1) },
      { ...ada, prospectId: newId('prospect') },
    ])
      equal((await erase(stale)).outcome, 'overtaken')
    equal(await everything(), before)
    const corrected = await correct(ada, { email: 'new@x' })
    equal((await erase(ada)).outcome, 'overtaken')
    const survivor = await person()
    await merge(corrected, survivor)
    equal((await erase(corrected)).outcome, 'overtaken')
    equal((await erase(survivor)).outcome, 'overtaken')
    same(await leadsOf(email('ada@x'), email('new@x')), [undefined, survivor.prospectId])
    equal((await erase({ ...survivor, updatedAt: at(1) })).outcome, 'recorded')
    equal((await erase({ ...survivor, updatedAt: at(1) })).outcome, 'overtaken')
    like(await store.prospects.find(survivor), { erasedAt: at(5) })
  },

  'of two erasures of one person at once, exactly one is recorded': async (scene) => {
    const { elsewhere, email, erase, leadsOf, person, store, tenantId } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const ada = await person({ email: `${round}@x` })
      const both = await Promise.all([erase(ada), erase(ada, at(DAY_MS), elsewhere)])
      same(both.map(({ outcome }) => outcome).toSorted(), ['overtaken', 'recorded'])
      const recorded = both.find(({ outcome }) => outcome === 'recorded')?.erasure.erasureId
      same(await leadsOf(email(`${round}@x`)), [recorded])
      const { prospectId } = ada
      equal((await store.erasures.find({ tenantId, prospectId }))?.erasureId, recorded)
    }
  },

  'of a block and an activity that adds the identifier at once, exactly one is recorded': async (scene) => {
    const { block, elsewhere, email, leadsOf, store, tenantId } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const prospect = someProspect(tenantId, { email: `${round}@x` })
      const isBlockedHere = round % 2 === 0
      const blocking = block(email(`${round}@x`), at(DAY_MS), isBlockedHere ? store : elsewhere)
      const { activities } = isBlockedHere ? elsewhere : store
      const recording = recordAll(activities, [prospect], [someLog(prospect)])
      const { outcome, erasure } = await blocking
      const isBlocked = outcome === 'recorded'
      equal(await recording, isBlocked ? 'overtaken' : 'recorded')
      const owner = isBlocked ? erasure.erasureId : prospect.prospectId
      same(await leadsOf(email(`${round}@x`)), [owner])
    }
  },

  'of an erasure and a correction at once, exactly one is recorded': async (scene) => {
    const { elsewhere, email, erase, leadsOf, person } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const texts = [`${round}@x`, `${round}@y`]
      const before = await person({ email: `${round}@x` })
      const after = { ...before, email: `${round}@y`, updatedAt: at(1) }
      const correction = { before, after, added: identifiersOf(after), released: identifiersOf(before) }
      const correcting = elsewhere.prospects.correct(correction)
      const erasing = erase(before)
      const isCorrected = (await correcting) === 'recorded'
      const { outcome, erasure } = await erasing
      equal(outcome, isCorrected ? 'overtaken' : 'recorded')
      same(
        await leadsOf(...texts.map(email)),
        isCorrected ? [undefined, before.prospectId] : [erasure.erasureId, undefined],
      )
    }
  },

  'blocked identifiers are read by the id of their erasure, within its tenant': async (scene) => {
    const { block, email, erase, person, store, tenantId } = scene
    const { erasure: first } = await block(email('a@x'))
    const { erasure: second } = await erase(await person({ email: 'b@x', externalId: '1' }))
    const { erasure: third } = await erase(await person())
    const blockedBy = async (...erasures: readonly StoredErasure[]) =>
      hashesOf(
        await store.erasures.blockedBy(
          tenantId,
          erasures.map(({ erasureId }) => erasureId),
        ),
      )
    const ofSecond = [email('b@x'), externalIdentifier(tenantId, '1')]
    same(await blockedBy(first), hashesOf([email('a@x')]))
    same(await blockedBy(second), hashesOf(ofSecond))
    same(await blockedBy(first, third, second), hashesOf([email('a@x'), ...ofSecond]))
    same(await blockedBy(third), [])
    same(await blockedBy(), [])
    const { tenantId: stranger } = await addTenant(store)
    same(await store.erasures.blockedBy(stranger, [first.erasureId, second.erasureId]), [])
  },

  'blocks of one erasure are extended, never shortened, and end together': async (scene) => {
    const { block, email, erase, person, store, tenantId } = scene
    const { erasure } = await erase(await person({ email: 'a@x', externalId: '1' }), at(DAY_MS))
    const { erasure: separate } = await block(email('b@x'), at(DAY_MS))
    const untilOf = async ({ erasureId }: StoredErasure) => {
      const blocked = await store.erasures.blockedBy(tenantId, [erasureId])
      const untils = new Set(blocked.map(({ blockedUntil }) => blockedUntil))
      equal(untils.size, 1)
      const shown = await store.erasures.find({ tenantId, erasureId })
      equal(shown?.blockedUntil, [...untils][0])
      like(
        (await scene.listed()).filter((listed) => listed.erasureId === erasureId),
        [shown],
      )
      return shown?.blockedUntil
    }
    await store.erasures.extend(erasure, at(2 * DAY_MS))
    equal(await untilOf(erasure), at(2 * DAY_MS))
    await store.erasures.extend(erasure, at(DAY_MS))
    equal(await untilOf(erasure), at(2 * DAY_MS))
    await store.erasures.unblock(erasure, at(9))
    equal(await untilOf(erasure), at(9))
    await store.erasures.unblock(erasure, at(10))
    equal(await untilOf(erasure), at(9))
    equal(await untilOf(separate), at(DAY_MS))
  },

  'expired blocks are deleted in batches, except those of an erasure in progress': async (scene) => {
    const { block, email, end, erase, leadsOf, person, store, tenantId } = scene
    const ada = await person({ email: 'a@x', externalId: '1' })
    const { erasure } = await erase(ada, at(100))
    const { erasure: alone } = await block(email('b@x'), at(100))
    const { erasure: later } = await block(email('c@x'), at(101))
    const { erasure: running } = await block(email('d@x'), at(50))
    const identifiers = [...identifiersOf({ ...ada }), ...['b@x', 'c@x', 'd@x'].map(email)]
    const areLeading = async () => (await leadsOf(...identifiers)).map((leads) => leads !== undefined)
    const expire = (ms: number, max = 100) =>
      store.erasures.expire({ tenantId, now: at(ms), beforeLogId: null, max })
    equal(await expire(1e9), false)
    same(await areLeading(), [true, true, true, true, true])
    await end(erasure, alone, later)
    equal(await expire(99), false)
    same(await areLeading(), [true, true, true, true, true])
    const { tenantId: stranger } = await addTenant(store)
    const max = { beforeLogId: null, max: 100 }
    equal(await store.erasures.expire({ tenantId: stranger, now: at(1e9), ...max }), false)
    equal(await expire(100, 2), true)
    equal((await areLeading()).filter(Boolean).length, 3)
    await untilIdle(() => expire(100, 2))
    same(await areLeading(), [false, false, false, true, true])
    await end(running)
    equal(await expire(100), false)
    same(await areLeading(), [false, false, false, true, false])
    // The tombstone stays, and what was blocked is free.
    like(await store.prospects.find(ada), { erasedAt: at(5) })
    const next = await person({ email: 'a@x', externalId: '1' })
    same(await leadsOf(...identifiersOf(next)), [next.prospectId, next.prospectId])
    like(await store.erasures.find({ tenantId, erasureId: erasure.erasureId }), { blockedUntil: null })
  },

  'erasures are listed newest first, in slices': async ({ here, store, tenantId }) => {
    const ids: unknown[] = []
    for (const email of ['a@x', 'b@x', 'c@x']) ids.unshift((await here.request({ email })).erasureId)
    const slice = async (beforeId: string | null, limit: number) =>
      (await store.erasures.list({ tenantId, beforeId, limit })).map(({ erasureId }) => erasureId)
    same(await slice(null, 10), ids)
    same((await slice(null, 1))[0], ids[0])
    same(await slice(String(ids[0]), 5), ids.slice(1))
  },

  'long emails are read in lists that fit into memory': async ({ store, tenantId }) => {
    const bob = someProspect(tenantId)
    const email = 'x'.repeat(600_000)
    const logs = Array.from({ length: 5 }, () => someLog(bob, { email }))
    await recordAll(store.activities, [bob], logs)
    const read = await store.erasures.namesAfter(tenantId, '', 100)
    ok(read.length >= 2 && read.length <= 3, `${read.length}`)
    const rest = await store.erasures.namesAfter(tenantId, String(logs[2]?.prospectLogId), 1)
    like(rest, [{ prospectLogId: logs[3]?.prospectLogId, email }])
  },

  'logs are deleted once they have been kept long enough, and their idempotency keys end with them': async (
    scene,
  ) => {
    const { here, store, tenantId, clock, kept } = scene
    const bob = someProspect(tenantId, { email: 'bob@example.com' })
    const oldLog = (days: number) => {
      const idempotencyKey = `${days} days`
      const prospectLogId = idBefore('prospectlog', clock() - days * DAY_MS)
      return someLog(bob, {
        prospectLogId,
        idempotencyKey,
        requestHash: 'hash',
        createdAt: at(-days * DAY_MS),
      })
    }
    await recordAll(store.activities, [bob], [10, 20, 30].map(oldLog))
    const keys = async () => (await kept()).logs.map(({ idempotencyKey }) => idempotencyKey).sort()
    await here.expire()
    equal((await keys()).length, 3, 'by default they are kept for ever')
    await here.expire(30)
    same(await keys(), ['10 days', '20 days'])
    await store.tenants.update(tenantId, { retentionDays: 0 })
    await here.expire(1)
    same(await keys(), ['10 days', '20 days'])
    await store.tenants.update(tenantId, { retentionDays: 15 })
    await here.expire()
    same(await keys(), ['10 days'])
    await store.tenants.update(tenantId, { retentionDays: null })
    await here.expire()
    same(await keys(), ['10 days'])
    const sent = await here.log({ email: 'bob@example.com', idempotencyKey: '30 days' })
    like(sent, { prospectId: bob.prospectId, createdProspect: false })
  },

  'old logs of several tenants are all deleted': async (scene) => {
    const { here, store, kept } = scene
    for (let i = 0; i < 3; i++) {
      const prospect = someProspect((await addTenant(store)).tenantId)
      const logs = Array.from({ length: 600 }, () => someLog(prospect))
      await recordAll(store.activities, [prospect], logs)
    }
    await here.expire(1)
    equal((await kept()).logs.length, 0)
  },

  'every process reads when the database was last served, and a pause until it ends': async (scene) => {
    const { store, elsewhere } = scene
    equal(await elsewhere.erasures.lastServed(), null)
    for (const pausedAt of [null, at(9), null]) {
      await store.erasures.saveClock({ servedAt: at(1), pausedAt })
      same(await elsewhere.erasures.lastServed(), { servedAt: at(1), pausedAt })
    }
  },

  'several workers share the deletion of expired logs': async ({ here, there, store, kept }) => {
    const prospect = someProspect((await addTenant(store)).tenantId)
    const logs = Array.from({ length: 3_000 }, () => someLog(prospect))
    await recordAll(store.activities, [prospect], logs)
    await Promise.all([here, there, here, there].map((worker) => worker.expire(1)))
    equal((await kept()).logs.length, 0)
  },
})

const hashesOf = (identifiers: readonly Identifier[]) =>
  identifiers.map(({ kind, hash }) => `${kind} ${hash}`).toSorted()

/** Repeats a step until it finds nothing more to do. */
const untilIdle = async (step: () => Promise<boolean>): Promise<void> => {
  let isBusy = true
  while (isBusy) isBusy = await step()
}
