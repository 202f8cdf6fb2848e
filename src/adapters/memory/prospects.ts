import type { NewIdentifier } from '../../core/ports/identifiers.ts'
import type { Prospects } from '../../core/ports/prospects.ts'
import { afterStart } from '../../core/prospects/search-keys.ts'
import { AFTER_ALL_IDS, scan, takeSlice } from '../stores/take-slice.ts'
import { isLiving, isUnchanged, type People } from './people.ts'

/** The texts that are kept of the former identifiers of a prospect, of each kind. */
const FORMER_VALUES_MAX = 20

export const memoryProspects = ({ prospects, identifiers, formerIdentifiers, outbox }: People): Prospects => {
  const release = ({ tenantId, kind, hash, value, prospectId }: NewIdentifier, releasedAt: string) => {
    const identifier = identifiers.byHash.at({ tenantId, kind, hash })
    if (identifier?.prospectId === prospectId) identifiers.remove(identifier)
    const former = { tenantId, kind, hash, value, prospectId, releasedAt }
    const before = formerIdentifiers.byProspect.at(former)
    if (!formerIdentifiers.change(before, former)) formerIdentifiers.add(former)
    const older = [...formerIdentifiers.byRelease.backFrom(former)].slice(FORMER_VALUES_MAX)
    for (const old of older) formerIdentifiers.change(old, { value: null })
  }
  const take = (identifier: NewIdentifier) => {
    const former = formerIdentifiers.byProspect.at(identifier)
    if (former !== undefined) formerIdentifiers.remove(former)
    if (identifiers.byHash.at(identifier) === undefined)
      identifiers.add({ ...identifier, blockedUntil: null, erasureId: null })
  }

  return {
    find: async (lookup) => {
      const prospect = prospects.byId.at(lookup)
      return prospect === undefined ? null : { ...prospect }
    },
    findWithMerged: async (lookup) => {
      const prospect = prospects.byId.at(lookup)
      if (prospect === undefined || !isLiving(prospect)) return []
      const { tenantId, prospectId } = lookup
      const merged = prospects.byMergedInto.after({ tenantId, mergedInto: prospectId })
      return [{ ...prospect }, ...merged.map((row) => ({ ...row, email: null }))]
    },
    list: async ({ tenantId, identifier, beforeId, limit }) => {
      if (identifier !== null) {
        const { kind, hash } = identifier
        const { prospectId = null } = identifiers.byHash.at({ tenantId, kind, hash }) ?? {}
        const prospect = prospects.byId.at({ tenantId, prospectId })
        const isListed = prospect !== undefined && prospect.prospectId < (beforeId ?? AFTER_ALL_IDS)
        return { rows: isListed ? [{ ...prospect }] : [], resume: null }
      }
      const newestFirst = prospects.byId.backFrom({ tenantId }, beforeId)
      const { rows, resume } = scan(newestFirst, limit, isLiving, ({ prospectId }) => prospectId)
      return { rows: rows.map((row) => ({ ...row })), resume }
    },
    search: async ({ tenantId, emailStart, nameStart, limit }) => {
      const { byEmailStart, byNameStart, byLastNameStart } = prospects
      const found = (
        [
          [byEmailStart, emailStart],
          [byNameStart, nameStart],
          [byLastNameStart, nameStart],
        ] as const
      ).flatMap(([index, start]) =>
        start === '' ? [] : [...index.onFrom({ tenantId }, start, afterStart(start))],
      )
      const byId = new Map(found.map((row) => [row.prospectId, row]))
      const newest = [...byId.values()].sort((a, b) => (a.prospectId < b.prospectId ? 1 : -1))
      return newest.slice(0, limit).map((row) => ({ ...row }))
    },
    listOldest: async (lookup) => {
      const oldestFirst = prospects.byId.after(lookup, lookup.afterId, undefined, lookup.limit)
      return takeSlice(oldestFirst, lookup.limit - 1).map((row) => ({ ...row }))
    },
    correct: async ({ before, after, added, released }, events) => {
      const row = prospects.byId.at(before)
      if (row === undefined || !isUnchanged(row, before) || !isLiving(row)) return 'overtaken'
      const isFree = (identifier: NewIdentifier) => {
        const found = identifiers.byHash.at(identifier)
        return found === undefined || found.prospectId === identifier.prospectId
      }
      if (!added.every(isFree)) return 'overtaken'
      outbox.save(events)
      prospects.change(row, after)
      for (const identifier of released) release(identifier, after.updatedAt)
      added.forEach(take)
      return 'recorded'
    },
  }
}
