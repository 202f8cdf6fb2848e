import type { ProspectLogReceipt, Store } from 'prospect-pages'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  addTenant,
  at,
  emailFields,
  idBefore,
  newId,
  sha256,
  someClaim,
  someLog,
  someProspect,
} from './rows.ts'
import { stoppedClock } from './setting.ts'

const SETTLE_MS = 90_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const ADA = 'ada@example.com'
const ON = new AbortController().signal

type Logged = Partial<ProspectLogReceipt> & { readonly kind: string }

const activityOf = (tenantId: string, fields: Partial<NewActivity>): NewActivity => {
  return { tenantId, source: 'crm', type: 'webhook', payload: { rawJson: '{}' }, ...fields }
}

export const erasures = section(
  'erasures',
  async ({ core, store, another, kept }) => {
    const clock = stoppedClock()
    const elsewhere = await another()
    const { tenantId } = await addTenant(store)
    const deps = { store, clock, newId: core.createNewId() }

    /** A process on a store: what callers and the eraser do there, with prospects remembered by a separate clock. */
    const processOn = (on: Store) => {
      let now = 0
      const remembered = core.rememberProspects(1_000, () => now)
      const world = { ...deps, store: on }
      const logAll = core.logProspectActivities({ ...world, remembered })
      return {
        remembered,
        pass: (ms: number) => (now += ms),
        /** The receipt, or the kind of the refusal. */
        log: async (fields: Partial<NewActivity>): Promise<Logged> => {
          const activity = activityOf(tenantId, fields)
          const [outcome] = await logAll([
            { ...activity, rememberedId: remembered.locate(activity).rememberedId },
          ])
          if (outcome instanceof core.DomainFailure) return { kind: outcome.kind }
          return { kind: 'logged', ...outcome?.receipt }
        },
        /** The erasure, or the kind of the refusal. */
        request: (fields: { prospectId?: string; email?: string; blockDays?: number }) =>
          core
            .requestErasure(world)({ blockDays: 30, ...fields, tenantId })
            .catch((why: { kind?: string }) => ({ kind: why.kind ?? String(why) })) as Promise<{
            kind?: string
            erasureId?: string
            prospectId?: string | null
          }>,
        work: async () => {
          const step = core.eraseProspects({ store: on, clock, settleMs: SETTLE_MS })
          while (await step(ON));
        },
        expire: async (retentionDays: number | null = null) => {
          const errors: unknown[] = []
          const onError = (error: unknown) => errors.push(error)
          const hooks = { onError, onPause: onError }
          const step = core.deleteExpired({ store: on, clock, retentionDays, eventDaysKept: 30, ...hooks })
          await on.erasures.saveClock({ servedAt: new Date(clock()).toISOString(), pausedAt: null })
          while (await step(ON));
          same(errors, [])
        },
      }
    }
    const here = processOn(store)
    const listed = async () =>
      (await store.erasures.list([{ tenantId, beforeId: null, limit: 100 }]))[0] ?? []
    const erasureOf = async ({ erasureId = '' }: { erasureId?: string }) =>
      store.erasures.find({ tenantId, erasureId })
    /** Both passes. */
    const complete = async () => {
      await here.work()
      clock.advance(SETTLE_MS)
      await here.work()
    }
    const all = async () => JSON.stringify([await kept(), await listed()])
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
      all,
    }
  },
  {
    'at once the prospect is a tombstone, and activities by its id or email are refused': async (given) => {
      const { here, there, tenantId, kept } = given
      const { prospectId } = await here.log({ email: ADA, name: 'Ada' })
      like(await there.request({ prospectId: String(prospectId) }), {
        prospectId,
        status: 'processing',
        requestedAt: at(0),
        completedAt: null,
        logsErased: 0,
      })
      here.remembered.forget()
      same(await here.log({ prospectId: String(prospectId) }), { kind: 'prospect_erased' })
      same(await here.log({ email: ` ${ADA.toUpperCase()}`, name: 'Ada' }), { kind: 'prospect_erased' })
      const { prospects, logs } = await kept()
      equal(logs.length, 1)
      for (const prospect of prospects) like(prospect, { tenantId, email: null, name: null })
      equal(prospects.find((prospect) => prospect.prospectId === prospectId)?.emailHash, null)
    },

    'all of its logs are deleted, and those of others with its email lose email and name': async (given) => {
      const { here, erasureOf, complete, kept, tenantId, store } = given
      const { prospectId = '' } = await here.log({ email: ADA, name: 'Ada' })
      const other = await here.log({ email: 'bob@example.com', name: 'Bob' })
      const idempotencyKey = 'one'
      await here.log({ prospectId: String(other.prospectId), email: ` ${ADA}`, name: 'Ada', idempotencyKey })
      const ada = { tenantId, prospectId }
      await store.activities.recordLogs(Array.from({ length: 1_001 }, () => someLog(ada)))
      const stranger = someProspect((await addTenant(store)).tenantId, emailFields(ADA))
      await store.activities.record({ prospects: [stranger], logs: [someLog(stranger, { email: ADA })] })
      const erasure = await here.request({ email: ADA })
      await complete()
      like(await erasureOf(erasure), { status: 'completed', prospectId, logsErased: 1_002, emailHash: null })
      like(await erasureOf(erasure), { completedAt: at(SETTLE_MS) })
      const key = { tenantId, source: 'crm', idempotencyKey }
      const { receipts } = await store.activities.recall({
        prospects: [],
        emails: [],
        externalIds: [],
        keys: [key],
      })
      equal(receipts.length, 1)
      ok(!JSON.stringify(receipts).includes(ADA), 'nor has the receipt the email')
      equal(receipts[0]?.requestHash, null, 'from which a guess could be confirmed')
      const retry = await here.log({ prospectId: String(other.prospectId), idempotencyKey })
      equal(retry.prospectLogId, receipts[0]?.prospectLogId)
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
        prospects.find((one) => one.prospectId === stranger.prospectId),
        { email: ADA },
      )
    },

    'it is completed only when no memory of the prospect can be left, and what was logged by one is deleted':
      async (given) => {
        const { here, there, clock, erasureOf, kept } = given
        const activity = { email: ADA, name: 'Ada' }
        for (let i = 0; i < 2; i++) await there.log(activity)
        const erasure = await here.request({ email: ADA })
        await here.work()
        equal((await kept()).logs.length, 0)
        equal((await there.log(activity)).kind, 'logged', 'it is still remembered')
        clock.advance(SETTLE_MS - 1)
        await here.work()
        like(await erasureOf(erasure), { status: 'processing', logsErased: 2 })
        there.pass(SETTLE_MS)
        same(await there.log(activity), { kind: 'prospect_erased' })
        clock.advance(1)
        await here.work()
        like(await erasureOf(erasure), { status: 'completed', logsErased: 3 })
        equal((await kept()).logs.length, 0)
      },

    'a process that is told forgets the prospect at once, and what it was just looking up': async (given) => {
      const { here } = given
      await here.log({ email: ADA })
      here.pass(5)
      here.remembered.forget()
      const prospect = someProspect('tenant', emailFields(ADA))
      here.remembered.add(
        { tenantId: 'tenant', email: ADA },
        { ...prospect, erasedAt: null, mergedInto: null },
        4,
      )
      equal(here.remembered.locate(activityOf('tenant', { email: ADA })).rememberedId, undefined)
    },

    'an activity that was looked up before an erasure and fills a blank is refused': async (given) => {
      const { here, processOn, store, kept } = given
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

    'equal requests at once, in two processes, are one erasure': async (given) => {
      const { here, there, listed, complete, tenantId, store } = given
      await here.log({ email: ADA })
      for (const email of [ADA, 'nobody@example.com']) {
        const requests = Array.from({ length: 10 }, (_, i) => (i % 2 ? here : there).request({ email }))
        const ids = (await Promise.all(requests)).map(({ erasureId, kind }) => erasureId ?? kind)
        equal(new Set(ids).size, 1, ids.join())
      }
      equal((await listed()).length, 2)
      const [first] = (await listed()).filter(({ prospectId }) => prospectId !== null)
      like(await here.request({ prospectId: String(first?.prospectId) }), { erasureId: first?.erasureId })
      const running = await store.erasures.find({ tenantId, emailHash: sha256(ADA) })
      equal(running?.erasureId, first?.erasureId)
      const erasedId = String(first?.prospectId)
      await complete()
      like(await store.erasures.find({ tenantId, erasedId }), {
        erasureId: first?.erasureId,
        status: 'completed',
      })
      equal(await store.erasures.find({ tenantId: 'stranger', erasedId }), null)
    },

    'an unknown prospect, one whose erasure is completed, and no person at all are refused': async (
      given,
    ) => {
      const { here, complete } = given
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

    'an email that no prospect has is blocked, and logs that carry it are cleaned': async (given) => {
      const { here, complete, kept, tenantId, store } = given
      const bob = someProspect(tenantId, emailFields('bob@example.com'))
      const log = someLog(bob, { email: ADA, name: 'Ada', prospectLogId: idBefore('prospectlog', 1) })
      await store.activities.record({ prospects: [bob], logs: [log] })
      like(await here.request({ email: ADA }), { prospectId: null, status: 'processing' })
      same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
      await complete()
      like((await kept()).logs, [{ email: null, name: null, prospectId: bob.prospectId }])
    },

    'a blocked email is refused for any prospect that the activity names, remembered or not': async (
      given,
    ) => {
      const { here, kept } = given
      const bob = await here.log({ email: 'bob@example.com' })
      const prospectId = String(bob.prospectId)
      await here.log({ prospectId })
      await here.request({ email: ADA })
      for (const email of [ADA, ` ${ADA}`]) {
        same(await here.log({ prospectId, email }), { kind: 'prospect_erased' })
        here.remembered.forget()
      }
      equal((await here.log({ prospectId, email: 'bob@example.com' })).kind, 'logged')
      equal((await kept()).logs.length, 3)
    },

    'a prospect without an email is erased, and nothing is blocked': async (given) => {
      const { here, erasureOf, complete, kept } = given
      const { prospectId } = await here.log({ name: 'Ada' })
      const erasure = await here.request({ prospectId: String(prospectId) })
      await complete()
      like(await erasureOf(erasure), { status: 'completed', logsErased: 1 })
      equal((await kept()).prospects.length, 1)
    },

    'a block ends after its days, and the person may return as a new prospect': async (given) => {
      const { here, complete, clock, kept } = given
      const { prospectId } = await here.log({ email: ADA })
      await here.request({ email: ADA, blockDays: 2 })
      here.remembered.forget()
      await complete()
      clock.advance(2 * DAY_MS - SETTLE_MS - 1)
      await here.expire()
      same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
      clock.advance(1)
      await here.expire()
      here.remembered.forget()
      const returned = await here.log({ email: ADA })
      like(returned, { createdProspect: true })
      ok(returned.prospectId !== prospectId)
      equal((await kept()).prospects.length, 2, 'nothing is left of the block')
    },

    'a second erasure of a blocked email extends its block, and never shortens it': async (given) => {
      const { here, complete, clock } = given
      await here.request({ email: ADA, blockDays: 2 })
      const { erasureId } = await here.request({ email: ADA, blockDays: 3 })
      await complete()
      clock.advance(HOUR_MS)
      const second = await here.request({ email: ADA, blockDays: 1 })
      ok(second.erasureId !== erasureId && second.kind === undefined)
      await complete()
      clock.advance(3 * DAY_MS - HOUR_MS - 2 * SETTLE_MS - 1)
      await here.expire()
      same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
      clock.advance(1)
      await here.expire()
      like(await here.log({ email: ADA }), { createdProspect: true })
    },

    'with no block days the email is blocked for an hour, so that the second pass takes nothing of a person who returned':
      async (given) => {
        const { here, complete, clock, kept } = given
        await here.log({ email: ADA })
        await here.request({ email: ADA, blockDays: 0 })
        here.remembered.forget()
        same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
        await complete()
        clock.advance(HOUR_MS - SETTLE_MS - 1)
        await here.expire()
        same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
        clock.advance(1)
        await here.expire()
        like(await here.log({ email: ADA }), { createdProspect: true })
        like((await kept()).logs, [{ email: ADA }])
      },

    'a block lasts as long as its erasure, so that a person who returns keeps email and name': async (
      given,
    ) => {
      const { here, complete, clock, kept } = given
      await here.log({ email: ADA, name: 'Ada' })
      await here.request({ email: ADA, blockDays: 0 })
      here.remembered.forget()
      clock.advance(HOUR_MS + 60_000)
      await here.expire()
      same(await here.log({ email: ADA, name: 'Ada' }), { kind: 'prospect_erased' })
      await complete()
      await here.expire()
      like(await here.log({ email: ADA, name: 'Ada' }), { createdProspect: true })
      await complete()
      like((await kept()).logs, [{ email: ADA, name: 'Ada' }])
    },

    'an erasure shows its block, which can be lifted: at once, or with the end of the erasure': async (
      given,
    ) => {
      const { here, complete, core, store, clock, tenantId } = given
      const { erasureId = '' } = await here.request({ email: ADA })
      const again = (await here.request({ email: ADA, blockDays: 40 })).erasureId
      const unblock = () => core.unblockErasure({ store, clock })({ tenantId, erasureId })
      const shown = () => core.getErasure({ store })({ tenantId, erasureId })
      equal(again, erasureId)
      like(await shown(), { blockedUntil: at(40 * DAY_MS), waitingFor: null })
      like(await unblock(), { status: 'processing', blockedUntil: at(0) })
      await here.expire()
      same(await here.log({ email: ADA }), { kind: 'prospect_erased' })
      await here.work()
      like(await shown(), { waitingFor: 'second_pass' })
      await complete()
      for (let i = 0; i < 2; i++)
        like(await unblock(), { status: 'completed', blockedUntil: null, waitingFor: null })
      like(await here.log({ email: ADA }), { createdProspect: true })
      const { erasureId: second } = await here.request({ email: ADA, blockDays: 1 })
      await complete()
      const { erasureId: third } = await here.request({ email: ADA, blockDays: 0 })
      for (const id of [second, third])
        like(await given.erasureOf({ erasureId: String(id) }), { blockedUntil: at(SETTLE_MS + DAY_MS) })
    },

    'all erasures of a tenant share a walk over its logs, and those that come later the next one': async (
      given,
    ) => {
      const { here, store, tenantId, listed, clock, core, kept } = given
      const bob = someProspect(tenantId)
      const emailOf = (n: number) => `person-${n}@example.com`
      for (let i = 0; i < 4; i++)
        await store.activities.recordLogs(
          Array.from({ length: 1_100 }, (_, n) => someLog(bob, n < 32 ? { email: emailOf(n) } : {})),
        )
      let rows = 0
      const namesAfter: Store['erasures']['namesAfter'] = async (...asked) => {
        const logs = await store.erasures.namesAfter(...asked)
        rows += logs.length
        return logs
      }
      const counted = { erasures: { ...store.erasures, namesAfter } }
      const step = core.eraseProspects({ store: counted, clock, settleMs: SETTLE_MS })
      await here.request({ email: emailOf(0) })
      for (let i = 0; i < 2; i++) await step(ON)
      for (let n = 1; n < 32; n++) await here.request({ email: emailOf(n) })
      while (await step(ON));
      equal(rows, 2 * 4_400)
      clock.advance(SETTLE_MS)
      while (await step(ON));
      ok(rows <= 3 * 4_400, `${rows}`)
      same(new Set((await listed()).map(({ status }) => status)), new Set(['completed']))
      same(new Set((await kept()).logs.map(({ email }) => email)), new Set([null]))
    },

    'the backlog is what is in progress, since the first request': async (given) => {
      const { here, store, clock, complete } = given
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
      given,
    ) => {
      const { here, complete, kept } = given
      const activity = { email: ADA, idempotencyKey: 'one' }
      const { prospectId } = await here.log(activity)
      await here.request({ email: ADA })
      for (let i = 0; i < 2; i++) {
        here.remembered.forget()
        same(await here.log(activity), { kind: 'prospect_erased' })
        same(await here.log({ ...activity, email: undefined, prospectId: String(prospectId) } as never), {
          kind: 'prospect_erased',
        })
        await complete()
      }
      equal((await kept()).logs.length, 0)
    },

    'an eraser that is killed at any moment leaves right counts, and another one completes': async (
      given,
    ) => {
      const { here, store, clock, tenantId, erasureOf, complete, kept, core } = given
      const { prospectId = '' } = await here.log({ email: ADA })
      await store.activities.recordLogs(
        Array.from({ length: 1_200 }, () => someLog({ tenantId, prospectId })),
      )
      const erasure = await here.request({ email: ADA })
      const killed = { ...store.erasures, settle: () => Promise.reject(new Error('killed')) }
      for (let i = 0; i < 2; i++) {
        const step = core.eraseProspects({ store: { erasures: killed }, clock, settleMs: SETTLE_MS })
        await step(ON).catch(() => {})
        clock.advance(20_000)
      }
      equal((await erasureOf(erasure))?.logsErased, 1_201 - (await kept()).logs.length)
      await complete()
      like(await erasureOf(erasure), { status: 'completed', logsErased: 1_201 })
    },

    'several erasers share the work, and no log is counted twice': async (given) => {
      const { here, there, store, tenantId, erasureOf, clock, kept } = given
      const { prospectId = '' } = await here.log({ email: ADA })
      await store.activities.recordLogs(
        Array.from({ length: 1_200 }, () => someLog({ tenantId, prospectId })),
      )
      const erasure = await here.request({ email: ADA })
      for (let pass = 0; pass < 2; pass++) {
        const claimed = await store.erasures.claim(someClaim({ until: at(0) }))
        const lists = [store, given.elsewhere].map(({ erasures }) =>
          Promise.all(claimed.map((one) => erasures.deleteLogs(one, 500).catch(() => 0))),
        )
        await Promise.all([...lists, here.work(), there.work()])
        // A claim skips an erasure that another process is just writing to.
        await here.work()
        clock.advance(SETTLE_MS)
      }
      await here.work()
      like(await erasureOf(erasure), { status: 'completed', logsErased: 1_201 })
      equal((await kept()).logs.length, 0)
    },

    'a step of an erasure that another eraser has claimed is not saved': async (given) => {
      const { here, store, tenantId, erasureOf } = given
      const erasure = await here.request({ email: ADA })
      const [first] = await store.erasures.claim(someClaim({ until: at(0) }))
      const [second] = await store.erasures.claim(someClaim())
      if (!first || !second) throw new Error('nothing was claimed')
      like(
        [first, second],
        [
          { attempt: 1, pass: 1, position: '' },
          { attempt: 2, emailHash: sha256(ADA) },
        ],
      )
      const completed = { status: 'completed', completedAt: at(6), claimableAt: at(6) } as const
      await store.erasures.settle(tenantId, [{ ...first, ...completed }])
      like(await erasureOf(erasure), { status: 'processing' })
      const step = { ...second, pass: 2, position: 'x', claimableAt: at(5) } as const
      await store.erasures.settle(tenantId, [step])
      same(await store.erasures.claim(someClaim({ now: at(4) })), [])
      const [third] = await store.erasures.claim(someClaim({ now: at(5) }))
      like(third, { attempt: 3, pass: 2, position: 'x', requestedAt: at(0) })
      if (third) await store.erasures.settle(tenantId, [{ ...third, ...completed }])
      like(await erasureOf(erasure), { status: 'completed', completedAt: at(6), emailHash: null })
      same(await store.erasures.claim(someClaim({ now: at(100) })), [])
    },

    'erasures are listed newest first, slice by slice': async ({ here, store, tenantId }) => {
      const ids: unknown[] = []
      for (const email of ['a@x', 'b@x', 'c@x']) ids.unshift((await here.request({ email })).erasureId)
      const slice = async (beforeId: string | null, limit: number) =>
        ((await store.erasures.list([{ tenantId, beforeId, limit }]))[0] ?? []).map(
          ({ erasureId }) => erasureId,
        )
      same(await slice(null, 10), ids)
      same((await slice(null, 1))[0], ids[0])
      same(await slice(String(ids[0]), 5), ids.slice(1))
    },

    'emails are read in lists that a process can hold': async ({ store, tenantId }) => {
      const bob = someProspect(tenantId)
      const email = 'x'.repeat(600_000)
      const logs = Array.from({ length: 5 }, () => someLog(bob, { email }))
      await store.activities.recordLogs(logs)
      const read = await store.erasures.namesAfter(tenantId, '', 100)
      ok(read.length >= 2 && read.length <= 3, `${read.length}`)
      const rest = await store.erasures.namesAfter(tenantId, String(logs[2]?.prospectLogId), 1)
      like(rest, [{ prospectLogId: logs[3]?.prospectLogId, email }])
    },

    'logs are deleted once they have been kept long enough, and their idempotency keys end with them': async (
      given,
    ) => {
      const { here, store, tenantId, clock, kept } = given
      const bob = someProspect(tenantId, emailFields('bob@example.com'))
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
      await store.activities.record({ prospects: [bob], logs: [10, 20, 30].map(oldLog) })
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

    'many old logs of many tenants are deleted in short lists, tenant by tenant': async (given) => {
      const { here, store, kept } = given
      for (let i = 0; i < 3; i++) {
        const one = someProspect((await addTenant(store)).tenantId)
        await store.activities.record({
          prospects: [one],
          logs: Array.from({ length: 600 }, () => someLog(one)),
        })
      }
      await here.expire(1)
      equal((await kept()).logs.length, 0)
    },

    'when the database was last served is known to every process, and so is a pause until it ends': async (
      given,
    ) => {
      const { store, elsewhere } = given
      equal(await elsewhere.erasures.lastServed(), null)
      for (const pausedAt of [null, at(9), null]) {
        await store.erasures.saveClock({ servedAt: at(1), pausedAt })
        same(await elsewhere.erasures.lastServed(), { servedAt: at(1), pausedAt })
      }
    },

    'several workers delete what has expired at once, and share it': async ({ here, there, store, kept }) => {
      const one = someProspect((await addTenant(store)).tenantId)
      const logs = Array.from({ length: 3_000 }, () => someLog(one))
      await store.activities.record({ prospects: [one], logs })
      await Promise.all([here, there, here, there].map((worker) => worker.expire(1)))
      equal((await kept()).logs.length, 0)
    },
  },
)
