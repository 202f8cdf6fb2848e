import type { NewLog } from '../../core/ports/activities.ts'
import type { Erasures, StoredErasure } from '../../core/ports/erasures.ts'
import type { Served } from '../../core/ports/world.ts'
import { isIdentified, NO_IDENTIFIERS } from '../../core/prospects/identifiers.ts'
import { blockRow, newErasureRow } from '../stores/people-rows.ts'
import { takeSlice } from '../stores/take-slice.ts'
import { claimFrom } from './claim.ts'
import { isUnchanged, type KeptProspect, type People } from './people.ts'
import { indexBy, tableOf } from './table.ts'

type Row = ReturnType<typeof newErasureRow>

/** Calls `notify` after a person was erased. */
export const memoryErasures = (
  { prospects, logs, merges, outbox }: People,
  notify: (tenantId: string) => void,
): Erasures => {
  const erasures = outbox.own(
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
  const blockOf = (row: Pick<Row, 'tenantId' | 'blockId'> | undefined) =>
    row && prospects.byId.at({ tenantId: row.tenantId, prospectId: row.blockId })
  const blocksOf = ({ tenantId, erasureId }: Pick<Row, 'tenantId' | 'erasureId'>) =>
    erasures.byId
      .after({ tenantId })
      .filter((row) => row.erasureId === erasureId || row.partOf === erasureId)
      .flatMap((row) => blockOf(row) ?? [])
  const extendTo = (until: string) => (block: KeptProspect) => {
    if ((block.blockedUntil ?? '') < until) prospects.change(block, { blockedUntil: until })
  }
  const stored = ({ position, attempts, claimableAt, ...erasure }: Row): StoredErasure => ({
    ...erasure,
    blockedUntil: blockOf(erasure)?.blockedUntil ?? null,
  })

  return {
    find: async (want) => {
      const ofErased = () =>
        'erasedId' in want
          ? erasures.byProspect.after({ ...want, prospectId: want.erasedId })[0]
          : running(want)
      const found = 'erasureId' in want ? erasures.byId.at(want) : ofErased()
      const leads = !('erasureId' in want || 'prospectId' in want)
      const row = leads && found?.partOf ? erasures.byId.at({ ...found, erasureId: found.partOf }) : found
      return row === undefined || row.partOf !== null ? null : stored(row)
    },
    list: async (wants) =>
      wants.map((want) => {
        const all = erasures.byId.backFrom(want, want.beforeId)
        return takeSlice(
          all.filter(({ partOf }) => partOf === null),
          want.limit,
        ).map(stored)
      }),

    record: async ({ tenantId, now, until, prospects: people, erasures: added }, events) => {
      const [person] = people
      const row = prospects.byId.at({ tenantId, prospectId: person?.prospectId ?? null })
      if (person !== undefined && !isUnchanged(row, person)) return 'overtaken'
      const erased = people.map(({ prospectId }) => prospects.byId.at({ tenantId, prospectId }))
      const isTaken = (erasure: StoredErasure) => {
        const { blockId, prospectId, emailHash, externalIdHash } = erasure
        const names = { tenantId, emailHash, externalIdHash }
        const owners = [prospects.byEmail.at(names), prospects.byExternalId.at(names)]
        const isOwned = owners.some(
          (owner) => owner && owner.prospectId !== blockId && !erased.includes(owner),
        )
        return (
          isOwned ||
          (emailHash !== null && running({ tenantId, prospectId, emailHash })) ||
          (externalIdHash !== null && running({ tenantId, prospectId, externalIdHash }))
        )
      }
      if (added.some(isTaken)) return 'overtaken'
      outbox.save(events)
      const erasedNow = { ...NO_IDENTIFIERS, name: null, updatedAt: now, erasedAt: now }
      for (const one of erased) prospects.change(one, erasedNow)
      for (const merge of merges.byStatus.after({ status: 'processing' }))
        if (merge.tenantId === tenantId && merge.intoId === person?.prospectId)
          merges.change(merge, { status: 'completed', completedAt: now })
      for (const erasure of added) {
        erasures.add(newErasureRow(erasure))
        const blocked = blockOf(erasure)
        if (blocked !== undefined) extendTo(until)(blocked)
        else if (isIdentified(erasure)) prospects.add(blockRow(erasure, now, until))
      }
      notify(tenantId)
      return 'recorded'
    },

    claim: async (want) =>
      claimFrom(inProgress(), erasures.change, want).map((row) => ({ ...row, attempt: row.attempts })),

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
      for (const { erasureId, attempt, pass, position, claimableAt, status, completedAt } of steps) {
        const row = erasures.byId.at({ tenantId, erasureId })
        const isHeldUp = completedAt !== null && running({ tenantId, partOf: erasureId })
        if (row?.status === 'processing' && row.attempts === attempt && !isHeldUp)
          erasures.change(row, {
            ...{ pass, position, claimableAt, status, completedAt },
            ...(completedAt !== null && { emailHash: null, externalIdHash: null }),
          })
      }
    },

    rewrite: async () => true,

    extend: async (want, until) => blocksOf(want).forEach(extendTo(until)),
    unblock: async (want, now) => {
      for (const block of blocksOf(want))
        if ((block.blockedUntil ?? '') > now) prospects.change(block, { blockedUntil: now })
    },

    backlog: async (countMax) => {
      const waiting = inProgress().slice(0, countMax)
      return { count: waiting.length, oldest: waiting.map((row) => row.requestedAt).sort()[0] ?? null }
    },

    expire: async ({ tenantId, now, beforeLogId, max }) => {
      const isOver = ({ blockedUntil, prospectId }: KeptProspect) =>
        blockedUntil !== null && blockedUntil <= now && !running({ tenantId, blockId: prospectId })
      const ended = [...prospects.byId.after({ tenantId })].filter(isOver).slice(0, max)
      ended.forEach(prospects.remove)
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
