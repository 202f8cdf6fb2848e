import type { NewIdentifier } from '../../core/ports/identifiers.ts'
import {
  FORMER_OWNERS_READ_MAX,
  FORMER_TEXTS_MAX,
  type FoundProspect,
  LEADING_LISTED_MAX,
  type ProspectIdentifier,
  type Prospects,
} from '../../core/ports/prospects.ts'
import { IDENTIFIER_KINDS } from '../../core/prospects/identifiers.ts'
import { afterStart } from '../../core/prospects/search-keys.ts'
import { AFTER_ALL_IDS, scan, takeSlice } from '../stores/take-slice.ts'
import { isLiving, isUnchanged, type People } from './people.ts'
import { compare } from './table.ts'

export const memoryProspects = ({ prospects, identifiers, formerIdentifiers, outbox }: People): Prospects => {
  const release = ({ tenantId, kind, hash, value, prospectId }: NewIdentifier, releasedAt: string) => {
    const identifier = identifiers.byHash.at({ tenantId, kind, hash })
    if (identifier?.prospectId === prospectId) identifiers.remove(identifier)
    const former = { tenantId, kind, hash, value, prospectId, releasedAt }
    const before = formerIdentifiers.byProspect.at(former)
    if (!formerIdentifiers.change(before, former)) formerIdentifiers.add(former)
    const older = [...formerIdentifiers.byRelease.backFrom(former)].slice(FORMER_TEXTS_MAX)
    for (const old of older) formerIdentifiers.change(old, { value: null })
  }
  const forget = (identifier: NewIdentifier, merged: readonly FoundProspect[]) => {
    const { tenantId, kind, hash, value, prospectId } = identifier
    const leading = identifiers.byHash.at({ tenantId, kind, hash })
    if (leading?.prospectId === prospectId) identifiers.remove(leading)
    for (const key of [identifier, ...merged]) {
      const former = formerIdentifiers.byProspect.at({ tenantId, prospectId: key.prospectId, kind, hash })
      if (former !== undefined) formerIdentifiers.remove(former)
    }
    for (const prospect of merged)
      if (prospect[kind] === value) prospects.change(prospects.byId.at(prospect), { [kind]: null })
  }
  const mergedInto = (tenantId: string, prospectId: string) =>
    prospects.byMergedInto.after({ tenantId, mergedInto: prospectId })
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
      const merged = mergedInto(tenantId, prospectId)
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
    identifiers: async ({ tenantId, prospectId }) => {
      const found: ProspectIdentifier[] = []
      const leading = identifiers.byProspect.after({ tenantId, prospectId })
      for (const kind of IDENTIFIER_KINDS) {
        const ofKind = leading.filter((identifier) => identifier.kind === kind)
        for (const { value } of ofKind.slice(0, LEADING_LISTED_MAX))
          found.push({ kind, value: value ?? '', isFormer: false })
      }
      const ids = [prospectId, ...mergedInto(tenantId, prospectId).map((merged) => merged.prospectId)]
      for (const kind of IDENTIFIER_KINDS) {
        const newestFirst = ids
          .flatMap((id) => [...formerIdentifiers.byRelease.backFrom({ tenantId, prospectId: id, kind })])
          .sort((a, b) => compare(b.releasedAt, a.releasedAt) || compare(a.hash, b.hash))
        const shown = newestFirst.filter(({ value }) => value !== null).slice(0, FORMER_TEXTS_MAX)
        for (const { value } of shown) found.push({ kind, value: value ?? '', isFormer: true })
      }
      return found
    },
    formerOwners: async ({ tenantId, kind, hash, limit }) => {
      const newestFirst = [...formerIdentifiers.byHash.backFrom({ tenantId, kind, hash })]
      const owners = newestFirst.slice(0, FORMER_OWNERS_READ_MAX).flatMap(({ prospectId, releasedAt }) => {
        const prospect = prospects.byId.at({ tenantId, prospectId })
        if (prospect === undefined || prospect.erasedAt !== null) return []
        return [{ ownerId: prospect.mergedInto ?? prospectId, releasedAt }]
      })
      owners.sort((a, b) => compare(b.releasedAt, a.releasedAt) || compare(b.ownerId, a.ownerId))
      return [...new Set(owners.map(({ ownerId }) => ownerId))].slice(0, limit)
    },
    correct: async ({ before, after, added, released, forgotten }, events) => {
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
      const merged = forgotten.length > 0 ? mergedInto(before.tenantId, before.prospectId) : []
      for (const identifier of forgotten) forget(identifier, merged)
      added.forEach(take)
      return 'recorded'
    },
  }
}
