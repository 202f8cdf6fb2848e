import { setImmediate as otherWork, setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { eraseProspects } from '../../src/core/erasures/erase-prospects.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { Clock } from '../../src/core/ports/world.ts'
import { moveMerged } from '../../src/core/prospects/move-merged.ts'
import { createService } from '../../src/entry/index.ts'
import { until } from '../support/program.ts'
import { addTenant } from '../support/rows.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** How far the clock of one process is ahead, one after the other. */
const LEAPS_MS = [HOUR_MS, -HOUR_MS, 8 * DAY_MS, -8 * DAY_MS, 40 * DAY_MS, -40 * DAY_MS]
const LEAP_PAUSE_MS = 200
/** Each group has one person for each leap; a merged person has a survivor. */
const GROUPS = ['erased', 'merged', 'survivor', 'corrected'] as const
type Group = (typeof GROUPS)[number]
const emailOf = (group: Group, number: number): string => `${group}-${number}@x.org`

/** A service, and the background work that erases and merges, on a store and a clock. */
const startProcess = (t: Test, store: Store, clock: Clock) => {
  const deps = { store, clock, newId: createNewId(clock) }
  const service = createService({ ...deps, background: 'elsewhere' })
  t.teardown(service.close)
  const steps = [eraseProspects(deps), moveMerged(deps)]
  const repeat = async (step: (typeof steps)[number], signal: AbortSignal) => {
    while (!signal.aborted) {
      const hasWorked = await step(signal).catch(console.error)
      if (!hasWorked) await pause(20)
    }
  }
  return {
    service,
    workUntil: (signal: AbortSignal) => Promise.all(steps.map((step) => repeat(step, signal))),
  }
}
type Process = ReturnType<typeof startProcess>

/** Two processes on one database: one whose clock leaps, and one whose clock does not. */
const setUp = async (t: Test, kind: StoreKind) => {
  const { store, another, kept } = await opened(t, kind)
  let aheadMs = 0
  const steady = startProcess(t, store, Date.now)
  const leaping = startProcess(t, await another(), () => Date.now() + aheadMs)
  const { tenantId } = await addTenant(store)
  const processes = [steady, leaping]
  /** The services of the two processes in turn. */
  const serviceOf = (number: number) => (number % 2 === 0 ? steady : leaping).service

  const createGroup = (group: Group): Promise<string[]> => {
    const created = LEAPS_MS.map(async (_, i) => {
      const { value } = await serviceOf(i).createProspect({ tenantId, email: emailOf(group, i) })
      return value.prospectId
    })
    return Promise.all(created)
  }
  return {
    store,
    kept,
    tenantId,
    processes,
    serviceOf,
    people: {
      erased: await createGroup('erased'),
      merged: await createGroup('merged'),
      survivor: await createGroup('survivor'),
      corrected: await createGroup('corrected'),
    },
    setAhead: (ms: number): void => {
      aheadMs = ms
    },
  }
}
type Scene = Awaited<ReturnType<typeof setUp>>

/** Logs activities for everyone on both processes. Nothing may refuse an activity but the erasure of its person. */
const startLogging = (t: Test, { processes, tenantId }: Scene) => {
  /** The email of each acknowledged activity, by the id of the activity. */
  const acknowledged = new Map<string, string>()
  let isOver = false
  const logFor = async ({ service }: Process, email: string) => {
    while (!isOver) {
      // The memory store waits for nothing: without this, timers would never fire.
      await otherWork()
      try {
        const { value } = await service.logProspectActivity({ tenantId, source: 'crm', email, payload: {} })
        acknowledged.set(value.prospectLogId, email)
      } catch (error) {
        t.match(error, { kind: 'prospect_erased' })
      }
    }
  }
  const callers: Promise<void>[] = []
  for (const process of processes)
    for (const group of ['erased', 'merged', 'corrected'] as const)
      for (const i of LEAPS_MS.keys()) callers.push(logFor(process, emailOf(group, i)))
  return {
    acknowledged,
    stop: async (): Promise<void> => {
      isOver = true
      await Promise.all(callers)
    },
  }
}

/** With each leap one person is erased, one merged and one corrected. */
const leap = async ({ people, serviceOf, setAhead, tenantId }: Scene): Promise<void> => {
  for (const [i, leapMs] of LEAPS_MS.entries()) {
    setAhead(leapMs)
    await pause(LEAP_PAUSE_MS)
    const erased = people.erased[i] ?? ''
    const merged = people.merged[i] ?? ''
    const survivor = people.survivor[i] ?? ''
    const corrected = people.corrected[i] ?? ''
    await serviceOf(i).eraseProspect({ tenantId, prospectId: erased })
    await serviceOf(i + 1).mergeProspect({ tenantId, prospectId: merged, into: survivor })
    await serviceOf(i).updateProspect({ tenantId, prospectId: corrected, email: `now-${i}@x.org` })
  }
  setAhead(0)
}

const backgroundWorkEnds = async ({ store, tenantId }: Scene): Promise<void> => {
  // After its second pass an erasure only waits to rewrite the file of SQLite, which is not due yet.
  const isErased = async () => {
    const erasures = await store.erasures.list({ tenantId, beforeId: null, limit: 100 })
    return erasures.every(({ pass }) => pass > 2)
  }
  await until('everyone is erased', isErased, { tries: 600 })
  await until('everyone is merged', async () => (await store.merges.backlog(1)).count === 0, { tries: 600 })
}

overStores(async (t, kind) => {
  t.test(
    'people are erased, merged and corrected while the clock of one of two processes leaps',
    async (t) => {
      const scene = await setUp(t, kind)
      const { kept, people, processes } = scene
      const logging = startLogging(t, scene)
      const end = new AbortController()
      t.teardown(() => end.abort())
      const background = processes.map(({ workUntil }) => workUntil(end.signal))

      await leap(scene)
      await logging.stop()
      await backgroundWorkEnds(scene)
      end.abort()
      await Promise.all(background)

      const { logs, prospects } = await kept()
      const ownerOf = new Map(logs.map(({ prospectLogId, prospectId }) => [prospectLogId, prospectId]))
      const isOfErased = (email: string | null) => email?.startsWith('erased') ?? false
      const ofLiving = [...logging.acknowledged].filter(([, email]) => !isOfErased(email))

      await t.test('no activity and no prospect names an erased person', async (t) => {
        const naming = logs.filter(({ email }) => isOfErased(email))
        t.strictSame(naming, [], 'activities')
        const named = prospects.filter(({ email }) => isOfErased(email))
        t.strictSame(named, [], 'prospects')
      })
      await t.test('no acknowledged activity of a living person is lost', async (t) => {
        const lost = ofLiving.filter(([id]) => !ownerOf.has(id))
        t.strictSame(lost, [])
      })
      await t.test('every activity of a merged person belongs to the survivor', async (t) => {
        for (const [i, survivor] of people.survivor.entries()) {
          const ofMerged = ofLiving.filter(([, email]) => email === emailOf('merged', i))
          const owners = new Set(ofMerged.map(([id]) => ownerOf.get(id)))
          t.strictSame([...owners], [survivor])
        }
      })
    },
  )
})
