import { laterThan } from '../../core/engine/times.ts'
import type { Placeholder, Placeholders } from '../../core/ports/placeholders.ts'
import { isLiving, isOfNoOne, type KeptIdentifier, type People } from './people.ts'

/** `isKept`: whether the tenant of a row exists and is not deleted. */
export const memoryPlaceholders = (
  { prospects, identifiers }: People,
  isKept: (row: { tenantId: string }) => boolean,
): Placeholders => {
  const release = (identifier: KeptIdentifier, changesAt: string) => {
    const { tenantId, prospectId } = identifier
    prospects.change(prospects.byId.at({ tenantId, prospectId }), { updatedAt: changesAt })
    identifiers.remove(identifier)
  }
  return {
    list: async (tenantId) =>
      identifiers
        .all()
        .filter((row) => row.tenantId === tenantId && isOfNoOne(row))
        .sort((a, b) => (`${a.kind} ${a.hash}` < `${b.kind} ${b.hash}` ? -1 : 1))
        .slice(0, 1_001)
        .map(({ tenantId, kind, hash, value }) => ({ tenantId, kind, hash, value }) as Placeholder),

    add: async ({ tenantId, kind, hash, value }, joined, now) => {
      const found = identifiers.byHash.at({ tenantId, kind, hash })
      const prospectId = joined?.prospectId ?? null
      const isBlocked = (found?.blockedUntil ?? '') > now
      if ((found?.prospectId ?? null) !== prospectId || isBlocked || !isKept({ tenantId })) return 'overtaken'
      const prospect = prospectId === null ? undefined : prospects.byId.at({ tenantId, prospectId })
      const isUnchanged = prospect && isLiving(prospect) && prospect.updatedAt === joined?.updatedAt
      if (joined !== null && !isUnchanged) return 'overtaken'
      if (found !== undefined) identifiers.remove(found)
      prospects.change(prospect, { updatedAt: joined?.changesAt ?? now })
      identifiers.add({ tenantId, kind, hash, value, prospectId: null, blockedUntil: null, erasureId: null })
      return 'recorded'
    },

    remove: async ({ tenantId, kind, hash }) => {
      const found = identifiers.byHash.at({ tenantId, kind, hash })
      if (found === undefined || !isOfNoOne(found)) return false
      identifiers.remove(found)
      return true
    },

    releaseSome: async ({ tenantId, domain, afterHash, max, now }) => {
      const emails = identifiers
        .all()
        .filter((row) => row.tenantId === tenantId && row.kind === 'email' && row.hash > afterHash)
        .sort((a, b) => (a.hash < b.hash ? -1 : 1))
        .slice(0, max)
      const released = emails.filter((row) => row.prospectId !== null && row.value?.endsWith(`@${domain}`))
      for (const row of released) {
        const { updatedAt } = prospects.byId.at({ tenantId, prospectId: row.prospectId }) ?? {
          updatedAt: now,
        }
        release(row, laterThan(updatedAt, now))
      }
      return {
        prospectIds: released.map((row) => row.prospectId ?? ''),
        lastHash: emails.length < max ? null : (emails.at(-1)?.hash ?? null),
      }
    },
  }
}
