import { sha256 } from '../../core/engine/keys.ts'
import { eventsOfLog } from '../../core/events/new-event.ts'
import type {
  Activities,
  ActivityChange,
  LogKeyLookup,
  NewLog,
  StoredProspect,
  StoredReceipt,
} from '../../core/ports/activities.ts'
import type {
  AssumedIdentifier,
  IdentifierLookup,
  NewIdentifier,
  StoredIdentifier,
} from '../../core/ports/identifiers.ts'
import type { FoundProspect } from '../../core/ports/prospects.ts'
import { isLiving, type KeptIdentifier, type People, placeOfScope } from './people.ts'

/** `isKept`: whether the tenant of a row exists and is not deleted. */
export const memoryActivities = (
  people: People,
  isKept: (row: { tenantId: string }) => boolean,
): Activities => {
  const { prospects, identifiers, formerIdentifiers, logs, counted, outbox } = people

  const listedDomain = ({ tenantId, domain }: IdentifierLookup): KeptIdentifier | undefined =>
    domain === undefined
      ? undefined
      : identifiers.byHash.at({ tenantId, kind: 'emailDomain', hash: sha256(domain) })
  const isAsAssumed = (assumed: AssumedIdentifier): boolean => {
    const found = identifiers.byHash.at(assumed)
    if (found === undefined) return assumed.prospectId === null && listedDomain(assumed) === undefined
    return found.prospectId !== null && found.prospectId === assumed.prospectId
  }
  const isFree = (identifier: NewIdentifier): boolean => identifiers.byHash.at(identifier) === undefined
  const isUnchanged = ({ prospect, unchangedSince }: ActivityChange): boolean => {
    const now = prospects.byId.at(prospect)
    if (unchangedSince === null) return now === undefined && isKept(prospect)
    return now !== undefined && isLiving(now) && now.updatedAt === unchangedSince
  }
  const canBeAdded = (log: NewLog): boolean => {
    const closedTo = counted.byId.at(log)?.closedTo ?? ''
    return logs.byKey.at(log) === undefined && log.prospectLogId > closedTo
  }

  const lastLogWith = (key: LogKeyLookup & { readonly tenantId: string }): NewLog | undefined => {
    const afterLast = `${placeOfScope({ keyScope: key.lastKeyScope })}\0`
    return [...logs.byKey.backFrom(key, afterLast, placeOfScope(key))][0]
  }

  const saveProspect = ({ prospect, attributes, unchangedSince }: ActivityChange): void => {
    const { email, externalId, name, updatedAt } = prospect
    if (unchangedSince === null) prospects.add({ ...prospect, attributes, createdAt: updatedAt })
    else if (updatedAt !== unchangedSince) {
      const before = prospects.byId.at(prospect)
      const filled = {
        email,
        externalId,
        name,
        attributes: attributes ?? before?.attributes ?? null,
        updatedAt,
      }
      prospects.change(before, filled)
    }
  }
  /** Then it is no longer a former identifier of its prospect. */
  const addIdentifier = (identifier: NewIdentifier): void => {
    const former = formerIdentifiers.byProspect.at(identifier)
    if (former !== undefined) formerIdentifiers.remove(former)
    identifiers.add({ ...identifier, blockedUntil: null, erasureId: null })
  }

  return {
    recall: async ({ tenantId, prospectId, identifiers: wanted, key }) => {
      const found = wanted.flatMap((identifier) => {
        const found = identifiers.byHash.at(identifier)
        if (found !== undefined) return found
        const ofDomain = listedDomain(identifier)
        return ofDomain ? { ...ofDomain, kind: identifier.kind, hash: identifier.hash } : []
      })
      const ids = [prospectId, ...found.map((identifier) => identifier.prospectId)]
      const receipt = key && lastLogWith({ tenantId, ...key })
      return {
        prospects: ids
          .flatMap((id) => (id && prospects.byId.at({ tenantId, prospectId: id })) || [])
          .map(storedProspect),
        identifiers: found.map(storedIdentifier),
        receipt: receipt ? storedReceipt(receipt) : null,
        countedId: counted.byId.at({ tenantId })?.closedTo ?? null,
      }
    },

    record: async (change, events = []) => {
      const { log } = change
      const isAsDecided =
        change.assumed.every(isAsAssumed) &&
        change.identifiers.every(isFree) &&
        isUnchanged(change) &&
        (log === null || canBeAdded(log))
      if (!isAsDecided) return 'overtaken'
      outbox.save([...(log === null ? [] : eventsOfLog(log)), ...events])
      saveProspect(change)
      change.identifiers.forEach(addIdentifier)
      if (log !== null) logs.add(keptLog(log))
      return 'recorded'
    },
  }
}

const storedProspect = ({ createdAt, attributes, ...prospect }: FoundProspect): StoredProspect => prospect

export const storedIdentifier = ({ value, ...identifier }: KeptIdentifier): StoredIdentifier =>
  identifier as StoredIdentifier

const keptLog = ({ apiKeyId, hops, ...log }: NewLog): NewLog => ({ ...log, payload: { ...log.payload } })

/** The receipt of a log with an idempotency key. */
const storedReceipt = ({ payload, email, name, externalId, occurredAt, keyScope, ...receipt }: NewLog) =>
  receipt as StoredReceipt
