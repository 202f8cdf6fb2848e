import type { FoundTimeline, Store, TimelineWant } from 'prospect-pages'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import { addTenant, at, emailFields, newId, someEndpoint, someLog, someProspect } from './rows.ts'
import { stoppedClock } from './setting.ts'

const SETTLE_MS = 90_000
const MERGED_MAX = 100
const DAY_MS = 86_400_000
const CLAIM = { now: at(0), until: at(20_000), horizon: at(1e12), afterTenantId: '' }
const ON = new AbortController().signal

export const merges = section(
  'merges',
  async ({ core, store, another, kept }) => {
    const clock = stoppedClock()
    const { tenantId } = await addTenant(store)
    await store.webhooks.add(someEndpoint(tenantId))
    const deps = { store, clock, newId: core.createNewId() }

    /** A process on a store: what callers do there, with prospects remembered. */
    const processOn = (on: Store) => {
      const remembered = core.rememberProspects(1_000, () => 0)
      const world = { ...deps, store: on }
      const logAll = core.logProspectActivities({ ...world, remembered })
      const kindOf = (why: { kind?: string }) => ({ kind: why.kind ?? String(why) })
      return {
        remembered,
        log: async (fields: Partial<NewActivity>) => {
          const activity = { tenantId, source: 'crm', type: 'webhook', payload: { rawJson: '{}' }, ...fields }
          const [outcome] = await logAll([
            { ...activity, rememberedId: remembered.locate(activity).rememberedId },
          ])
          if (outcome === undefined || outcome instanceof core.DomainFailure) throw outcome
          return { ...outcome.receipt, replayed: outcome.replayed }
        },
        merge: (prospectId: string, into: string) =>
          core.mergeProspect({ ...world, remembered })({ tenantId, prospectId, into }),
        /** The survivor, or the kind of the refusal. */
        tryMerge: (prospectId: string, into: string): Promise<{ kind?: string; prospectId?: string }> =>
          core
            .mergeProspect({ ...world, remembered })({ tenantId, prospectId, into })
            .catch(kindOf),
        correct: (prospectId: string, changes: { email?: string | null; name?: string }) =>
          core
            .updateProspect({ ...world, remembered })({ tenantId, prospectId, ...changes })
            .catch(kindOf),
        erase: (fields: { prospectId?: string; email?: string; blockDays?: number }) =>
          core
            .requestErasure(world)({ tenantId, blockDays: 30, ...fields })
            .catch(kindOf),
      }
    }
    const here = processOn(store)
    const moving = (on: Store = store) => core.moveMerged({ ...deps, store: on, settleMs: SETTLE_MS })
    const work = async () => {
      const step = moving()
      while (await step(ON));
    }
    const eraseAll = async () => {
      const step = core.eraseProspects({ store, clock, settleMs: SETTLE_MS })
      for (let pass = 0; pass < 2; pass++) {
        while (await step(ON));
        clock.advance(SETTLE_MS)
      }
      while (await step(ON));
    }
    /** A prospect with an email of this name and so many logs, one each millisecond from a time on. */
    const person = async (name: string, logs = 0, from = 0) => {
      const prospect = someProspect(tenantId, { ...emailFields(`${name}@x`), name })
      const all = Array.from({ length: logs }, (_, i) =>
        someLog(prospect, { occurredAt: at(from + i * 10_000) }),
      )
      await store.activities.record({ prospects: [prospect], logs: all })
      return { ...prospect, logIds: all.map(({ prospectLogId }) => prospectLogId) }
    }
    const read = async (prospectId: string) => {
      const [found] = await core.getProspects({ store })([{ tenantId, prospectId }])
      return found instanceof core.DomainFailure ? { kind: found.kind } : found
    }
    /** The ids of a whole timeline, slice by slice. */
    const timelineOf = async (prospectId: string, on: Store = store, limit = 3) => {
      const ids: string[] = []
      for (let cursor: string | undefined; ; ) {
        const [slice] = await core.listTimelines({ store: on })([{ tenantId, prospectId, limit, cursor }])
        if (slice === undefined || slice instanceof core.DomainFailure) throw slice
        ids.push(...slice.items.map(({ prospectLogId }) => prospectLogId))
        if (!slice.hasMore) return ids
        cursor = slice.nextCursor
      }
    }
    const mergedEvents = async () => {
      while ((await store.events.number({ tenantId, now: at(0), max: 100 })) > 0);
      const { rows } = await store.events.list({ tenantId, afterSequence: 0, limit: 1_000 })
      return rows.filter(({ type }) => type === 'prospect.merged').map(({ ids }) => ids)
    }
    const owners = async () => new Set((await kept()).logs.map(({ prospectId }) => prospectId))
    return {
      ...{
        clock,
        tenantId,
        deps,
        here,
        there: processOn(await another()),
        processOn,
        moving,
        work,
        eraseAll,
      },
      ...{ person, read, timelineOf, mergedEvents, owners },
    }
  },
  {
    'at once the merged id and all that names it lead to the survivor, whose blanks they fill': async (
      given,
    ) => {
      const { here, there, tenantId, read, store, kept, core } = given
      const one = await here.log({ email: 'ada@x', externalId: 'A-1', name: 'Ada' })
      const two = await here.log({ email: 'countess@x' })
      const survivor = await there.merge(one.prospectId, two.prospectId)
      like(survivor, { prospectId: two.prospectId, email: 'countess@x', externalId: 'A-1', name: 'Ada' })
      here.remembered.forget()
      for (const named of [{ prospectId: one.prospectId }, { email: ' ADA@x' }, { externalId: 'A-1' }])
        equal((await here.log(named)).prospectId, two.prospectId)
      same(await read(one.prospectId), await read(two.prospectId))
      like(await read(one.prospectId), { prospectId: two.prospectId, email: 'countess@x' })
      for (const email of ['ada@x', 'countess@x', undefined]) {
        const [list] = await core.listProspects({ store })([{ tenantId, email, limit: 10 }])
        same(list instanceof Error ? list : list?.items.map(({ prospectId }) => prospectId), [two.prospectId])
      }
      for (const search of ['ada@', 'counte', 'ADA', 'a', 'co'])
        like((await core.listProspects({ store })([{ tenantId, search, limit: 10 }]))[0], {
          items: [{ prospectId: two.prospectId }],
          hasMore: false,
        })
      equal((await kept()).prospects.length, 2)
    },

    'the survivor keeps what it has, and a merged prospect keeps nothing but what names the survivor':
      async ({ here, person, kept }) => {
        const [one, two] = [await person('ada'), await person('grace')]
        like(await here.merge(one.prospectId, two.prospectId), { email: 'grace@x', name: 'grace' })
        const merged = (await kept()).prospects.find(({ prospectId }) => prospectId === one.prospectId)
        like(merged, { email: 'ada@x', name: null })
      },

    'logs that come after a merge or an erasure was completed are swept to its end': async (given) => {
      const { here, person, timelineOf, work, eraseAll, clock, store, tenantId, owners, core } = given
      const [one, two, gone] = [await person('ada'), await person('grace', 1), await person('gone', 2)]
      const left = await person('left', 1)
      const erase = () => here.erase({ prospectId: gone.prospectId }) as Promise<{ erasureId: string }>
      await here.merge(one.prospectId, two.prospectId)
      const { erasureId } = await erase()
      await work()
      clock.advance(SETTLE_MS)
      await work()
      await eraseAll()
      const late = Array.from({ length: 3 }, () => someLog(one))
      await store.activities.recordLogs([...late, someLog(gone), someLog(gone)])
      let laterMs = 0
      // Which erasures and merges are recent is told by their ids.
      const sweptAt = () => Date.now() + laterMs
      const step = core.sweepLateLogs({ store, clock: sweptAt, onError: (error) => equal(error, null) })
      const sweep = async () => {
        while (await step(ON));
      }
      await sweep()
      same(await owners(), new Set([two.prospectId, left.prospectId]))
      equal((await timelineOf(two.prospectId)).length, 4)
      like(await store.erasures.find({ tenantId, erasureId }), { status: 'completed', logsErased: 4 })
      await here.erase({ prospectId: two.prospectId })
      await eraseAll()
      await store.activities.recordLogs(late)
      await sweep()
      // They followed to the other one, and were deleted.
      same(await owners(), new Set([left.prospectId]))
      laterMs = 9 * DAY_MS
      await store.activities.recordLogs([someLog(gone)])
      await sweep()
      // Older erasures are not looked at.
      ok((await owners()).has(gone.prospectId))
    },

    'each activity is shown exactly once, in order, whenever a timeline is read while they move': async (
      given,
    ) => {
      const { here, person, timelineOf, clock, store, moving, owners } = given
      const [one, two] = [await person('ada', 5, 0), await person('grace', 4, 5_000)]
      const all = [4, 13, 3, 12, 2, 11, 1, 10, 0].map((i) => [...one.logIds, ...Array(5), ...two.logIds][i])
      await here.merge(one.prospectId, two.prospectId)
      const slowly = {
        ...store,
        merges: {
          ...store.merges,
          moveLogs: (merge: Parameters<Store['merges']['moveLogs']>[0]) => store.merges.moveLogs(merge, 1),
        },
      }
      const step = moving(slowly)
      /** A reader beside which one log moves after each read. */
      const timeline = async (wants: readonly TimelineWant[]) => {
        const found = await store.prospectLogs.timeline(wants)
        await step(ON)
        return found
      }
      const disturbed = { ...store, prospectLogs: { ...store.prospectLogs, timeline } }
      for (let i = 0; i < 4; i++) {
        same(await timelineOf(i % 2 ? one.prospectId : two.prospectId), all)
        same(await timelineOf(two.prospectId, i === 0 ? store : disturbed, 2 + i), all)
        await step(ON)
      }
      clock.advance(SETTLE_MS)
      while (await step(ON));
      same(await timelineOf(one.prospectId), all)
      same(await owners(), new Set([two.prospectId]))
    },

    'a slice that stops at a rare filter, or is full of large texts, loses nothing of any of them': async (
      given,
    ) => {
      const { here, person, timelineOf, store } = given
      const [one, two] = [await person('ada'), await person('grace')]
      const large = (owner: typeof one, ms: number) =>
        someLog(owner, {
          occurredAt: at(ms),
          payload: { rawJson: JSON.stringify({ é: 'é'.repeat(200_000) }) },
        })
      const logs = Array.from({ length: 8 }, (_, i) => large(i % 3 ? one : two, i * 10_000))
      for (const log of logs) await store.activities.record({ prospects: [], logs: [log] })
      await here.merge(one.prospectId, two.prospectId)
      const ids = logs.map(({ prospectLogId }) => prospectLogId).toReversed()
      same(await timelineOf(two.prospectId, store, 100), ids)
      /** As a store that looks at one row for each slice. */
      const timeline = async (wants: readonly TimelineWant[]) =>
        (await store.prospectLogs.timeline(wants)).map((found): FoundTimeline => {
          if (typeof found === 'string' || found instanceof Error) throw found
          const [first] = found.rows
          return first === undefined ? found : { ...found, rows: [first], resume: first.occurredAt }
        })
      const impatient = { ...store, prospectLogs: { ...store.prospectLogs, timeline } }
      same(await timelineOf(two.prospectId, impatient, 100), ids)
    },

    'what is logged by one who still remembers the merged prospect moves too, and then there is one event':
      async (given) => {
        const { here, there, work, clock, timelineOf, mergedEvents, owners } = given
        const [one, two] = [await here.log({ email: 'ada@x' }), await here.log({ email: 'grace@x' })]
        await there.log({ email: 'ada@x' })
        await here.merge(one.prospectId, two.prospectId)
        await work()
        const late = await there.log({ email: 'ada@x' })
        equal(late.prospectId, one.prospectId, 'it is still remembered')
        equal((await timelineOf(two.prospectId)).length, 4)
        clock.advance(SETTLE_MS - 1)
        await work()
        same(await mergedEvents(), [])
        clock.advance(1)
        for (let i = 0; i < 2; i++) await work()
        same(await mergedEvents(), [{ prospectId: one.prospectId, intoProspectId: two.prospectId }])
        same(await owners(), new Set([two.prospectId]))
        equal((await timelineOf(one.prospectId)).length, 4)
      },

    'an activity that was looked up before the merge, and fills a blank, is logged for the survivor': async (
      given,
    ) => {
      const { here, processOn, person, store } = given
      const [one, two] = [await here.log({ email: 'ada@x' }), await person('grace')]
      let isFirst = true
      const recall: Store['activities']['recall'] = async (wants) => {
        const known = await store.activities.recall(wants)
        if (isFirst) {
          isFirst = false
          await here.merge(one.prospectId, two.prospectId)
        }
        return known
      }
      const late = processOn({ ...store, activities: { ...store.activities, recall } })
      equal((await late.log({ email: 'ada@x', name: 'Ada' })).prospectId, two.prospectId)
    },

    'of two merges in a circle at once one is made, and the other prospect is the same by then': async (
      given,
    ) => {
      const { here, there, person, read } = given
      for (let i = 0; i < 5; i++) {
        const [one, two] = [await person(`ada${i}`), await person(`grace${i}`)]
        const results = await Promise.all([
          here.tryMerge(one.prospectId, two.prospectId),
          there.tryMerge(two.prospectId, one.prospectId),
        ])
        same(results.map(({ kind }) => kind ?? 'merged').sort(), ['invalid_request', 'merged'])
        same(await read(one.prospectId), await read(two.prospectId))
      }
    },

    'merges of many into one, and of that one into another, all at once, make one person': async (given) => {
      const { here, there, person, read, work, clock, timelineOf, mergedEvents } = given
      const people = await Promise.all(Array.from({ length: 6 }, (_, i) => person(`p${i}`, 3, i)))
      const [first, ...others] = people.map(({ prospectId }) => prospectId) as [string, ...string[]]
      const results = await Promise.all([
        ...others.map((id, i) => (i % 2 ? here : there).tryMerge(i % 3 ? id : first, i % 3 ? first : id)),
      ])
      ok(results.every(({ kind }) => kind === undefined || kind === 'invalid_request'))
      for (const id of others) await here.tryMerge(id, first)
      const survivors = await Promise.all(people.map(({ prospectId }) => read(prospectId)))
      equal(new Set(survivors.map((one) => JSON.stringify(one))).size, 1)
      for (let i = 0; i < 2; i++) {
        equal(new Set(await timelineOf(first)).size, 18)
        await work()
        clock.advance(SETTLE_MS)
      }
      await work()
      equal((await timelineOf(first)).length, 18)
      equal((await mergedEvents()).length, 5)
    },

    'a merge that a worker holds leads on when its survivor is merged, and moves no more there': async (
      given,
    ) => {
      const { here, person, work, clock, store, owners, timelineOf, mergedEvents } = given
      const [a, b, c] = [await person('a', 3), await person('b', 3), await person('c', 3)]
      await here.merge(a.prospectId, b.prospectId)
      const [claimed] = await store.merges.claim({ ...CLAIM, max: 1 })
      ok(claimed)
      equal(await store.merges.moveLogs(claimed, 1), 1)
      await here.merge(b.prospectId, c.prospectId)
      equal(await store.merges.moveLogs(claimed, 1), 0)
      const step = { ...claimed, claimableAt: at(0), completedAt: at(0) }
      equal(await store.merges.settle(step), 'overtaken')
      equal((await timelineOf(a.prospectId)).length, 9)
      for (let i = 0; i < 2; i++) {
        await work()
        clock.advance(SETTLE_MS)
      }
      await work()
      same(await owners(), new Set([c.prospectId]))
      same(
        (await mergedEvents()).map(({ prospectId }) => prospectId).toSorted(),
        [a.prospectId, b.prospectId].toSorted(),
      )
      like(await mergedEvents(), [{ intoProspectId: c.prospectId }, { intoProspectId: c.prospectId }])
    },

    'a merge can be repeated; into itself, of nobody and into nobody it is refused': async (given) => {
      const { here, person, kept } = given
      const [one, two] = [await person('ada'), await person('grace')]
      const survivor = await here.merge(one.prospectId, two.prospectId)
      const before = await kept()
      same(await here.merge(one.prospectId, two.prospectId), survivor)
      same(await kept(), before)
      for (const [from, into] of [
        [two, two],
        [two, one],
        [one, one],
      ] as const)
        same(await here.tryMerge(from.prospectId, into.prospectId), { kind: 'invalid_request' })
      for (const [from, into] of [
        [one.prospectId, newId('prospect')],
        [newId('prospect'), two.prospectId],
      ] as const)
        same(await here.tryMerge(from, into), { kind: 'prospect_not_found' })
    },

    'at most a hundred prospects become one': async (given) => {
      const { here, there, person } = given
      const one = await person('ada')
      for (let i = 0; i < MERGED_MAX - 1; i++)
        await here.merge((await person(`p${i}`)).prospectId, one.prospectId)
      const results = await Promise.all([
        here.tryMerge((await person('last')).prospectId, one.prospectId),
        there.tryMerge((await person('over')).prospectId, one.prospectId),
      ])
      same(results.map(({ kind }) => kind ?? 'merged').sort(), ['limit_reached', 'merged'])
      same(await here.tryMerge(one.prospectId, (await person('new')).prospectId), { kind: 'limit_reached' })
    },

    'a correction reaches the survivor, which may take the email of what was merged into it': async (
      given,
    ) => {
      const { here, person, read, kept } = given
      const [one, two, other] = [await person('ada'), await person('grace'), await person('eve')]
      await here.merge(one.prospectId, two.prospectId)
      like(await here.correct(one.prospectId, { name: 'Countess' }), {
        prospectId: two.prospectId,
        name: 'Countess',
      })
      like(await here.correct(two.prospectId, { email: 'ada@x' }), { email: 'ada@x' })
      like(await read(one.prospectId), { prospectId: two.prospectId, email: 'ada@x', name: 'Countess' })
      ok(!(await kept()).prospects.some(({ email }) => email === 'grace@x'), 'the email is free')
      const three = await person('grace')
      await here.merge(three.prospectId, two.prospectId)
      like(await here.correct(other.prospectId, { email: 'grace@x' }), { kind: 'email_taken' })
    },

    'a replay of a key names the prospect that has the activity now': async (given) => {
      const { here, person, work } = given
      const activity = { email: 'ada@x', idempotencyKey: 'one' }
      const first = await here.log(activity)
      const two = await person('grace')
      await here.merge(first.prospectId, two.prospectId)
      await work()
      const { prospectLogId, createdAt } = first
      here.remembered.forget()
      like(await here.log(activity), { replayed: true, prospectLogId, createdAt, prospectId: two.prospectId })
    },

    'retention deletes what moves as well, and the merge is completed': async (given) => {
      const { here, person, work, clock, store, mergedEvents, timelineOf, tenantId } = given
      const [one, two] = [await person('ada', 3), await person('grace', 3, 100_000)]
      await here.merge(one.prospectId, two.prospectId)
      await store.erasures.expire({ tenantId, now: at(0), beforeLogId: one.logIds[2] ?? '', max: 10 })
      same(await timelineOf(two.prospectId), [...two.logIds.toReversed(), one.logIds[2]])
      for (let i = 0; i < 2; i++) {
        await work()
        clock.advance(SETTLE_MS)
      }
      await work()
      equal((await mergedEvents()).length, 1)
      equal((await timelineOf(one.prospectId)).length, 4)
    },

    'an erasure of any of them erases all, and blocks what named any of them, until all of it is done':
      async (given) => {
        const { here, there, person, work, read, store, kept, eraseAll, tenantId, clock, core } = given
        const [one, two, three] = [await person('ada', 3), await person('grace', 3), await person('eve', 2)]
        await there.log({ email: 'ada@x' })
        const { prospectId: otherId } = await here.log({ email: 'bob@x', name: 'Bob' })
        await here.log({ prospectId: otherId, email: 'ada@x', name: 'ada' })
        await here.merge(one.prospectId, two.prospectId)
        await here.merge(three.prospectId, two.prospectId)
        const [claimed] = await store.merges.claim({ ...CLAIM, max: 1 })
        ok(claimed)
        await store.merges.moveLogs(claimed, 1)
        const erasure = await here.erase({ prospectId: one.prospectId })
        like(erasure, { status: 'processing', prospectId: two.prospectId })
        equal(await store.merges.moveLogs(claimed, 1), 0)
        const all = [one, two, three]
        for (const { prospectId } of all) like(await read(prospectId), { kind: 'prospect_erased' })
        here.remembered.forget()
        for (const { email, prospectId } of all)
          for (const named of [{ email: String(email) }, { prospectId }])
            same(await here.log(named).catch(({ kind }) => kind), 'prospect_erased')
        same(await here.tryMerge(one.prospectId, otherId), { kind: 'prospect_erased' })
        same(await here.tryMerge(otherId, one.prospectId), { kind: 'prospect_erased' })
        for (const fields of [{ email: 'eve@x' }, { prospectId: three.prospectId }, { email: 'grace@x' }])
          same(await here.erase(fields), erasure)
        await there.log({ email: 'ada@x' })
        await eraseAll()
        const [listed] = await store.erasures.list([{ tenantId, beforeId: null, limit: 10 }])
        equal(listed?.length, 1)
        like(listed?.[0], { status: 'completed', logsErased: 10, prospectId: two.prospectId })
        const left = JSON.stringify(await kept())
        ok(!/(ada|grace|eve)@|"name":"(ada|grace|eve)/.test(left), left)
        equal((await kept()).logs.length, 2)
        await work()
        equal((await store.merges.backlog(10)).count, 0)
        await core.unblockErasure({ store, clock })({ tenantId, erasureId: String(listed?.[0]?.erasureId) })
        for (const { email } of all) like(await here.log({ email: String(email) }), { createdProspect: true })
      },

    'a longer block holds for all that named the person': async (given) => {
      const { here, person, store, tenantId } = given
      const [one, two] = [await person('ada'), await person('grace')]
      await here.merge(one.prospectId, two.prospectId)
      await here.erase({ email: 'grace@x' })
      await here.erase({ email: 'ada@x', blockDays: 60 })
      await store.erasures.expire({ tenantId, now: at(40 * DAY_MS), beforeLogId: null, max: 10 })
      here.remembered.forget()
      for (const email of ['ada@x', 'grace@x'])
        same(await here.log({ email }).catch(({ kind }) => kind), 'prospect_erased')
    },

    'an erasure that is requested while its person is merged leaves nothing of either': async (given) => {
      const { here, processOn, person, store, kept, eraseAll, read } = given
      for (const isErasedFirst of [true, false]) {
        const [one, two] = [await person('ada', 2), await person('grace', 2)]
        let isFirst = true
        const during = async () => {
          if (!isFirst) return
          isFirst = false
          if (isErasedFirst) await here.erase({ prospectId: two.prospectId })
          else await here.merge(one.prospectId, two.prospectId)
        }
        const findWithMerged: Store['prospects']['findWithMerged'] = async (want) => {
          const found = await store.prospects.findWithMerged(want)
          await during()
          return found
        }
        const late = processOn({ ...store, prospects: { ...store.prospects, findWithMerged } })
        if (isErasedFirst) {
          same(await late.tryMerge(one.prospectId, two.prospectId), { kind: 'prospect_erased' })
          like(await read(one.prospectId), { email: 'ada@x' })
          await here.erase({ prospectId: one.prospectId })
        } else like(await late.erase({ prospectId: two.prospectId }), { prospectId: two.prospectId })
        await eraseAll()
        const { prospects, logs } = await kept()
        same([logs.length, prospects.filter(({ email, name }) => email ?? name)], [0, []])
        await store.erasures.expire({ tenantId: one.tenantId, now: at(1e12), beforeLogId: null, max: 10 })
      }
    },
  },
)
