import type { NewLog } from '../../core/ports/activities.ts'
import {
  ERASURE_NAMES_MAX,
  type Erasures,
  type NewStoredErasure,
  type StoredErasure,
} from '../../core/ports/erasures.ts'
import type { Identifier } from '../../core/ports/identifiers.ts'
import type { Served } from '../../core/ports/world.ts'
import { newErasureRow } from '../stores/people-rows.ts'
import { takeSlice } from '../stores/take-slice.ts'
import { storedIdentifier } from './activities.ts'
import { claimFrom } from './claim.ts'
import { isOfNoOne, isUnchanged, type KeptIdentifier, type People } from './people.ts'
import { indexBy, tableOf } from './table.ts'

type Row = Omit<ReturnType<typeof newErasureRow>, 'formerlyOf'> &
  Pick<StoredErasure, 'formerlyOf' | 'stillLeadsTo'>

/** Calls `notify` after a person was erased. */
export const memoryErasures = (
  { prospects, identifiers, formerIdentifiers, logs, merges, outbox }: People,
  notify: () => void,
): Erasures => {
  const erasures = outbox.registerTable(
    'erasures',
    tableOf({
      byId: indexBy<Row>(['tenantId'], ['erasureId']),
      byProspect: indexBy<Row>(['tenantId', 'prospectId'], ['erasureId']),
      byStatus: indexBy<Row>(['status'], ['erasureId']),
    }),
  )
  let served: Served | null = null
  const inProgress = () => [...erasures.byStatus.after({ status: 'processing' })]
  const running = (wanted: Partial<Row>) =>
    inProgress().find((row) =>
      Object.entries(wanted).every(([name, value]) => row[name as keyof Row] === value),
    )
  const blockedBy = ({ tenantId, erasureId }: Pick<Row, 'tenantId' | 'erasureId'>) =>
    identifiers.byErasure.after({ tenantId, erasureId })
  const stored = ({ position, attempts, claimableAt, ...erasure }: Row): StoredErasure => ({
    ...erasure,
    blockedUntil:
      blockedBy(erasure)
        .map(({ blockedUntil }) => blockedUntil)
        .sort()
        .at(-1) ?? null,
  })
  /** Blocks an identifier that leads to no prospect, or only to the erased one. Not one of the tenant's placeholders. */
  const block = (
    { tenantId, kind, hash }: Pick<KeptIdentifier, keyof Identifier>,
    erasureId: string,
    until: string,
  ) => {
    const found = identifiers.byHash.at({ tenantId, kind, hash })
    if (found && isOfNoOne(found)) return
    const blockedUntil = found?.blockedUntil && found.blockedUntil > until ? found.blockedUntil : until
    const blocked = { tenantId, kind, hash, value: null, prospectId: null, blockedUntil, erasureId }
    if (!identifiers.change(found, blocked)) identifiers.add(blocked)
  }
  const leadsToProspect = (identifier: Identifier): boolean =>
    (identifiers.byHash.at(identifier)?.prospectId ?? null) !== null
  const findRow = (lookup: Parameters<Erasures['find']>[0]): Row | undefined => {
    if ('erasureId' in lookup) return erasures.byId.at(lookup)
    if (!('erasedId' in lookup)) return running(lookup)
    const [found] = erasures.byProspect.after({ ...lookup, prospectId: lookup.erasedId })
    return found?.partOf ? erasures.byId.at({ ...found, erasureId: found.partOf }) : found
  }

  return {
    find: async (lookup) => {
      const row = findRow(lookup)
      return row === undefined || row.partOf !== null ? null : stored(row)
    },
    blockedBy: async (tenantId, erasureIds) =>
      [...new Set(erasureIds)]
        .flatMap((erasureId) => blockedBy({ tenantId, erasureId }))
        .map(storedIdentifier),
    list: async (lookup) => {
      const all = erasures.byId.backFrom(lookup, lookup.beforeId)
      const shown = all.filter(({ partOf }) => partOf === null)
      return takeSlice(shown, lookup.limit).map(stored)
    },

    record: async ({ tenantId, now, until, prospects: people, identifier, erasures: added }, events) => {
      const [person] = people
      if (person !== undefined && !isUnchanged(prospects.byId.at(person), person)) return 'overtaken'
      if (identifier !== null && leadsToProspect(identifier)) return 'overtaken'
      const isErased = ({ prospectId }: NewStoredErasure) =>
        prospectId !== null && running({ tenantId, prospectId }) !== undefined
      if (added.some(isErased)) return 'overtaken'
      outbox.save(events)
      const { erasureId = '' } = added[0] ?? {}
      const erased = {
        email: null,
        externalId: null,
        name: null,
        attributes: null,
        updatedAt: now,
        erasedAt: now,
      }
      for (const prospect of people) prospects.change(prospects.byId.at(prospect), erased)
      const endedMerges = merges.byStatus
        .after({ status: 'processing' })
        .filter((merge) => merge.tenantId === tenantId && merge.intoId === person?.prospectId)
      for (const merge of endedMerges) merges.change(merge, { status: 'completed', completedAt: now })
      if (identifier !== null) block(identifier, erasureId, until)
      const current = person === undefined ? [] : identifiers.byProspect.after(person)
      for (const identifier of current) block(identifier, erasureId, until)
      const stillLeadsTo = new Set<string>()
      for (const former of people.flatMap((prospect) => formerIdentifiers.byProspect.after(prospect))) {
        const { prospectId } = identifiers.byHash.at(former) ?? {}
        if (prospectId) stillLeadsTo.add(prospectId)
        else block(former, erasureId, until)
        formerIdentifiers.remove(former)
      }
      const newestFirst = [...stillLeadsTo].sort().reverse().slice(0, ERASURE_NAMES_MAX)
      for (const erasure of added)
        erasures.add({
          ...newErasureRow(erasure),
          formerlyOf: [...erasure.formerlyOf],
          stillLeadsTo: erasure.partOf === null ? newestFirst : [],
        })
      notify()
      return 'recorded'
    },

    claim: async (lookup) =>
      claimFrom(inProgress(), erasures.change, lookup).map(({ formerlyOf, stillLeadsTo, ...row }) => ({
        ...row,
        attempt: row.attempts,
      })),

    deleteLogs: async ({ tenantId, erasureId, partOf, prospectId }, max) => {
      const gone = [...logs.timelines.backFrom({ tenantId, prospectId })].slice(0, max)
      gone.forEach(logs.remove)
      const row = erasures.byId.at({ tenantId, erasureId: partOf ?? erasureId })
      erasures.change(row, { logsErased: (row?.logsErased ?? 0) + gone.length })
      return gone.length
    },

    namesAfter: async (tenantId, afterId, max) => {
      const namesOf = ({ prospectLogId, email, externalId }: NewLog) => ({ prospectLogId, email, externalId })
      return takeSlice([...logs.byId.after({ tenantId }, afterId)].slice(0, max).map(namesOf), max)
    },

    settle: async (tenantId, steps, foreign = []) => {
      const cleaned = { email: null, externalId: null, name: null, requestHash: null }
      for (const prospectLogId of foreign) logs.change(logs.byId.at({ tenantId, prospectLogId }), cleaned)
      for (const { erasureId, attempt, ...step } of steps) {
        const { pass, settlesAfter, position, claimableAt, status, completedAt } = step
        const row = erasures.byId.at({ tenantId, erasureId })
        const isHeldUp = completedAt !== null && running({ tenantId, partOf: erasureId })
        if (row?.status === 'processing' && row.attempts === attempt && !isHeldUp)
          erasures.change(row, { pass, settlesAfter, position, claimableAt, status, completedAt })
      }
    },

    purgeDeleted: async () => true,

    extend: async (lookup, until) => {
      for (const identifier of blockedBy(lookup))
        if (String(identifier.blockedUntil) < until) identifiers.change(identifier, { blockedUntil: until })
    },
    unblock: async (lookup, now) => {
      for (const identifier of blockedBy(lookup))
        if (String(identifier.blockedUntil) > now) identifiers.change(identifier, { blockedUntil: now })
    },

    backlog: async (countMax) => {
      const waiting = inProgress().slice(0, countMax)
      return { count: waiting.length, oldest: waiting.map((row) => row.requestedAt).sort()[0] ?? null }
    },

    expire: async ({ tenantId, now, beforeLogId, max }) => {
      const isOver = ({ erasureId }: KeptIdentifier) =>
        erasureId === null || running({ tenantId, erasureId }) === undefined
      // Each text that begins with `now` comes before this.
      const over = identifiers.byBlockedUntil.onFrom({ tenantId }, '', `${now}\u0001`)
      const ended = [...over].filter(isOver).slice(0, max)
      ended.forEach(identifiers.remove)
      const old = [...logs.byId.after({ tenantId }, '', beforeLogId ?? '')].slice(0, max)
      old.forEach(logs.remove)
      return Math.max(ended.length, old.length) === max
    },

    lastServed: async () => served,
    saveClock: async (now) => {
      served = now
    },
  }
}
