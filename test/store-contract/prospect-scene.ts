import type { FoundProspect, Identifier, NewIdentifier, ProspectsQuery, Store } from 'prospect-pages/store'
import { equal } from './assertions.ts'
import type { Subject } from './contract.ts'
import { type CorrectedValues, correctionOf, erasureChangesOf, leadsOf, mergeChangesOf } from './people.ts'
import {
  at,
  foundProspect,
  recordAll,
  type SomeProspect,
  someErasure,
  someLog,
  someProspect,
} from './rows.ts'

/** What the tests of prospects do with the verbs of a store. */
export const prospectScene = async ({ store, another, core }: Subject) => {
  const { activities, prospects } = store
  const elsewhere = await another()
  /** Records a prospect with the log that created it. */
  const addProspect = async (tenantId: string, fields: Partial<SomeProspect> = {}) => {
    const prospect = someProspect(tenantId, fields)
    await recordAll(activities, [prospect], [someLog(prospect, { createdProspect: true })])
    return foundProspect(prospect)
  }
  const find = async (key: { tenantId: string; prospectId: string }): Promise<FoundProspect> => {
    const prospect = await prospects.find(key)
    if (!prospect) throw new Error('not found')
    return prospect
  }
  const list = async (tenantId: string, query: Partial<ProspectsQuery> = {}) => {
    const slice = await prospects.list({ tenantId, identifier: null, beforeId: null, limit: 100, ...query })
    if (slice instanceof Error) throw slice
    return slice
  }
  const search = (tenantId: string, text: string, limit = 100) =>
    prospects.search({ tenantId, limit, ...core.searchKeysOf(text) })
  /** Indexes all people of a tenant for the search. */
  const indexAll = async (tenantId: string) => {
    await store.searchIndex.markSearched(tenantId, at(0))
    await store.searchIndex.rewind(tenantId, '')
    const step = { tenantId, mark: 'position', beforeId: '~', max: 400 } as const
    let passed: number
    do {
      const { position = '' } = (await store.searchIndex.find(tenantId)) ?? {}
      passed = await store.searchIndex.extend({ ...step, from: position })
    } while (passed > 0)
  }

  /** Corrects a prospect as a use case does: identifiers that it no longer has are released. */
  const correct = (before: FoundProspect, values: CorrectedValues, on: Store = store) =>
    on.prospects.correct(correctionOf(before, values))
  /** A correction that releases these identifiers instead. */
  const correctReleasing = (
    before: FoundProspect,
    values: CorrectedValues,
    identifiers: readonly Identifier[],
  ) => {
    const released: NewIdentifier[] = identifiers.map((identifier) => ({
      ...identifier,
      value: 'former',
      prospectId: before.prospectId,
    }))
    return prospects.correct({ ...correctionOf(before, values), released })
  }
  /** Merges one prospect into another, which keeps its fields. */
  const merge = async (merged: FoundProspect, survivor: FoundProspect) =>
    equal(await store.merges.record(mergeChangesOf(merged, survivor)), 'recorded')
  /** Erases a prospect with those that were merged into it. Returns the erasure. */
  const erase = async (prospect: FoundProspect) => {
    const { tenantId, prospectId } = prospect
    const erasure = someErasure(tenantId, { prospectId })
    const withMerged = await prospects.findWithMerged(prospect)
    equal(await store.erasures.record(erasureChangesOf(withMerged, erasure)), 'recorded')
    return erasure
  }
  return {
    activities,
    prospects,
    elsewhere,
    addProspect,
    find,
    list,
    search,
    indexAll,
    correct,
    correctReleasing,
    merge,
    erase,
    leadsOf: (...identifiers: readonly Identifier[]) => leadsOf(store, ...identifiers),
  }
}
