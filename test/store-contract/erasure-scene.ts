import type { ProspectLogReceipt } from 'prospect-pages'
import type { Clock, FoundProspect, Identifier, NewId, Store, StoredErasure } from 'prospect-pages/store'
import type { NewActivity } from '#use-cases'
import { equal, same } from './assertions.ts'
import { untilCompleted } from './completed.ts'
import type { Core, Subject } from './contract.ts'
import { untilIdle } from './merge-scene.ts'
import { type CorrectedValues, correctionOf, justAfter, leadsOf, mergeChangesOf } from './people.ts'
import {
  addTenant,
  at,
  emailIdentifier,
  foundProspect,
  recordAll,
  type SomeProspect,
  someClaim,
  someErasure,
  someProspect,
} from './rows.ts'
import { START_MS, stoppedClock } from './setting.ts'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
export const ADA = 'ada@example.com'

/** A tenant whose people are erased: what callers and erasers do there. */
export const erasureScene = async ({ core, store, another, kept }: Subject) => {
  const clock = stoppedClock()
  const elsewhere = await another()
  const { tenantId } = await addTenant(store)
  const processOn = (on: Store) => processOf(core, { store: on, clock, newId: core.createNewId() }, tenantId)
  const here = processOn(store)
  const listed = () => store.erasures.list({ tenantId, beforeId: null, limit: 100 })
  const erasureOf = async ({ erasureId = '' }: { erasureId?: string }) =>
    store.erasures.find({ tenantId, erasureId })
  /** Works on both passes of all erasures. */
  const complete = () => untilCompleted(store.erasures, clock, () => here.work())
  /** Sets the clock to this many milliseconds after its start. */
  const advanceTo = (ms: number) => clock.advance(START_MS + ms - clock())
  const everything = async () => JSON.stringify([await kept(), await listed()])

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
    email: (text: string) => emailIdentifier(tenantId, text),
    leadsOf: (...identifiers: readonly Identifier[]) => leadsOf(store, ...identifiers),
    ...writesOn(store, tenantId),
  }
}

/** What is written by the verbs of a store, without a use case. */
const writesOn = (store: Store, tenantId: string) => ({
  addPerson: async (fields: Partial<SomeProspect> = {}) => {
    const prospect = someProspect(tenantId, fields)
    equal(await recordAll(store.activities, [prospect]), 'recorded')
    return foundProspect(prospect)
  },
  /** Gives a prospect other identifiers, so that its present ones become former ones. Returns the corrected prospect. */
  correct: async (before: FoundProspect, values: CorrectedValues) => {
    const correction = correctionOf(before, values)
    equal(await store.prospects.correct(correction), 'recorded')
    return correction.after
  },
  /** Merges a prospect into a survivor, which keeps its fields. Returns the changed survivor. */
  merge: async (merged: FoundProspect, before: FoundProspect) => {
    const after = { ...before, updatedAt: justAfter(before.updatedAt) }
    const changes = { ...mergeChangesOf(merged, before), survivor: { before, after } }
    equal(await store.merges.record(changes), 'recorded')
    return after
  },
  /** Erases a prospect and those merged into it. */
  erase: async (prospect: FoundProspect, until = at(DAY_MS), on = store) => {
    const erasure = someErasure(tenantId, { prospectId: prospect.prospectId })
    const [, ...merged] = await store.prospects.findWithMerged(prospect)
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
  },
  /** Blocks an identifier that leads to no one. */
  block: async (identifier: Identifier, until = at(DAY_MS), on = store) => {
    const erasure = someErasure(tenantId)
    const changes = { tenantId, now: at(5), until, prospects: [], identifier, erasures: [erasure] }
    return { outcome: await on.erasures.record(changes), erasure }
  },
  /** Saves that these erasures are completed, whatever is left of them. */
  markCompleted: async (...erasures: readonly StoredErasure[]) => {
    const ids = new Set(erasures.map(({ erasureId }) => erasureId))
    const claimed = await store.erasures.claim(someClaim({ now: at(1e9), until: at(1e9) }))
    const completed = { status: 'completed', completedAt: at(6), claimableAt: at(6) } as const
    const steps = claimed.filter(({ erasureId }) => ids.has(erasureId))
    await store.erasures.settle(
      tenantId,
      steps.map((step) => ({ ...step, ...completed })),
    )
  },
})

type World = { readonly store: Store; readonly clock: Clock; readonly newId: NewId }
type Logged = Partial<ProspectLogReceipt> & { readonly kind: string }
type ErasureRequest = { readonly prospectId?: string; readonly email?: string; readonly blockDays?: number }
type Requested = { readonly kind?: string; readonly erasureId?: string; readonly prospectId?: string | null }

/** What callers and background workers do in one process, which remembers prospects. */
const processOf = (core: Core, world: World, tenantId: string) => {
  const { store, clock } = world
  const activities = core.remembering(store.activities, 1_000)
  const logActivity = core.logProspectActivity({ ...world, store: { activities } })
  const requestErasure = core.requestErasure(world)
  return {
    /** The receipt, or the kind of the refusal. */
    log: async (fields: Partial<NewActivity>): Promise<Logged> => {
      try {
        const { value } = await logActivity({
          tenantId,
          source: 'crm',
          type: 'webhook',
          payload: { rawJson: '{}' },
          ...fields,
        })
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
    /** Erases as far as these moments allow. */
    work: (moments = store.moments) =>
      untilIdle(core.eraseProspects({ store: { ...store, moments }, clock })),
    /** Deletes logs and blocks that have expired. */
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
      await untilIdle(step)
      same(errors, [])
    },
  }
}
