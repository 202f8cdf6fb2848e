import type {
  ErasureChanges,
  FoundProspect,
  Identifier,
  MergeChanges,
  ProspectCorrected,
  Store,
  StoredErasure,
} from 'prospect-pages/store'
import { at, identifiersOf, newId } from './rows.ts'

/** What the use cases hand to a store when a person is merged, corrected or erased. */

/** Merges a prospect into a survivor, which keeps its fields. */
export const mergeChangesOf = (merged: FoundProspect, survivor: FoundProspect): MergeChanges => ({
  merge: {
    tenantId: merged.tenantId,
    mergeId: newId('merge'),
    prospectId: merged.prospectId,
    intoId: survivor.prospectId,
    requestedAt: at(1),
  },
  merged: {
    before: merged,
    after: { ...merged, name: null, attributes: null, mergedInto: survivor.prospectId, updatedAt: at(1) },
  },
  survivor: { before: survivor, after: { ...survivor, updatedAt: at(1) } },
})

/** The new values of a prospect. */
export type CorrectedValues = Partial<
  Pick<FoundProspect, 'email' | 'externalId' | 'name' | 'attributes' | 'updatedAt'>
>

/** Gives a prospect new values. Identifiers that it no longer has are released. */
export const correctionOf = (before: FoundProspect, values: CorrectedValues): ProspectCorrected => {
  const after = { ...before, updatedAt: justAfter(before.updatedAt), ...values }
  const added = identifiersOf(after)
  const isKept = (identifier: Identifier) =>
    added.some(({ kind, hash }) => kind === identifier.kind && hash === identifier.hash)
  const released = identifiersOf(before).filter((identifier) => !isKept(identifier))
  return { before, after, added, released, forgotten: [] }
}

/** Erases prospects. */
export const erasureChangesOf = (
  prospects: readonly FoundProspect[],
  ...erasures: readonly [StoredErasure, ...StoredErasure[]]
): ErasureChanges => ({
  tenantId: erasures[0].tenantId,
  now: at(1),
  until: BLOCKED_UNTIL,
  prospects,
  identifier: null,
  erasures,
})

/** Blocks an identifier that leads to no one. */
export const blockChangesOf = (identifier: Identifier, erasure: StoredErasure): ErasureChanges => ({
  ...erasureChangesOf([], erasure),
  identifier,
})

/** Eleven days after the clock's start. */
export const BLOCKED_UNTIL = at(1e9)

/**
 * Where each identifier leads: the id of its prospect, or of the erasure that blocks it; undefined if it is free.
 */
export const leadsOf = (
  { activities }: Pick<Store, 'activities'>,
  ...identifiers: readonly Identifier[]
): Promise<(string | undefined)[]> =>
  Promise.all(
    identifiers.map(async (identifier) => {
      const { tenantId } = identifier
      const known = await activities.recall({ tenantId, identifiers: [identifier] })
      const [found] = known.identifiers
      return found?.prospectId ?? found?.erasureId ?? undefined
    }),
  )

/** A millisecond later. */
export const justAfter = (time: string): string => new Date(Date.parse(time) + 1).toISOString()
