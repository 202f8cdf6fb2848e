import type { ClaimedMerge, Merges } from '../../core/ports/merges.ts'
import { newMergeRow } from '../stores/people-rows.ts'
import { claimFrom } from './claim.ts'
import { isUnchanged, type People } from './people.ts'

/** Calls `notify` after a prospect was merged. */
export const memoryMerges = (
  { prospects, identifiers, logs, merges, outbox }: People,
  notify: () => void,
): Merges => {
  const processing = () => [...merges.byStatus.after({ status: 'processing' })]
  const claimed = ({ tenantId, mergeId, intoId, attempt, status }: ClaimedMerge) => {
    const row = merges.byId.at({ tenantId, mergeId })
    return row?.status === status && row.attempts === attempt && row.intoId === intoId ? row : undefined
  }

  return {
    record: async ({ merge, merged, survivor }, events) => {
      const both = [merged, survivor]
      if (!both.every(({ before }) => isUnchanged(prospects.byId.at(before), before))) return 'overtaken'
      outbox.save(events)
      const { tenantId, prospectId, intoId } = merge
      for (const { before, after } of both) prospects.change(prospects.byId.at(before), after)
      for (const earlier of prospects.byMergedInto.after({ tenantId, mergedInto: prospectId })) {
        prospects.change(earlier, { mergedInto: intoId })
      }
      for (const identifier of identifiers.byProspect.after({ tenantId, prospectId })) {
        identifiers.change(identifier, { prospectId: intoId })
      }
      const redirected = processing().filter((row) => row.tenantId === tenantId && row.intoId === prospectId)
      for (const row of redirected) merges.change(row, { intoId })
      merges.add(newMergeRow(merge))
      notify()
      return 'recorded'
    },

    claim: async (lookup) =>
      claimFrom(processing(), merges.change, lookup).map((row) => ({ ...row, attempt: row.attempts })),

    moveLogs: async (merge, max) => {
      const { intoId } = merge
      const moving = claimed(merge) ? [...logs.timelines.backFrom(merge)].slice(0, max) : []
      for (const log of moving) logs.change(log, { prospectId: intoId })
      return moving.length
    },

    completed: async ({ tenantId, afterId, limit }) =>
      [...merges.byId.after({ tenantId }, afterId)]
        .filter(({ status }) => status === 'completed')
        .slice(0, limit)
        .map((row) => ({ ...row, attempt: row.attempts })),

    settle: async (step, events) => {
      const { pass, settlesAfter, claimableAt, completedAt } = step
      const row = claimed(step)
      if (row === undefined) return 'overtaken'
      outbox.save(events)
      const status = completedAt === null ? 'processing' : 'completed'
      merges.change(row, { pass, settlesAfter, claimableAt, completedAt, status })
      return 'recorded'
    },

    backlog: async (countMax) => {
      const waiting = processing().slice(0, countMax)
      return { count: waiting.length, oldest: waiting.map((row) => row.requestedAt).sort()[0] ?? null }
    },
  }
}
