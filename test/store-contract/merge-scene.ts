import type { Prospect } from 'prospect-pages'
import type { ClaimedMerge, Moments, Store } from 'prospect-pages/store'
import type { NewActivity } from '#use-cases'
import { ok } from './assertions.ts'
import { untilCompleted } from './completed.ts'
import type { Core, Subject } from './contract.ts'
import { addTenant, at, recordAll, someClaim, someEndpoint, someLog, someProspect } from './rows.ts'
import { stoppedClock } from './setting.ts'

export const DAY_MS = 86_400_000

/** A signal that never aborts: the workers of these tests are not stopped. */
export const NEVER_ABORTED: Parameters<Step>[0] = new AbortController().signal

/** A step of a worker: returns whether it found something to do. */
type Step = ReturnType<Core['moveMerged']>

/** Repeats a step until it finds nothing more to do. */
export const untilIdle = async (step: Step): Promise<void> => {
  let isBusy = true
  while (isBusy) isBusy = await step(NEVER_ABORTED)
}

/** The parts of a store that the worker of merges uses. */
type MergeWorkerStore = Pick<Store, 'merges' | 'moments'>

/** The answer of a use case, or the kind of its refusal. */
type Answered<Answer> = Partial<Answer> & { readonly kind?: string }

/** A tenant whose people are merged: what callers and workers do there. */
export const mergeScene = async ({ core, store, another, kept }: Subject) => {
  const clock = stoppedClock()
  const { tenantId } = await addTenant(store)
  // A tenant without a webhook endpoint would keep no events.
  await store.webhooks.add(someEndpoint(tenantId))
  const elsewhere = await another()
  const deps = { clock, newId: core.createNewId() }
  const callersOn = (on: Store) => callersOf(core, { ...deps, store: on }, tenantId)

  const mergeWorker = (on: MergeWorkerStore = store) => core.moveMerged({ ...deps, store: on })
  const moveAllLogs = (on: MergeWorkerStore = store) => untilIdle(mergeWorker(on))
  /** Works on both passes of all merges. */
  const completeMerges = (on: MergeWorkerStore = store) =>
    untilCompleted(store.merges, clock, () => moveAllLogs(on))
  /** Works on both passes of all erasures. */
  const completeErasures = () => {
    const eraser = core.eraseProspects({ store, clock })
    return untilCompleted(store.erasures, clock, () => untilIdle(eraser))
  }
  const claimMerge = async (): Promise<ClaimedMerge> => {
    const [claimed] = await store.merges.claim(someClaim({ until: at(20_000), max: 1 }))
    ok(claimed)
    return claimed
  }

  /** A prospect with this name and an email of it. Its logs occurred ten seconds apart. */
  const addPerson = async (name: string, logs = { count: 0, firstMs: 0 }) => {
    const prospect = someProspect(tenantId, { email: `${name}@x`, name })
    const all = Array.from({ length: logs.count }, (_, i) =>
      someLog(prospect, { occurredAt: at(logs.firstMs + i * 10_000) }),
    )
    await recordAll(store.activities, [prospect], all)
    return { ...prospect, logIds: all.map(({ prospectLogId }) => prospectLogId) }
  }

  /** The prospect as a caller reads it, or the kind of the refusal. */
  const read = (prospectId: string): Promise<Answered<Prospect>> =>
    answerOf(core, core.getProspect({ store })({ tenantId, prospectId }))

  /** The ids of a whole timeline, read slice by slice. */
  const timelineOf = async (prospectId: string, on: Store = store, limit = 3) => {
    const listTimeline = core.listTimeline({ store: on })
    const ids: string[] = []
    let cursor: string | undefined
    let hasMore = true
    while (hasMore) {
      const { value: slice } = await listTimeline({ tenantId, prospectId, limit, cursor })
      for (const { prospectLogId } of slice.items) ids.push(prospectLogId)
      cursor = slice.nextCursor
      hasMore = slice.hasMore
    }
    return ids
  }

  /** The ids in each event `prospect.merged`. */
  const mergedEvents = async () => {
    await untilIdle(async () => (await store.events.number({ tenantId, now: at(0), max: 100 })) > 0)
    const { rows } = await store.events.list({ tenantId, afterSequence: 0, limit: 1_000 })
    return rows.filter(({ type }) => type === 'prospect.merged').map(({ ids }) => ids)
  }

  /** The prospects that logs are stored for. */
  const idsWithLogs = async () => new Set((await kept()).logs.map(({ prospectId }) => prospectId))

  return {
    clock,
    tenantId,
    elsewhere,
    callersOn,
    here: callersOn(store),
    there: callersOn(elsewhere),
    mergeWorker,
    moveAllLogs,
    completeMerges,
    completeErasures,
    claimMerge,
    addPerson,
    read,
    timelineOf,
    mergedEvents,
    idsWithLogs,
  }
}

type Deps = Parameters<Core['mergeProspect']>[0] & Parameters<Core['requestErasure']>[0] & { store: Store }

/** What callers do in one process, which remembers prospects. */
const callersOf = (core: Core, deps: Deps, tenantId: string) => {
  const activities = core.remembering(deps.store.activities, 1_000)
  const logActivity = core.logProspectActivity({ ...deps, store: { activities } })
  const mergeProspect = core.mergeProspect(deps)
  const updateProspect = core.updateProspect(deps)
  const requestErasure = core.requestErasure(deps)

  /** Logs an activity. Returns its receipt. */
  const log = async (fields: Partial<NewActivity>) => {
    const activity = { tenantId, source: 'crm', type: 'webhook', payload: { rawJson: '{}' }, ...fields }
    const { value: receipt, replayed } = await logActivity(activity)
    return { ...receipt, replayed }
  }
  return {
    log,
    /** The kind of the refusal of an activity. */
    refusalOf: (fields: Partial<NewActivity>) =>
      log(fields).then(
        () => 'not refused',
        (error) => kindOf(core, error),
      ),
    /** Merges one prospect into another. Returns the survivor. */
    merge: async (prospectId: string, into: string) =>
      (await mergeProspect({ tenantId, prospectId, into })).value,
    /** The same, but a refusal is returned. */
    tryMerge: (prospectId: string, into: string) =>
      answerOf(core, mergeProspect({ tenantId, prospectId, into })),
    /** Corrects a prospect. Returns it, or the kind of the refusal. */
    correct: (prospectId: string, changes: { email?: string | null; name?: string }) =>
      answerOf(core, updateProspect({ tenantId, prospectId, ...changes })),
    /** Requests an erasure. Returns it, or the kind of the refusal. */
    erase: (request: { prospectId?: string; email?: string; blockDays?: number }) =>
      answerOf(core, requestErasure({ tenantId, blockDays: 30, ...request })),
  }
}

/** What a use case returns, or the kind of its refusal. */
const answerOf = async <Answer extends object>(
  core: Core,
  result: Promise<{ readonly value: Answer }>,
): Promise<Answered<Answer>> => {
  try {
    return (await result).value as Answered<Answer>
  } catch (error) {
    return { kind: kindOf(core, error) } as Answered<Answer>
  }
}

const kindOf = (core: Core, error: unknown): string => {
  if (error instanceof core.DomainFailure) return error.kind
  throw error
}

/** Moments that are past only once the test says so, whatever still runs. */
export const heldMoments = ({ moments: { now } }: Store) => {
  const held = { arePast: false }
  const moments: Moments = { now, arePast: async (asked) => asked.map(() => held.arePast) }
  return { held, moments }
}
