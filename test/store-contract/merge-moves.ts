import type { FoundTimeline, Store, StoredErasure, TimelineRowsQuery } from 'prospect-pages/store'
import { equal, like, ok, same } from './assertions.ts'
import { untilCompleted } from './completed.ts'
import { section } from './contract.ts'
import { DAY_MS, heldMoments, mergeScene, NEVER_ABORTED, untilIdle } from './merge-scene.ts'
import { at, recordAll, someClaim, someLog } from './rows.ts'

/** How a worker moves the logs of merged prospects, and what is read meanwhile. */
export const mergeMoves = section('merges', mergeScene, {
  'each activity is shown exactly once, in order, whenever a timeline is read while logs move': async (
    scene,
  ) => {
    const { here, addPerson, timelineOf, clock, store, mergeWorker, idsWithLogs } = scene
    const ada = await addPerson('ada', { count: 5, firstMs: 0 })
    const grace = await addPerson('grace', { count: 4, firstMs: 5_000 })
    await here.merge(ada.prospectId, grace.prospectId)
    const [ada0, ada1, ada2, ada3, ada4] = ada.logIds
    const [grace0, grace1, grace2, grace3] = grace.logIds
    const newestFirst = [ada4, grace3, ada3, grace2, ada2, grace1, ada1, grace0, ada0]

    const moveOneLog: Store['merges']['moveLogs'] = (merge) => store.merges.moveLogs(merge, 1)
    const workStep = mergeWorker({ ...store, merges: { ...store.merges, moveLogs: moveOneLog } })
    /** Reads a slice, after which one more log moves. */
    const disturbedTimeline = async (query: TimelineRowsQuery) => {
      const found = await store.prospectLogs.timeline(query)
      await workStep(NEVER_ABORTED)
      return found
    }
    const disturbed = { ...store, prospectLogs: { ...store.prospectLogs, timeline: disturbedTimeline } }

    same(await timelineOf(grace.prospectId), newestFirst)
    for (const limit of [2, 3, 4, 5]) {
      same(await timelineOf(ada.prospectId), newestFirst)
      same(await timelineOf(grace.prospectId, disturbed, limit), newestFirst)
      await workStep(NEVER_ABORTED)
    }
    await untilCompleted(store.merges, clock, () => untilIdle(workStep))
    same(await timelineOf(ada.prospectId), newestFirst)
    same(await idsWithLogs(), new Set([grace.prospectId]))
  },

  'a timeline of large texts, or with one row in each slice, loses nothing of either prospect': async (
    scene,
  ) => {
    const { here, addPerson, timelineOf, store } = scene
    const ada = await addPerson('ada')
    const grace = await addPerson('grace')
    const payload = { rawJson: JSON.stringify({ é: 'é'.repeat(200_000) }) }
    const newestFirst: string[] = []
    for (const [i, owner] of [grace, ada, ada, grace, ada, ada, grace, ada].entries()) {
      const log = someLog(owner, { occurredAt: at(i * 10_000), payload })
      await recordAll(store.activities, [], [log])
      newestFirst.unshift(log.prospectLogId)
    }
    await here.merge(ada.prospectId, grace.prospectId)
    same(await timelineOf(grace.prospectId, store, 100), newestFirst)

    const oneRow = async (query: TimelineRowsQuery): Promise<FoundTimeline> => {
      const found = await store.prospectLogs.timeline(query)
      if (typeof found === 'string') throw new Error(found)
      const [first] = found.rows
      return first === undefined ? found : { ...found, rows: [first], resume: first.occurredAt }
    }
    const impatient = { ...store, prospectLogs: { ...store.prospectLogs, timeline: oneRow } }
    same(await timelineOf(grace.prospectId, impatient, 100), newestFirst)
  },

  'a merge is completed, with one event, once earlier writes have ended and what they logged has moved':
    async (scene) => {
      const { here, addPerson, moveAllLogs, completeMerges, clock, store } = scene
      const { timelineOf, mergedEvents, idsWithLogs } = scene
      const ada = await addPerson('ada', { count: 3, firstMs: 0 })
      const grace = await addPerson('grace', { count: 2, firstMs: 0 })
      await here.merge(ada.prospectId, grace.prospectId)

      // The first pass finds no logs, as if they were written but not visible yet.
      let areVisible = false
      const moveVisible: Store['merges']['moveLogs'] = async (...query) =>
        areVisible ? store.merges.moveLogs(...query) : 0
      const { held, moments } = heldMoments(store)
      const workerStore = { merges: { ...store.merges, moveLogs: moveVisible }, moments }
      await moveAllLogs(workerStore)

      // Neither time nor visible logs complete a merge while an earlier write may still run.
      areVisible = true
      clock.advance(DAY_MS)
      await moveAllLogs(workerStore)
      same(await mergedEvents(), [])
      equal((await store.merges.backlog(9)).count, 1)
      same(await idsWithLogs(), new Set([ada.prospectId, grace.prospectId]))
      equal((await timelineOf(grace.prospectId)).length, 5)

      held.arePast = true
      await completeMerges(workerStore)
      await moveAllLogs()
      same(await mergedEvents(), [{ prospectId: ada.prospectId, intoProspectId: grace.prospectId }])
      same(await idsWithLogs(), new Set([grace.prospectId]))
      equal((await timelineOf(ada.prospectId)).length, 5)
    },

  'a saved step is claimed as it was saved': async ({ here, addPerson, claimMerge, store }) => {
    const ada = await addPerson('ada')
    const grace = await addPerson('grace')
    await here.merge(ada.prospectId, grace.prospectId)
    const first = await claimMerge()
    like(first, { pass: 1, settlesAfter: null, attempt: 1, status: 'processing' })
    const settlesAfter = await store.moments.now()
    const saved = await store.merges.settle({
      ...first,
      pass: 2,
      settlesAfter,
      claimableAt: at(0),
      completedAt: null,
    })
    equal(saved, 'recorded')
    like(await claimMerge(), { pass: 2, settlesAfter, attempt: 2, status: 'processing' })
  },

  'when a survivor is merged itself, a claimed merge into it moves nothing more there': async (scene) => {
    const { here, addPerson, claimMerge, store, timelineOf } = scene
    const first = await addPerson('a', { count: 3, firstMs: 0 })
    const second = await addPerson('b', { count: 3, firstMs: 0 })
    const last = await addPerson('c', { count: 3, firstMs: 0 })
    await here.merge(first.prospectId, second.prospectId)
    const claimed = await claimMerge()
    equal(await store.merges.moveLogs(claimed, 1), 1)
    await here.merge(second.prospectId, last.prospectId)
    equal(await store.merges.moveLogs(claimed, 1), 0)
    const completed = { ...claimed, claimableAt: at(0), completedAt: at(0) }
    equal(await store.merges.settle(completed), 'overtaken')
    equal((await store.merges.backlog(9)).count, 2, 'neither merge is completed')
    equal((await timelineOf(first.prospectId)).length, 9)
  },

  'when a survivor is merged itself, all logs move to the last survivor, with an event for each merge':
    async (scene) => {
      const { here, addPerson, claimMerge, completeMerges, store, idsWithLogs, mergedEvents } = scene
      const first = await addPerson('a', { count: 3, firstMs: 0 })
      const second = await addPerson('b', { count: 3, firstMs: 0 })
      const last = await addPerson('c', { count: 3, firstMs: 0 })
      await here.merge(first.prospectId, second.prospectId)
      await store.merges.moveLogs(await claimMerge(), 1)
      await here.merge(second.prospectId, last.prospectId)
      await completeMerges()
      same(await idsWithLogs(), new Set([last.prospectId]))
      const events = await mergedEvents()
      equal(events.length, 2)
      same(
        new Set(events.map(({ prospectId }) => prospectId)),
        new Set([first.prospectId, second.prospectId]),
      )
      for (const { intoProspectId } of events) equal(intoProspectId, last.prospectId)
    },

  'retention deletes logs that have not moved yet, and the merge is completed': async (scene) => {
    const { here, addPerson, completeMerges, store, mergedEvents, timelineOf, tenantId } = scene
    const ada = await addPerson('ada', { count: 3, firstMs: 0 })
    const grace = await addPerson('grace', { count: 3, firstMs: 100_000 })
    await here.merge(ada.prospectId, grace.prospectId)
    const [, , newestOfAda = ''] = ada.logIds
    await store.erasures.expire({ tenantId, now: at(0), beforeLogId: newestOfAda, max: 10 })
    same(await timelineOf(grace.prospectId), [...grace.logIds.toReversed(), newestOfAda])
    await completeMerges()
    equal((await mergedEvents()).length, 1)
    equal((await timelineOf(ada.prospectId)).length, 4)
  },

  'logs that appear after a merge or an erasure was completed are swept, within days of it': async (
    scene,
  ) => {
    const { here, addPerson, timelineOf, clock, store, tenantId, idsWithLogs, core } = scene
    const merged = await addPerson('ada', { count: 3, firstMs: 0 })
    const survivor = await addPerson('grace', { count: 1, firstMs: 0 })
    const erased = await addPerson('gone', { count: 2, firstMs: 0 })
    const erasedLater = await addPerson('left', { count: 1, firstMs: 0 })

    /** Completes all merges and erasures without touching a log, as if their logs became visible only afterwards. */
    const completeWithoutLogs = async () => {
      const now = new Date(clock()).toISOString()
      for (const merge of await store.merges.claim(someClaim({ until: at(20_000) }))) {
        const completed = { ...merge, completedAt: now, claimableAt: now }
        equal(await store.merges.settle(completed), 'recorded')
      }
      const erasing = await store.erasures.claim(someClaim({ until: at(20_000) }))
      await store.erasures.settle(
        tenantId,
        erasing.map((erasure) => ({
          ...erasure,
          status: 'completed' as const,
          completedAt: now,
          claimableAt: now,
        })),
      )
    }
    // Which merges and erasures are recent is read from their ids, whose times are real.
    let laterMs = 0
    const sweepStep = core.sweepLateLogs({
      store,
      clock: () => Date.now() + laterMs,
      onError: (error) => equal(error, null),
    })

    await here.merge(merged.prospectId, survivor.prospectId)
    const erasure = await here.erase({ prospectId: erased.prospectId })
    await completeWithoutLogs()
    same(
      await idsWithLogs(),
      new Set([merged, survivor, erased, erasedLater].map(({ prospectId }) => prospectId)),
    )

    await untilIdle(sweepStep)
    same(await idsWithLogs(), new Set([survivor.prospectId, erasedLater.prospectId]))
    equal((await timelineOf(survivor.prospectId)).length, 4)
    const { erasureId } = erasure as StoredErasure
    like(await store.erasures.find({ tenantId, erasureId }), { status: 'completed', logsErased: 2 })

    await here.erase({ prospectId: erasedLater.prospectId })
    await completeWithoutLogs()
    laterMs = 9 * DAY_MS
    await untilIdle(sweepStep)
    ok((await idsWithLogs()).has(erasedLater.prospectId), 'older erasures are not swept')

    laterMs = 0
    await untilIdle(sweepStep)
    same(await idsWithLogs(), new Set([survivor.prospectId]))
  },
})
