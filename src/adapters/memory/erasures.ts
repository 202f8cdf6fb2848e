import { keyOf } from '../../core/keys.ts'
import type { NewLog } from '../../core/ports/activities.ts'
import type { Erasures, StoredErasure } from '../../core/ports/erasures.ts'
import { newErasureRow, takeSlice } from '../rows.ts'
import type { KeptProspect, memoryActivities } from './activities.ts'
import { claimFrom } from './claim.ts'
import { sortedLists } from './sorted-lists.ts'

type Kept = {
  -readonly [Name in keyof ReturnType<typeof newErasureRow>]: ReturnType<typeof newErasureRow>[Name]
}
type Row = Omit<Kept, 'pass'> & { pass: 1 | 2 }

/** Erasures in a map. Calls `erased` after a person was erased. */
export const memoryErasures = (
  people: ReturnType<typeof memoryActivities>['people'],
  keptLogs: () => NewLog[],
  erased: () => void,
): Erasures => {
  const rows = new Map<string, Row>()
  const rowsOf = sortedLists<Row>(({ erasureId }) => erasureId)
  const newestFirst = function* (tenantId: string, beforeId: string | null = null) {
    for (const row of rowsOf.backFrom(tenantId, beforeId)) yield storedErasure(row)
  }
  const logsOf = (tenantId: string, isWanted: (log: NewLog) => boolean, max: number) =>
    keptLogs()
      .filter((log) => log.tenantId === tenantId && isWanted(log))
      .sort((a, b) => (a.prospectLogId < b.prospectLogId ? -1 : 1))
      .slice(0, max)
  const runningWith = (tenantId: string, wanted: Partial<StoredErasure>) =>
    [...newestFirst(tenantId)].find(
      (row) =>
        row.status === 'processing' &&
        Object.entries(wanted).every(([name, value]) => row[name as keyof StoredErasure] === value),
    )

  return {
    find: async ({ tenantId, ...by }) => {
      if (!('erasureId' in by)) return runningWith(tenantId, by) ?? null
      const row = rows.get(keyOf(tenantId, by.erasureId))
      return row === undefined ? null : storedErasure(row)
    },
    list: async (wants) =>
      wants.map(({ tenantId, beforeId, limit }) => takeSlice(newestFirst(tenantId, beforeId), limit)),

    record: async ({ tenantId, now, erasure, block }) => {
      const erasedAt = now
      const { prospectId = null, emailHash = null } = erasure ?? {}
      const prospect = prospectId === null ? undefined : people.find({ tenantId, prospectId })
      const owner = block === null ? undefined : people.owner(tenantId, block.emailHash)
      const isOwned = owner?.erasedAt === null && owner !== prospect
      if (prospectId !== null && (prospect?.erasedAt !== null || prospect.emailHash !== emailHash))
        return 'overtaken'
      if (erasure && (isOwned || runningWith(tenantId, { prospectId, emailHash }))) return 'overtaken'
      const noOne = { tenantId, email: null, emailHash: null, name: null, updatedAt: now, erasedAt }
      if (prospect) people.keep({ ...prospect, ...noOne })
      if (block && !isOwned) {
        const { blockedUntil, ...before } = (owner !== prospect && owner) || {
          ...noOne,
          prospectId: block.prospectId,
          createdAt: now,
          blockedUntil: block.until,
        }
        const until = [blockedUntil ?? '', block.until].sort()[1] as string
        people.keep({ ...before, emailHash: block.emailHash, blockedUntil: until })
      }
      if (erasure) {
        const row: Row = newErasureRow(erasure)
        rows.set(keyOf(tenantId, row.erasureId), row)
        rowsOf.add(tenantId, row)
      }
      erased()
      return 'recorded'
    },

    claim: async (want) => {
      const waiting = [...rows.values()].filter(({ status }) => status === 'processing')
      return claimFrom(waiting, (row) => row, want).map((row) => ({ ...row, attempt: row.attempts }))
    },

    deleteLogs: async ({ tenantId, erasureId, prospectId }, max) => {
      const gone = new Set(logsOf(tenantId, (log) => log.prospectId === prospectId, max))
      people.removeLogs(gone)
      const row = rows.get(keyOf(tenantId, erasureId))
      if (row !== undefined) row.logsErased += gone.size
      return gone.size
    },

    emailsAfter: async (tenantId, afterId, max) =>
      takeSlice(
        logsOf(tenantId, ({ prospectLogId }) => prospectLogId > afterId, max).map(
          ({ prospectLogId, email }) => ({
            prospectLogId,
            email,
          }),
        ),
        max,
      ),

    settle: async ({ tenantId, erasureId, attempt }, step) => {
      const foreign = new Set(step.status === 'completed' ? [] : step.foreign)
      people.replaceLogs((log) =>
        log.tenantId === tenantId && foreign.has(log.prospectLogId)
          ? { ...log, email: null, name: null }
          : log,
      )
      const row = rows.get(keyOf(tenantId, erasureId))
      if (row?.status !== 'processing' || row.attempts !== attempt) return false
      if (step.status === 'completed')
        Object.assign(row, { status: 'completed', completedAt: step.at, emailHash: null })
      else Object.assign(row, { pass: step.pass, position: step.position, claimableAt: step.claimableAt })
      return true
    },

    expire: async ({ tenantId, now, beforeLogId, max }) => {
      const isOver = ({ blockedUntil, ...prospect }: KeptProspect) =>
        prospect.tenantId === tenantId && blockedUntil !== null && blockedUntil <= now
      const ended = people.all().filter(isOver).slice(0, max)
      ended.forEach(people.remove)
      const old = logsOf(tenantId, ({ prospectLogId }) => prospectLogId < (beforeLogId ?? ''), max)
      people.removeLogs(new Set(old))
      return Math.max(ended.length, old.length) === max
    },
  }
}

const storedErasure = (row: Row): StoredErasure => {
  const { tenantId, erasureId, prospectId, emailHash, status, requestedAt, completedAt, logsErased } = row
  return { tenantId, erasureId, prospectId, emailHash, status, requestedAt, completedAt, logsErased }
}
