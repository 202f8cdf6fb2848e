import type { NewLog } from '../../core/ports/activities.ts'
import type { Erasures, StoredErasure } from '../../core/ports/erasures.ts'
import type { Served } from '../../core/ports/world.ts'
import { newErasureRow } from '../stores/rows.ts'
import { takeSlice } from '../stores/take-slice.ts'
import { claimFrom } from './claim.ts'
import type { KeptProspect, People } from './people.ts'
import { indexBy, tableOf } from './table.ts'

type Row = ReturnType<typeof newErasureRow>

/** Calls `erased` after a person was erased. */
export const memoryErasures = (
  { prospects, logs, outbox }: People,
  erased: (tenantId: string) => void,
): Erasures => {
  const erasures = outbox.own(
    'erasures',
    tableOf({
      byId: indexBy<Row>(['tenantId'], ['erasureId']),
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
  const stored = ({ position, attempts, claimableAt, ...erasure }: Row): StoredErasure => ({
    ...erasure,
    blockedUntil: blockOf(erasure)?.blockedUntil ?? null,
  })

  return {
    find: async (want) => {
      const row = 'erasureId' in want ? erasures.byId.at(want) : running(want)
      return row === undefined ? null : stored(row)
    },
    list: async (wants) =>
      wants.map((want) => takeSlice(erasures.byId.backFrom(want, want.beforeId), want.limit).map(stored)),

    record: async ({ tenantId, now, erasure, block }, events) => {
      const ownerOfEmail = () => prospects.byEmail.at({ tenantId, emailHash: block?.emailHash ?? null })
      const owner = ownerOfEmail()
      const prospect = prospects.byId.at({ tenantId, prospectId: erasure?.prospectId ?? null })
      const isOwned = owner?.erasedAt === null && owner !== prospect
      if (erasure !== null) {
        const { prospectId, emailHash } = erasure
        if (prospectId !== null && (prospect?.erasedAt !== null || prospect.emailHash !== emailHash))
          return 'overtaken'
        if (isOwned || running({ tenantId, prospectId, emailHash })) return 'overtaken'
      }
      outbox.save(events)
      if (erasure !== null) erasures.add(newErasureRow(erasure))
      const erasedNow = { email: null, emailHash: null, name: null, updatedAt: now, erasedAt: now }
      prospects.change(prospect, erasedNow)
      if (block !== null && !isOwned) {
        const { until: blockedUntil, ...tombstone } = block
        const blocked = ownerOfEmail()
        if (blocked === undefined)
          prospects.add({ ...erasedNow, ...tombstone, tenantId, createdAt: now, blockedUntil })
        else if ((blocked.blockedUntil ?? '') < blockedUntil) prospects.change(blocked, { blockedUntil })
      }
      erased(tenantId)
      return 'recorded'
    },

    claim: async (want) =>
      claimFrom(inProgress(), erasures.change, want).map((row) => ({ ...row, attempt: row.attempts })),

    deleteLogs: async ({ tenantId, erasureId, prospectId }, max) => {
      const gone = [...logs.timelines.backFrom({ tenantId, prospectId })].slice(0, max)
      gone.forEach(logs.remove)
      const row = erasures.byId.at({ tenantId, erasureId })
      erasures.change(row, { logsErased: (row?.logsErased ?? 0) + gone.length })
      return gone.length
    },

    emailsAfter: async (tenantId, afterId, max) => {
      const emailOf = ({ prospectLogId, email }: NewLog) => ({ prospectLogId, email })
      return takeSlice([...logs.byId.after({ tenantId }, afterId)].slice(0, max).map(emailOf), max)
    },

    settle: async (tenantId, steps, foreign = []) => {
      const cleaned = { email: null, name: null, requestHash: null }
      for (const prospectLogId of foreign) logs.change(logs.byId.at({ tenantId, prospectLogId }), cleaned)
      for (const { erasureId, attempt, pass, position, claimableAt, status, completedAt } of steps) {
        const row = erasures.byId.at({ tenantId, erasureId })
        const emailHash = completedAt === null ? (row?.emailHash ?? null) : null
        if (row?.status === 'processing' && row.attempts === attempt)
          erasures.change(row, { pass, position, claimableAt, status, completedAt, emailHash })
      }
    },

    rewrite: async () => true,

    unblock: async (want, now) => {
      const block = blockOf(erasures.byId.at(want))
      if ((block?.blockedUntil ?? '') > now) prospects.change(block, { blockedUntil: now })
    },

    backlog: async (countMax) => {
      const waiting = inProgress().slice(0, countMax)
      return { count: waiting.length, oldest: waiting.map((row) => row.requestedAt).sort()[0] ?? null }
    },

    expire: async ({ tenantId, now, beforeLogId, max }) => {
      const isOver = ({ blockedUntil, emailHash }: KeptProspect) =>
        blockedUntil !== null && blockedUntil <= now && !running({ tenantId, emailHash })
      const ended = [...prospects.byId.after({ tenantId })].filter(isOver).slice(0, max)
      ended.forEach(prospects.remove)
      const old = [...logs.byId.after({ tenantId }, '', beforeLogId ?? '')].slice(0, max)
      old.forEach(logs.remove)
      return Math.max(ended.length, old.length) === max
    },

    lastServed: async () => served,
    markServed: async (now) => {
      served = now
    },
  }
}
