import { keyOf } from '../../core/keys.ts'
import type { Activities, NewLog, ProspectChange, StoredReceipt } from '../../core/ports/activities.ts'
import type { Timestamp } from '../../core/ports/world.ts'

/** A prospect or a tombstone. */
export type KeptProspect = ProspectChange & {
  readonly erasedAt: Timestamp | null
  readonly blockedUntil: Timestamp | null
}

/** Prospects and their logs in maps. */
export const memoryActivities = () => {
  const prospects = new Map<string, KeptProspect>()
  const byEmail = new Map<string, KeptProspect>()
  let logs: NewLog[] = []
  const byKey = new Map<string, StoredReceipt>()

  const prospectOf = ({ tenantId, prospectId }: Pick<ProspectChange, 'tenantId' | 'prospectId'>) =>
    prospects.get(keyOf(tenantId, prospectId))

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
    logs.push({ ...log, payload: { ...log.payload } })
    const { tenantId, source, idempotencyKey, requestHash } = log
    if (idempotencyKey !== null && requestHash !== null)
      byKey.set(keyOf(tenantId, source, idempotencyKey), { ...log, idempotencyKey, requestHash })
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
  return {
    activities,
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
      },
      removeLogs: (gone: ReadonlySet<NewLog>): void => {
        for (const { tenantId, source, idempotencyKey } of gone)
          if (idempotencyKey !== null) byKey.delete(keyOf(tenantId, source, idempotencyKey))
        logs = logs.filter((log) => !gone.has(log))
      },
      replaceLogs: (change: (log: NewLog) => NewLog): void => {
        logs = logs.map(change)
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
