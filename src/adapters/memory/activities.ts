import { keyOf } from '../../core/engine/keys.ts'
import { laterThan } from '../../core/engine/until-recorded.ts'
import { eventsOfLog } from '../../core/events/new-event.ts'
import type {
  Activities,
  NewLog,
  ProspectChange,
  RememberedLog,
  StoredProspect,
  StoredReceipt,
} from '../../core/ports/activities.ts'
import type { AssumedIdentifier, Identifier, NewIdentifier } from '../../core/ports/identifiers.ts'
import type { FoundProspect } from '../../core/ports/prospects.ts'
import { isLiving, type KeptIdentifier, type People } from './people.ts'

/** `isKept`: whether the tenant of a row is there, and not deleted. */
export const memoryActivities = (
  people: People,
  isKept: (row: { tenantId: string }) => boolean,
): Activities => {
  const { prospects, identifiers, formerIdentifiers, logs, counted, outbox } = people

  const isAsAssumed = (assumed: AssumedIdentifier): boolean => {
    const found = identifiers.byHash.at(assumed)
    if (found === undefined) return assumed.prospectId === null
    return found.prospectId !== null && found.prospectId === assumed.prospectId
  }
  const isFree = (identifier: Identifier): boolean => identifiers.byHash.at(identifier) === undefined

  /** Another writer may have erased or merged the prospect, or filled a blank with another value. */
  const canBeSaved = (change: ProspectChange): boolean => {
    const before = prospects.byId.at(change)
    if (before === undefined) return true
    const isFilled = (name: 'email' | 'externalId') =>
      before[name] !== null && change[name] !== null && before[name] !== change[name]
    return isLiving(before) && !isFilled('email') && !isFilled('externalId')
  }
  const canBeAdded = (log: NewLog): boolean => {
    const closedTo = counted.byId.at(log)?.closedTo ?? ''
    return logs.byKey.at(log) === undefined && log.prospectLogId > closedTo
  }
  const isUnchanged = (log: RememberedLog): boolean => {
    const prospect = prospects.byId.at(log)
    return prospect !== undefined && isLiving(prospect) && prospect.updatedAt === log.prospectUpdatedAt
  }

  const saveProspect = (change: ProspectChange) => {
    const before = prospects.byId.at(change)
    if (before === undefined) prospects.add({ ...change, erasedAt: null, mergedInto: null })
    else
      prospects.change(before, {
        email: before.email ?? change.email,
        externalId: before.externalId ?? change.externalId,
        name: before.name ?? change.name,
        updatedAt: laterThan(before.updatedAt, change.updatedAt),
      })
  }
  /** It is no former one of its prospect any more. */
  const addIdentifier = (identifier: NewIdentifier) => {
    const former = formerIdentifiers.byProspect.at(identifier)
    if (former !== undefined) formerIdentifiers.remove(former)
    identifiers.add({ ...identifier, blockedUntil: null, erasureId: null })
  }
  const addLog = (log: NewLog) => logs.add(keptLog(log))

  return {
    recall: async (wants) => {
      const found = wants.identifiers.flatMap((want) => identifiers.byHash.at(want) ?? [])
      const wanted = [...wants.prospects, ...found]
      return {
        prospects: wanted.flatMap((want) => prospects.byId.at(want) ?? []).map(storedProspect),
        identifiers: found.map(storedIdentifier),
        receipts: wants.keys.flatMap((want) => logs.byKey.at(want) ?? []).map(storedReceipt),
        counted: wants.tenantIds.flatMap((tenantId) => {
          const tenant = counted.byId.at({ tenantId })
          return tenant === undefined ? [] : [{ tenantId, countedId: tenant.closedTo }]
        }),
      }
    },

    record: async (changes, events = []) => {
      const saved = new Set(changes.prospects.map(({ tenantId, prospectId }) => keyOf(tenantId, prospectId)))
      const hasProspect = (log: NewLog): boolean => {
        const prospect = prospects.byId.at(log)
        return (
          saved.has(keyOf(log.tenantId, log.prospectId)) || (prospect !== undefined && isLiving(prospect))
        )
      }
      const isAsDecided =
        changes.assumed.every(isAsAssumed) &&
        changes.identifiers.every(isFree) &&
        changes.prospects.every(isKept) &&
        changes.prospects.every(canBeSaved) &&
        changes.logs.every((log) => canBeAdded(log) && hasProspect(log))
      if (!isAsDecided) return 'overtaken'
      outbox.save([...changes.logs.flatMap(eventsOfLog), ...events])
      changes.prospects.forEach(saveProspect)
      changes.identifiers.forEach(addIdentifier)
      changes.logs.forEach(addLog)
      return 'recorded'
    },

    recordLogs: async (wanted) => {
      const added = wanted.filter((log) => canBeAdded(log) && isUnchanged(log))
      outbox.save(added.flatMap(eventsOfLog))
      added.forEach(addLog)
      return added.map(({ prospectLogId }) => prospectLogId)
    },
  }
}

const storedProspect = ({ createdAt, ...prospect }: FoundProspect): StoredProspect => prospect

export const storedIdentifier = ({ value, ...identifier }: KeptIdentifier) => identifier

/** The columns of a log. A remembered one has more members. */
const keptLog = (log: NewLog & Partial<RememberedLog>): NewLog => {
  const { apiKeyId, hops, prospectUpdatedAt, ...kept } = log
  return { ...kept, payload: { ...log.payload } }
}

/** The receipt of a log with an idempotency key. */
const storedReceipt = ({ payload, email, name, externalId, occurredAt, ...receipt }: NewLog) =>
  receipt as StoredReceipt
