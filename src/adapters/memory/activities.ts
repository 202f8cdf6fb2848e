import { keyOf } from '../../core/keys.ts'
import type {
  Activities,
  NewLog,
  ProspectChange,
  StoredProspect,
  StoredReceipt,
} from '../../core/ports/activities.ts'

/** Prospects and their logs in maps. */
export const memoryActivities = () => {
  const prospects = new Map<string, ProspectChange>()
  const idByEmail = new Map<string, string>()
  const logs: NewLog[] = []
  const byKey = new Map<string, StoredReceipt>()

  const prospectById = ({ tenantId, prospectId }: { tenantId: string; prospectId: string }) =>
    prospects.get(keyOf(tenantId, prospectId))

  const isOvertaken = (changes: readonly ProspectChange[], added: readonly NewLog[]): boolean =>
    changes.some((change) => {
      if (change.emailHash === null) return false
      const owner = idByEmail.get(keyOf(change.tenantId, change.emailHash))
      const before = prospectById(change)?.emailHash ?? change.emailHash
      return (owner !== undefined && owner !== change.prospectId) || before !== change.emailHash
    }) ||
    added.some(
      ({ tenantId, source, idempotencyKey }) =>
        idempotencyKey !== null && byKey.has(keyOf(tenantId, source, idempotencyKey)),
    )

  const save = (change: ProspectChange) => {
    const before = prospectById(change)
    const after =
      before === undefined
        ? { ...change }
        : {
            ...before,
            email: before.email ?? change.email,
            emailHash: before.emailHash ?? change.emailHash,
            name: before.name ?? change.name,
          }
    prospects.set(keyOf(after.tenantId, after.prospectId), after)
    if (after.emailHash !== null) idByEmail.set(keyOf(after.tenantId, after.emailHash), after.prospectId)
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
        ...wants.prospects.map(prospectById),
        ...wants.emails.map(({ tenantId, emailHash }) => {
          const prospectId = idByEmail.get(keyOf(tenantId, emailHash))
          return prospectId === undefined ? undefined : prospectById({ tenantId, prospectId })
        }),
      ].flatMap((prospect) => (prospect === undefined ? [] : [storedProspect(prospect)])),
      receipts: wants.keys.flatMap(({ tenantId, source, idempotencyKey }) =>
        copiesOf(byKey.get(keyOf(tenantId, source, idempotencyKey))),
      ),
    }),
    record: async (changes) => {
      if (isOvertaken(changes.prospects, changes.logs)) return 'overtaken'
      changes.prospects.forEach(save)
      changes.logs.forEach(add)
      return 'recorded'
    },
  }
  return { activities, keptProspects: () => [...prospects.values()], keptLogs: () => [...logs] }
}

const storedProspect = ({ tenantId, prospectId, emailHash, name }: ProspectChange): StoredProspect => ({
  tenantId,
  prospectId,
  emailHash,
  name,
})

const copiesOf = (receipt: StoredReceipt | undefined): StoredReceipt[] =>
  receipt === undefined ? [] : [{ ...receipt }]
