import { laterThan } from '../../core/engine/until-recorded.ts'
import type { Activities, NewLog, ProspectChange, StoredReceipt } from '../../core/ports/activities.ts'
import { eventsOf } from '../stores/rows.ts'
import type { KeptProspect, People } from './people.ts'

export const memoryActivities = ({ prospects, logs, outbox }: People): Activities => {
  const isOvertaken = (change: ProspectChange): boolean => {
    const before = prospects.byId.at(change)
    if (before?.erasedAt || before?.mergedInto) return true
    const isTaken = (name: 'emailHash' | 'externalIdHash', owner: KeptProspect | undefined) =>
      change[name] !== null && (owner === undefined ? (before?.[name] ?? null) !== null : owner !== before)
    return (
      isTaken('emailHash', prospects.byEmail.at(change)) ||
      isTaken('externalIdHash', prospects.byExternalId.at(change))
    )
  }
  const isNew = (log: NewLog): boolean => logs.byKey.at(log) === undefined

  const save = (change: ProspectChange) => {
    const before = prospects.byId.at(change)
    if (before === undefined)
      prospects.add({ ...change, erasedAt: null, blockedUntil: null, mergedInto: null })
    else
      prospects.change(before, {
        email: before.email ?? change.email,
        emailHash: before.emailHash ?? change.emailHash,
        externalId: before.externalId ?? change.externalId,
        externalIdHash: before.externalIdHash ?? change.externalIdHash,
        name: before.name ?? change.name,
        updatedAt: laterThan(before.updatedAt, change.updatedAt),
      })
  }

  const add = ({ payload, apiKeyId, hops, ...log }: NewLog) => logs.add({ ...log, payload: { ...payload } })

  return {
    recall: async (wants) => ({
      prospects: [
        ...wants.prospects.map(prospects.byId.at),
        ...wants.emails.map(prospects.byEmail.at),
        ...wants.externalIds.map(prospects.byExternalId.at),
      ]
        .filter((prospect) => prospect !== undefined)
        .map(storedProspect),
      receipts: wants.keys
        .map(logs.byKey.at)
        .filter((log) => log !== undefined)
        .map(storedReceipt),
    }),
    record: async (changes, events) => {
      if (changes.prospects.some(isOvertaken) || !changes.logs.every(isNew)) return 'overtaken'
      outbox.save(events)
      changes.prospects.forEach(save)
      changes.logs.forEach(add)
      return 'recorded'
    },
    recordLogs: async (wanted, events) => {
      const logs = wanted.filter(isNew)
      const added = logs.map(({ prospectLogId }) => prospectLogId)
      outbox.save(eventsOf(added, events))
      logs.forEach(add)
      return added
    },
  }
}

const storedProspect = ({
  email,
  externalId,
  createdAt,
  updatedAt,
  blockedUntil,
  ...prospect
}: KeptProspect) => prospect

/** The receipt of a log with an idempotency key. */
const storedReceipt = ({ payload, email, name, externalId, occurredAt, ...receipt }: NewLog) =>
  receipt as StoredReceipt
