import { keyOf } from '../../core/keys.ts'
import type { Activities, NewLog, ProspectChange, StoredReceipt } from '../../core/ports/activities.ts'
import type { FoundProspect, Prospects, ProspectWant } from '../../core/ports/prospects.ts'
import type { SliceWant, Timestamp } from '../../core/ports/world.ts'
import { lookThrough } from '../rows.ts'
import { memoryProspectLogs } from './prospect-logs.ts'
import { sortedLists } from './sorted-lists.ts'

/** A prospect or a tombstone. */
export type KeptProspect = ProspectChange & {
  readonly erasedAt: Timestamp | null
  readonly blockedUntil: Timestamp | null
}

/** Prospects and their logs in maps. Calls `changed` after a prospect was updated. */
export const memoryActivities = (changed: () => void) => {
  const prospects = new Map<string, KeptProspect>()
  const byEmail = new Map<string, KeptProspect>()
  let logs: NewLog[] = []
  const byKey = new Map<string, StoredReceipt>()
  const ofTenant = sortedLists<ProspectWant>(({ prospectId }) => prospectId)

  const prospectOf = ({ tenantId, prospectId }: Pick<ProspectChange, 'tenantId' | 'prospectId'>) =>
    prospects.get(keyOf(tenantId, prospectId))
  const { prospectLogs, add: addToLists, remove: removeFromLists } = memoryProspectLogs(prospectOf)

  const isOvertaken = (change: ProspectChange): boolean => {
    if (prospectOf(change)?.erasedAt) return true
    if (change.emailHash === null) return false
    const owner = byEmail.get(keyOf(change.tenantId, change.emailHash)) ?? change
    const before = prospectOf(change)?.emailHash ?? change.emailHash
    return owner.prospectId !== change.prospectId || before !== change.emailHash
  }
  const isLogged = ({ tenantId, source, idempotencyKey }: NewLog): boolean =>
    idempotencyKey !== null && byKey.has(keyOf(tenantId, source, idempotencyKey))

  const save = (change: ProspectChange) => {
    const { tenantId, prospectId } = change
    if (!prospectOf(change)) ofTenant.add(tenantId, { tenantId, prospectId })
    const before = prospectOf(change) ?? { ...change, erasedAt: null, blockedUntil: null }
    const email = before.email ?? change.email
    const emailHash = before.emailHash ?? change.emailHash
    const after = {
      ...before,
      email,
      emailHash,
      name: before.name ?? change.name,
      updatedAt: change.updatedAt,
    }
    keep(after)
  }
  const keep = (prospect: KeptProspect) => {
    const { tenantId, prospectId, emailHash } = prospect
    const { emailHash: freed } = prospectOf(prospect) ?? prospect
    if (freed !== null && freed !== emailHash) byEmail.delete(keyOf(tenantId, freed))
    prospects.set(keyOf(tenantId, prospectId), prospect)
    if (emailHash !== null) byEmail.set(keyOf(tenantId, emailHash), prospect)
  }

  const add = (log: NewLog) => {
    const kept = { ...log, payload: { ...log.payload } }
    logs.push(kept)
    addToLists(kept)
    const { payload, email, name, occurredAt, idempotencyKey, requestHash, ...receipt } = log
    if (idempotencyKey !== null && requestHash !== null)
      byKey.set(keyOf(log.tenantId, log.source, idempotencyKey), { ...receipt, idempotencyKey, requestHash })
  }

  const activities: Activities = {
    recall: async (wants) => ({
      prospects: [
        ...wants.prospects.map(prospectOf),
        ...wants.emails.map(({ tenantId, emailHash }) => byEmail.get(keyOf(tenantId, emailHash))),
      ].flatMap((prospect) => (prospect === undefined ? [] : [storedProspect(prospect)])),
      receipts: wants.keys.flatMap(({ tenantId, source, idempotencyKey }) => {
        const receipt = byKey.get(keyOf(tenantId, source, idempotencyKey))
        return receipt === undefined ? [] : [{ ...receipt }]
      }),
    }),
    record: async (changes) => {
      if (changes.prospects.some(isOvertaken) || changes.logs.some(isLogged)) return 'overtaken'
      changes.prospects.forEach(save)
      changes.logs.forEach(add)
      return 'recorded'
    },
    recordLogs: async (logs) => {
      const added = logs.filter((log) => !isLogged(log))
      added.forEach(add)
      return added.map(({ prospectLogId }) => prospectLogId)
    },
  }
  const fromNewest = function* ({ tenantId, beforeId }: SliceWant) {
    for (const want of ofTenant.backFrom(tenantId, beforeId)) yield prospectOf(want) as KeptProspect
  }
  const isListed = ({ erasedAt }: KeptProspect) => erasedAt === null
  const prospectsPort: Prospects = {
    find: async (wants) => wants.map((want) => [prospectOf(want) ?? []].flat().map(foundProspect)[0] ?? null),
    list: async (wants) =>
      wants.map((want) => {
        const owner = byEmail.get(keyOf(want.tenantId, want.emailHash ?? ''))
        const { rows, resume } =
          want.emailHash === null
            ? lookThrough(fromNewest(want), want.limit, isListed, ({ prospectId }) => prospectId)
            : { rows: [owner ?? []].flat().filter(isListed), resume: null }
        return { rows: rows.map(foundProspect), resume }
      }),
    update: async ({ email, name, updatedAt, ...want }) => {
      const before = prospectOf(want)
      if (before === undefined || before.erasedAt !== null) return null
      const after = { ...before, ...email, ...(name !== undefined && { name }), updatedAt }
      const owner = byEmail.get(keyOf(want.tenantId, after.emailHash ?? ''))
      if (owner !== undefined && owner.prospectId !== want.prospectId) return 'overtaken'
      byEmail.delete(keyOf(want.tenantId, before.emailHash ?? ''))
      keep(after)
      changed()
      return foundProspect(after)
    },
  }

  return {
    activities,
    prospects: prospectsPort,
    prospectLogs,
    keptProspects: () => [...prospects.values()].map(({ erasedAt, blockedUntil, ...kept }) => kept),
    keptLogs: () => [...logs],
    /** For the erasures. */
    people: {
      all: () => [...prospects.values()],
      find: prospectOf,
      owner: (tenantId: string, emailHash: string) => byEmail.get(keyOf(tenantId, emailHash)),
      keep,
      remove: (prospect: KeptProspect): void => {
        keep({ ...prospect, emailHash: null })
        prospects.delete(keyOf(prospect.tenantId, prospect.prospectId))
        ofTenant.remove(prospect.tenantId, prospect)
      },
      removeLogs: (gone: ReadonlySet<NewLog>): void => {
        for (const { tenantId, source, idempotencyKey } of gone)
          if (idempotencyKey !== null) byKey.delete(keyOf(tenantId, source, idempotencyKey))
        logs = logs.filter((log) => !gone.has(log))
        gone.forEach(removeFromLists)
      },
      replaceLogs: (change: (log: NewLog) => NewLog): void => {
        const changed = logs.map(change)
        logs.filter((log, i) => log !== changed[i]).forEach(removeFromLists)
        changed.filter((log, i) => log !== logs[i]).forEach(addToLists)
        logs = changed
      },
    },
  }
}

const storedProspect = ({ tenantId, prospectId, emailHash, name, erasedAt }: KeptProspect) => ({
  tenantId,
  prospectId,
  emailHash,
  name,
  erasedAt,
})

const foundProspect = (prospect: KeptProspect): FoundProspect => {
  const { prospectId, tenantId, email, name, createdAt, updatedAt, erasedAt } = prospect
  return { prospectId, tenantId, email, name, createdAt, updatedAt, erasedAt }
}
