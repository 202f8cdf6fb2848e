import { laterThan } from '../../core/engine/until-recorded.ts'
import type { FoundProspect, Prospects } from '../../core/ports/prospects.ts'
import { afterStart } from '../../core/prospects/search-keys.ts'
import { AFTER_ALL_IDS, scan, takeSlice } from '../stores/take-slice.ts'
import type { KeptProspect, People } from './people.ts'

/** Calls `changed` after a prospect was updated. */
export const memoryProspects = (
  { prospects, outbox }: People,
  changed: (tenantId: string) => void,
): Prospects => ({
  find: async (wants) =>
    wants.map((want) => {
      const prospect = prospects.byId.at(want)
      return prospect === undefined ? null : foundProspect(prospect)
    }),
  findWithMerged: async (want) => {
    const prospect = prospects.byId.at(want)
    if (!prospect || prospect.erasedAt !== null || prospect.mergedInto !== null) return []
    const { tenantId, prospectId } = want
    const merged = prospects.byMergedInto.after({ tenantId, mergedInto: prospectId })
    const withoutEmails = merged.map((one) => ({ ...one, email: null }))
    return [prospect, ...withoutEmails].map(({ blockedUntil, ...known }) => known)
  },
  list: async (wants) =>
    wants.map((want) => {
      const { byId, byEmail, byExternalId } = prospects
      const by = want.emailHash !== null ? byEmail : want.externalIdHash !== null ? byExternalId : null
      const all = by?.backFrom(want) ?? byId.backFrom(want, want.beforeId)
      const isListed = ({ prospectId, erasedAt, mergedInto }: KeptProspect) =>
        erasedAt === null &&
        (by === null ? mergedInto === null : prospectId < (want.beforeId ?? AFTER_ALL_IDS))
      const { rows, resume } = scan(all, want.limit, isListed, ({ prospectId }) => prospectId)
      return { rows: rows.map(foundProspect), resume }
    }),
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
    return newest.slice(0, limit).map(foundProspect)
  },
  listOldest: async (want) =>
    takeSlice(prospects.byId.after(want, want.afterId, undefined, want.limit), want.limit - 1).map(
      foundProspect,
    ),
  update: async ({ email, externalId, name, updatedAt, ...want }, events) => {
    const before = prospects.byId.at(want)
    if (before === undefined || before.erasedAt !== null || before.mergedInto !== null) return null
    const fields = { ...email, ...externalId, ...(name !== undefined && { name }) }
    const after = { ...before, ...fields, updatedAt: laterThan(before.updatedAt, updatedAt) }
    const owners = [prospects.byEmail.at(after), prospects.byExternalId.at(after)]
    const isFree = (owner: KeptProspect | undefined) =>
      owner === undefined || owner === before || owner.mergedInto === want.prospectId
    if (!owners.every(isFree)) return 'overtaken'
    outbox.save(events)
    for (const one of prospects.byMergedInto.after({ ...want, mergedInto: want.prospectId }))
      prospects.change(one, {
        ...(one.emailHash === after.emailHash && { email: null, emailHash: null }),
        ...(one.externalIdHash === after.externalIdHash && { externalId: null, externalIdHash: null }),
      })
    prospects.change(before, after)
    changed(want.tenantId)
    return foundProspect(after)
  },
})

const foundProspect = ({
  emailHash,
  externalIdHash,
  blockedUntil,
  ...prospect
}: KeptProspect): FoundProspect => prospect
