import type {
  FoundProspect,
  FoundTimeline,
  Identifier,
  Moments,
  Store,
  TimelineRowsQuery,
} from 'prospect-pages/store'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { untilCompleted } from './completed.ts'
import { section } from './contract.ts'
import {
  addTenant,
  at,
  emailIdentifier,
  fillOf,
  foundProspect,
  identifiersOf,
  newId,
  readEach,
  recordAll,
  someEndpoint,
  someErasure,
  someLog,
  someProspect,
} from './rows.ts'
import { stoppedClock } from './setting.ts'

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
      const world = { ...deps, store: on }
      const activities = core.remembering(on.activities, 1_000)
      const logAny = core.logProspectActivity({ ...deps, store: { activities } })
      const kindOf = (why: { kind?: string }) => ({ kind: why.kind ?? String(why) })
      return {
        log: async (fields: Partial<NewActivity>) => {
          const activity = { tenantId, source: 'crm', type: 'webhook', payload: { rawJson: '{}' }, ...fields }
          const { value: receipt, replayed } = await logAny(activity)
          return { ...receipt, replayed }
        },
        merge: async (prospectId: string, into: string) =>
          (await core.mergeProspect(world)({ tenantId, prospectId, into })).value,
        /** The survivor, or the kind of the refusal. */
        tryMerge: (prospectId: string, into: string): Promise<{ kind?: string; prospectId?: string }> =>
          core
            .mergeProspect(world)({ tenantId, prospectId, into })
            .then(({ value }) => value, kindOf),
        correct: (prospectId: string, changes: { email?: string | null; name?: string }) =>
          core
            .updateProspect(world)({ tenantId, prospectId, ...changes })
            .then(({ value }) => value, kindOf),
        erase: (fields: { prospectId?: string; email?: string; blockDays?: number }) =>
          core
            .requestErasure(world)({ tenantId, blockDays: 30, ...fields })
            .then(({ value }) => value, kindOf),
      }
    }
    const here = processOn(store)
    const moving = (on: Pick<Store, 'merges' | 'moments'> = store) => core.moveMerged({ ...deps, store: on })
    const work = async (on: Pick<Store, 'merges' | 'moments'> = store) => {
      const step = moving(on)
      while (await step(ON));
    }
    /** Both passes of all merges. */
    const complete = () => untilCompleted(store.merges, clock, work)
    const eraseAll = () => {
      const step = core.eraseProspects({ store, clock })
      return untilCompleted(store.erasures, clock, async () => {
        while (await step(ON));
      })
    }
    /** A prospect with an email of this name and so many logs, one each millisecond from a time on. */
    const person = async (name: string, logs = 0, from = 0) => {
      const prospect = someProspect(tenantId, { email: `${name}@x`, name })
      const all = Array.from({ length: logs }, (_, i) =>
        someLog(prospect, { occurredAt: at(from + i * 10_000) }),
      )
      await recordAll(store.activities, [prospect], all)
      return { ...prospect, logIds: all.map(({ prospectLogId }) => prospectLogId) }
    }
    const read = async (prospectId: string) => {
      const found = core.getProspect({ store })({ tenantId, prospectId })
      return found.then(
        ({ value }) => value,
        (why: unknown) => {
          if (why instanceof core.DomainFailure) return { kind: why.kind }
          throw why
        },
      )
    }
    /** The ids of a whole timeline, slice by slice. */
    const timelineOf = async (prospectId: string, on: Store = store, limit = 3) => {
      const ids: string[] = []
      for (let cursor: string | undefined; ; ) {
        const list = core.listTimeline({ store: on })
        const { value: slice } = await list({ tenantId, prospectId, limit, cursor })
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
    /** The changes that merge one prospect into another, which keeps its fields. */
    const mergeOf = (before: FoundProspect, survivor: FoundProspect) => {
      const prospectId = before.prospectId
      const intoId = survivor.prospectId
      return {
        merge: { tenantId, mergeId: newId('merge'), prospectId, intoId, requestedAt: at(1) },
        merged: { before, after: { ...before, name: null, mergedInto: intoId, updatedAt: at(1) } },
        survivor: { before: survivor, after: { ...survivor, updatedAt: at(1) } },
      }
    }
    /** Where these lead: to a prospect, or to the erasure that blocks them; undefined if neither. */
    const leadsOf = async (...identifiers: readonly Identifier[]) => {
      const known = await readEach(
        store.activities.recall,
        identifiers.map((identifier) => ({ tenantId: identifier.tenantId, identifiers: [identifier] })),
      )
      return known.map(({ identifiers: [found] }) => found?.prospectId ?? found?.erasureId)
    }
    return {
      clock,
      tenantId,
      deps,
      here,
      elsewhere: await another(),
      there: processOn(await another()),
      processOn,
      moving,
      work,
      complete,
      eraseAll,
      person,
      read,
      timelineOf,
      mergedEvents,
      owners,
      mergeOf,
      leadsOf,
    }
  },
  {
    'at once the merged id and all that names it lead to the survivor, whose blanks they fill': async (
      scene,
    ) => {
      const { here, there, tenantId, read, store, kept, core } = scene
      const one = await here.log({ email: 'ada@x', externalId: 'A-1', name: 'Ada' })
      const two = await here.log({ email: 'countess@x' })
      const survivor = await there.merge(one.prospectId, two.prospectId)
      like(survivor, { prospectId: two.prospectId, email: 'countess@x', externalId: 'A-1', name: 'Ada' })
      for (const named of [{ prospectId: one.prospectId }, { email: ' ADA@x' }, { externalId: 'A-1' }])
        equal((await here.log(named)).prospectId, two.prospectId)
      same(await read(one.prospectId), await read(two.prospectId))
      like(await read(one.prospectId), { prospectId: two.prospectId, email: 'countess@x' })
      for (const email of ['ada@x', 'countess@x', undefined]) {
        const { items } = (await core.listProspects({ store })({ tenantId, email, limit: 10 })).value
        same(
          items.map(({ prospectId }) => prospectId),
          [two.prospectId],
        )
      }
      for (const search of ['ada@', 'counte', 'ADA', 'a', 'co'])
        like(await core.listProspects({ store })({ tenantId, search, limit: 10 }), {
          value: { items: [{ prospectId: two.prospectId }], hasMore: false },
        })
      equal((await kept()).prospects.length, 2)
    },

    'the survivor keeps what it has, and a merged prospect keeps nothing but what names the survivor':
      async ({ here, person, kept }) => {
        const one = await person('ada')
        const two = await person('grace')
        like(await here.merge(one.prospectId, two.prospectId), { email: 'grace@x', name: 'grace' })
        const merged = (await kept()).prospects.find(({ prospectId }) => prospectId === one.prospectId)
        like(merged, { email: 'ada@x', name: null })
      },

    'logs that are left when a merge or an erasure is completed are swept to its end': async (scene) => {
      const { here, person, timelineOf, clock, store, tenantId, owners, core } = scene
      const one = await person('ada', 3)
      const two = await person('grace', 1)
      const gone = await person('gone', 2)
      const left = await person('left', 1)
      await here.merge(one.prospectId, two.prospectId)
      const { erasureId } = (await here.erase({ prospectId: gone.prospectId })) as { erasureId: string }
      /** As if their logs had become visible only now. */
      const end = async () => {
        const now = new Date(clock()).toISOString()
        const completed = { completedAt: now, claimableAt: now }
        for (const merge of await store.merges.claim({ ...CLAIM, max: 10 }))
          equal(await store.merges.settle({ ...merge, ...completed }), 'recorded')
        const erasing = await store.erasures.claim({ ...CLAIM, max: 10 })
        const steps = erasing.map((step) => ({ ...step, ...completed, status: 'completed' as const }))
        await store.erasures.settle(tenantId, steps)
      }
      await end()
      same(await owners(), new Set([one, two, gone, left].map(({ prospectId }) => prospectId)))
      let laterMs = 0
      // The ids of erasures and merges tell which are recent.
      const sweptAt = () => Date.now() + laterMs
      const step = core.sweepLateLogs({ store, clock: sweptAt, onError: (error) => equal(error, null) })
      const sweep = async () => {
        while (await step(ON));
      }
      await sweep()
      same(await owners(), new Set([two.prospectId, left.prospectId]))
      equal((await timelineOf(two.prospectId)).length, 4)
      like(await store.erasures.find({ tenantId, erasureId }), { status: 'completed', logsErased: 2 })
      await here.erase({ prospectId: left.prospectId })
      await end()
      laterMs = 9 * DAY_MS
      await sweep()
      // Older erasures are not looked at.
      ok((await owners()).has(left.prospectId))
      laterMs = 0
      await sweep()
      same(await owners(), new Set([two.prospectId]))
    },

    'each activity is shown exactly once, in order, whenever a timeline is read while they move': async (
      scene,
    ) => {
      const { here, person, timelineOf, clock, store, moving, owners } = scene
      const one = await person('ada', 5, 0)
      const two = await person('grace', 4, 5_000)
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
      const timeline = async (want: TimelineRowsQuery) => {
        const found = await store.prospectLogs.timeline(want)
        await step(ON)
        return found
      }
      const disturbed = { ...store, prospectLogs: { ...store.prospectLogs, timeline } }
      for (let i = 0; i < 4; i++) {
        same(await timelineOf(i % 2 ? one.prospectId : two.prospectId), all)
        same(await timelineOf(two.prospectId, i === 0 ? store : disturbed, 2 + i), all)
        await step(ON)
      }
      await untilCompleted(store.merges, clock, async () => {
        while (await step(ON));
      })
      same(await timelineOf(one.prospectId), all)
      same(await owners(), new Set([two.prospectId]))
    },

    'a slice that stops at a rare filter, or is full of large texts, loses nothing of any of them': async (
      scene,
    ) => {
      const { here, person, timelineOf, store } = scene
      const one = await person('ada')
      const two = await person('grace')
      const large = (owner: typeof one, ms: number) =>
        someLog(owner, {
          occurredAt: at(ms),
          payload: { rawJson: JSON.stringify({ é: 'é'.repeat(200_000) }) },
        })
      const logs = Array.from({ length: 8 }, (_, i) => large(i % 3 ? one : two, i * 10_000))
      for (const log of logs) await recordAll(store.activities, [], [log])
      await here.merge(one.prospectId, two.prospectId)
      const ids = logs.map(({ prospectLogId }) => prospectLogId).toReversed()
      same(await timelineOf(two.prospectId, store, 100), ids)
      /** As a store that looks at one row for each slice. */
      const timeline = async (want: TimelineRowsQuery): Promise<FoundTimeline> => {
        const found = await store.prospectLogs.timeline(want)
        if (typeof found === 'string') throw found
        const [first] = found.rows
        return first === undefined ? found : { ...found, rows: [first], resume: first.occurredAt }
      }
      const impatient = { ...store, prospectLogs: { ...store.prospectLogs, timeline } }
      same(await timelineOf(two.prospectId, impatient, 100), ids)
    },

    'a process that remembers the merged prospect logs for the survivor at once': async (scene) => {
      const { here, there, timelineOf } = scene
      const one = await here.log({ email: 'ada@x' })
      const two = await here.log({ email: 'grace@x' })
      for (const fields of [{ email: 'ada@x' }, { prospectId: one.prospectId }])
        for (const process of [here, there]) equal((await process.log(fields)).prospectId, one.prospectId)
      await here.merge(one.prospectId, two.prospectId)
      for (const fields of [{ email: 'ada@x' }, { prospectId: one.prospectId }])
        for (const process of [here, there, here])
          equal((await process.log(fields)).prospectId, two.prospectId)
      equal((await timelineOf(two.prospectId)).length, 12)
    },

    'a merge is completed, with one event, once earlier writes have ended and what they logged has moved':
      async (scene) => {
        const { here, person, work, clock, store, timelineOf, mergedEvents, owners } = scene
        const one = await person('ada', 3)
        const two = await person('grace', 2)
        await here.merge(one.prospectId, two.prospectId)
        let isVisible = false
        let isPast = false
        // As if these activities were not visible yet.
        const moveLogs: Store['merges']['moveLogs'] = async (...asked) =>
          isVisible ? store.merges.moveLogs(...asked) : 0
        const { now } = store.moments
        const moments: Moments = { now, arePast: async (some) => some.map(() => isPast) }
        const hiding = { merges: { ...store.merges, moveLogs }, moments }
        await work(hiding)
        isVisible = true
        clock.advance(DAY_MS)
        await work(hiding)
        same([await mergedEvents(), (await store.merges.backlog(9)).count], [[], 1])
        equal((await owners()).size, 2)
        equal((await timelineOf(two.prospectId)).length, 5)
        isPast = true
        await untilCompleted(store.merges, clock, () => work(hiding))
        await work()
        same(await mergedEvents(), [{ prospectId: one.prospectId, intoProspectId: two.prospectId }])
        same(await owners(), new Set([two.prospectId]))
        equal((await timelineOf(one.prospectId)).length, 5)
      },

    'a saved step is claimed as it was saved': async ({ here, person, store }) => {
      const one = await person('ada')
      const two = await person('grace')
      await here.merge(one.prospectId, two.prospectId)
      const [first] = await store.merges.claim({ ...CLAIM, max: 1 })
      ok(first)
      like(first, { pass: 1, settlesAfter: null, attempt: 1, status: 'processing' })
      const settlesAfter = await store.moments.now()
      const step = { ...first, pass: 2, settlesAfter, claimableAt: at(0), completedAt: null } as const
      equal(await store.merges.settle(step), 'recorded')
      const [second] = await store.merges.claim({ ...CLAIM, max: 1 })
      like(second, { pass: 2, settlesAfter, attempt: 2, status: 'processing' })
    },

    'an activity that was looked up before the merge, and fills a blank, is logged for the survivor': async (
      scene,
    ) => {
      const { here, processOn, person, store } = scene
      const one = await here.log({ email: 'ada@x' })
      const two = await person('grace')
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
      scene,
    ) => {
      const { here, there, person, read } = scene
      for (let i = 0; i < 5; i++) {
        const one = await person(`ada${i}`)
        const two = await person(`grace${i}`)
        const results = await Promise.all([
          here.tryMerge(one.prospectId, two.prospectId),
          there.tryMerge(two.prospectId, one.prospectId),
        ])
        same(results.map(({ kind }) => kind ?? 'merged').sort(), ['invalid_request', 'merged'])
        same(await read(one.prospectId), await read(two.prospectId))
      }
    },

    'merges of many into one, and of that one into another, all at once, make one person': async (scene) => {
      const { here, there, person, read, complete, timelineOf, mergedEvents } = scene
      const people = await Promise.all(Array.from({ length: 6 }, (_, i) => person(`p${i}`, 3, i)))
      const [first, ...others] = people.map(({ prospectId }) => prospectId) as [string, ...string[]]
      const results = await Promise.all([
        ...others.map((id, i) => (i % 2 ? here : there).tryMerge(i % 3 ? id : first, i % 3 ? first : id)),
      ])
      ok(results.every(({ kind }) => kind === undefined || kind === 'invalid_request'))
      for (const id of others) await here.tryMerge(id, first)
      const survivors = await Promise.all(people.map(({ prospectId }) => read(prospectId)))
      equal(new Set(survivors.map((one) => JSON.stringify(one))).size, 1)
      equal(new Set(await timelineOf(first)).size, 18)
      await complete()
      equal((await timelineOf(first)).length, 18)
      equal((await mergedEvents()).length, 5)
    },

    'a merge that a worker holds leads on when its survivor is merged, and moves no more there': async (
      scene,
    ) => {
      const { here, person, complete, store, owners, timelineOf, mergedEvents } = scene
      const a = await person('a', 3)
      const b = await person('b', 3)
      const c = await person('c', 3)
      await here.merge(a.prospectId, b.prospectId)
      const [claimed] = await store.merges.claim({ ...CLAIM, max: 1 })
      ok(claimed)
      equal(await store.merges.moveLogs(claimed, 1), 1)
      await here.merge(b.prospectId, c.prospectId)
      equal(await store.merges.moveLogs(claimed, 1), 0)
      const step = { ...claimed, claimableAt: at(0), completedAt: at(0) }
      equal(await store.merges.settle(step), 'overtaken')
      equal((await timelineOf(a.prospectId)).length, 9)
      await complete()
      same(await owners(), new Set([c.prospectId]))
      same(
        (await mergedEvents()).map(({ prospectId }) => prospectId).toSorted(),
        [a.prospectId, b.prospectId].toSorted(),
      )
      like(await mergedEvents(), [{ intoProspectId: c.prospectId }, { intoProspectId: c.prospectId }])
    },

    'a merge can be repeated; into itself, of nobody and into nobody it is refused': async (scene) => {
      const { here, person, kept } = scene
      const one = await person('ada')
      const two = await person('grace')
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

    'at most a hundred prospects become one': async (scene) => {
      const { here, there, person } = scene
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
      scene,
    ) => {
      const { here, person, read, kept } = scene
      const one = await person('ada')
      const two = await person('grace')
      const other = await person('eve')
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

    'a replay of a key names the prospect that has the activity now': async (scene) => {
      const { here, person, work } = scene
      const activity = { email: 'ada@x', idempotencyKey: 'one' }
      const first = await here.log(activity)
      const two = await person('grace')
      await here.merge(first.prospectId, two.prospectId)
      await work()
      const { prospectLogId, createdAt } = first
      like(await here.log(activity), { replayed: true, prospectLogId, createdAt, prospectId: two.prospectId })
    },

    'retention deletes what moves as well, and the merge is completed': async (scene) => {
      const { here, person, complete, store, mergedEvents, timelineOf, tenantId } = scene
      const one = await person('ada', 3)
      const two = await person('grace', 3, 100_000)
      await here.merge(one.prospectId, two.prospectId)
      await store.erasures.expire({ tenantId, now: at(0), beforeLogId: one.logIds[2] ?? '', max: 10 })
      same(await timelineOf(two.prospectId), [...two.logIds.toReversed(), one.logIds[2]])
      await complete()
      equal((await mergedEvents()).length, 1)
      equal((await timelineOf(one.prospectId)).length, 4)
    },

    'an erasure of any of them erases all, and blocks what named any of them, until all of it is done':
      async (scene) => {
        const { here, there, person, work, read, store, kept, eraseAll, tenantId, clock, core } = scene
        const one = await person('ada', 3)
        const two = await person('grace', 3)
        const three = await person('eve', 2)
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
        for (const { email, prospectId } of all)
          for (const named of [{ email: String(email) }, { prospectId }])
            same(await here.log(named).catch(({ kind }) => kind), 'prospect_erased')
        same(await here.tryMerge(one.prospectId, otherId), { kind: 'prospect_erased' })
        same(await here.tryMerge(otherId, one.prospectId), { kind: 'prospect_erased' })
        for (const fields of [{ email: 'eve@x' }, { prospectId: three.prospectId }, { email: 'grace@x' }])
          same(await here.erase(fields), erasure)
        await eraseAll()
        const listed = await store.erasures.list({ tenantId, beforeId: null, limit: 10 })
        equal(listed?.length, 1)
        like(listed?.[0], { status: 'completed', logsErased: 9, prospectId: two.prospectId })
        const left = JSON.stringify(await kept())
        ok(!/(ada|grace|eve)@|"name":"(ada|grace|eve)/.test(left), left)
        equal((await kept()).logs.length, 2)
        await work()
        equal((await store.merges.backlog(10)).count, 0)
        await core.unblockErasure({ store, clock })({ tenantId, erasureId: String(listed?.[0]?.erasureId) })
        for (const { email } of all) like(await here.log({ email: String(email) }), { createdProspect: true })
      },

    'a longer block holds for all that named the person': async (scene) => {
      const { here, person, store, tenantId, eraseAll } = scene
      const one = await person('ada')
      const two = await person('grace')
      await here.merge(one.prospectId, two.prospectId)
      await here.erase({ email: 'grace@x' })
      await here.erase({ email: 'ada@x', blockDays: 60 })
      await eraseAll()
      await store.erasures.expire({ tenantId, now: at(40 * DAY_MS), beforeLogId: null, max: 10 })
      for (const email of ['ada@x', 'grace@x'])
        same(await here.log({ email }).catch(({ kind }) => kind), 'prospect_erased')
    },

    'what identifies a prospect, and is added to it later, leads to the last survivor': async (scene) => {
      const { mergeOf, leadsOf, person, store, tenantId } = scene
      const a = await person('a')
      const b = await person('b')
      const c = await person('c')
      const [x, y, z] = ['a@x', 'b@x', 'c@x'].map((email) => emailIdentifier(tenantId, email)) as [
        Identifier,
        Identifier,
        Identifier,
      ]
      const first = mergeOf(foundProspect(a), foundProspect(b))
      equal(await store.merges.record(first), 'recorded')
      same(await leadsOf(x, y, z), [b.prospectId, b.prospectId, c.prospectId])
      const fill = fillOf({ ...b, updatedAt: at(1) }, { externalId: '1' })
      equal(await store.activities.record(fill), 'recorded')
      const second = { ...first.survivor.after, externalId: '1', updatedAt: fill.prospect.updatedAt }
      equal(await store.merges.record(mergeOf(second, foundProspect(c))), 'recorded')
      same(await leadsOf(x, y, z, ...fill.identifiers), Array(4).fill(c.prospectId))
      same(await store.prospects.findWithMerged(b), [])
      const found = await store.prospects.findWithMerged(c)
      same(
        found.map(({ prospectId, mergedInto, email }) => [prospectId, mergedInto, email]),
        [
          [c.prospectId, null, 'c@x'],
          [a.prospectId, c.prospectId, null],
          [b.prospectId, c.prospectId, null],
        ],
      )
    },

    'a merge of a prospect that is not as it was decided is overtaken, and nothing of it is saved': async (
      scene,
    ) => {
      const { mergeOf, leadsOf, person, store, kept } = scene
      const ada = await person('ada')
      const grace = await person('grace')
      const gone = await person('gone')
      const one = foundProspect(ada)
      const two = foundProspect(grace)
      const before = await kept()
      for (const [merged, survivor] of [
        [{ ...one, email: null }, two],
        [{ ...one, externalId: '1' }, two],
        [{ ...one, updatedAt: at(1) }, two],
        [one, { ...two, email: 'other@x' }],
        [one, { ...two, name: null }],
        [one, { ...two, updatedAt: at(1) }],
        [one, { ...two, prospectId: newId('prospect') }],
      ] as const)
        equal(await store.merges.record(mergeOf(merged, survivor)), 'overtaken')
      const erasures = [someErasure(ada.tenantId, { prospectId: gone.prospectId })]
      const prospects = [foundProspect(gone)]
      const times = { now: at(1), until: at(9) }
      await store.erasures.record({ ...times, tenantId: ada.tenantId, prospects, identifier: null, erasures })
      for (const [merged, survivor] of [
        [one, foundProspect(gone)],
        [foundProspect(gone), two],
      ] as const)
        equal(await store.merges.record(mergeOf(merged, survivor)), 'overtaken')
      const isOther = ({ prospectId }: { prospectId: string }) => prospectId !== gone.prospectId
      same((await kept()).prospects.filter(isOther), before.prospects.filter(isOther))
      same(await leadsOf(...identifiersOf(ada), ...identifiersOf(grace)), [ada.prospectId, grace.prospectId])
    },

    'of two merges of one prospect at once, or a merge and a correction, exactly one is recorded': async (
      scene,
    ) => {
      const { elsewhere, mergeOf, leadsOf, person, store } = scene
      for (let round = 0; round < 4; round++) {
        const ada = await person(`ada${round}`)
        const grace = await person(`grace${round}`)
        const eve = await person(`eve${round}`)
        const [one, two, three] = [ada, grace, eve].map(foundProspect) as [
          FoundProspect,
          FoundProspect,
          FoundProspect,
        ]
        const after = { ...one, email: `new${round}@x`, updatedAt: at(1) }
        const correction = { before: one, after, added: identifiersOf(after), released: identifiersOf(one) }
        const outcomes = await Promise.all([
          store.merges.record(mergeOf(one, two)),
          round % 2 === 0
            ? elsewhere.merges.record(mergeOf(one, three))
            : elsewhere.prospects.correct(correction),
        ])
        same(outcomes.toSorted(), ['overtaken', 'recorded'])
        const isMerged = outcomes[0] === 'recorded'
        const other = round % 2 === 0 ? eve.prospectId : undefined
        same(await leadsOf(...identifiersOf(ada)), [isMerged ? grace.prospectId : other])
      }
    },

    'an erasure that is requested while its person is merged leaves nothing of either': async (scene) => {
      const { here, processOn, person, store, kept, eraseAll, read } = scene
      for (const isErasedFirst of [true, false]) {
        const one = await person('ada', 2)
        const two = await person('grace', 2)
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
