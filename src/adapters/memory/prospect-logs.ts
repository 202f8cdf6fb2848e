import { keyOf } from '../../core/keys.ts'
import type { NewLog } from '../../core/ports/activities.ts'
import type { ProspectLogs, StoredLog, TimelineWant } from '../../core/ports/prospect-logs.ts'
import type { FoundProspect, ProspectWant } from '../../core/ports/prospects.ts'
import type { LookedAt } from '../../core/ports/world.ts'
import { lookThrough, takeSlice } from '../rows.ts'
import { timelineKey, timeOfKey } from '../timeline-key.ts'
import { sortedLists } from './sorted-lists.ts'

type Filter = Pick<TimelineWant, 'source' | 'type'> & { readonly idempotencyKey?: string | null }

/** Logs in the orders in which they are read. */
export const memoryProspectLogs = (
  prospectOf: (want: ProspectWant) => Pick<FoundProspect, 'erasedAt'> | undefined,
) => {
  const ofTenant = sortedLists<NewLog>(({ prospectLogId }) => prospectLogId)
  const timelines = sortedLists<NewLog>((log) => `${log.occurredAt} ${log.prospectLogId}`)

  const prospectLogs: ProspectLogs = {
    find: async (wants) =>
      wants.map(({ tenantId, prospectLogId }) => {
        const [log] = ofTenant.backFrom(tenantId, `${prospectLogId}!`)
        return log?.prospectLogId === prospectLogId ? storedLog(log) : null
      }),
    list: async (wants) =>
      wants.map((want) => {
        const { tenantId, beforeId, limit } = want
        const rows = until(
          ofTenant.backFrom(tenantId, beforeId),
          (log) => log.prospectLogId < (want.fromId ?? ''),
        )
        if (want.idempotencyKey !== null)
          return { rows: [...rows].filter(passes(want)).map(storedLog), resume: null }
        return shown(lookThrough(rows, limit, passes(want), (log) => log.prospectLogId))
      }),
    timeline: async (wants) =>
      wants.map((want) => {
        const { tenantId, prospectId, since, before, limit } = want
        const owner = prospectOf(want)
        if (owner === undefined) return 'prospect_not_found'
        if (owner.erasedAt !== null) return 'prospect_erased'
        const position = before && `${before.occurredAt} ${before.prospectLogId}`
        const rows = until(
          timelines.backFrom(keyOf(tenantId, prospectId), position),
          (log) => log.occurredAt < (since ?? ''),
        )
        const stepOf = ({ occurredAt }: NewLog) => timeOfKey(timelineKey(prospectId, occurredAt))
        return shown(lookThrough(rows, limit, passes(want), stepOf))
      }),
    listOldest: async ({ tenantId, afterId, beforeId, limit }) => {
      const newest = until(ofTenant.backFrom(tenantId, beforeId), (log) => log.prospectLogId <= afterId)
      return takeSlice([...newest].reverse(), limit - 1).map(storedLog)
    },
  }
  const add = (log: NewLog) => {
    ofTenant.add(log.tenantId, log)
    timelines.add(keyOf(log.tenantId, log.prospectId), log)
  }
  const remove = (log: NewLog) => {
    ofTenant.remove(log.tenantId, log)
    timelines.remove(keyOf(log.tenantId, log.prospectId), log)
  }
  return { prospectLogs, add, remove }
}

function* until<Row>(rows: Iterable<Row>, isEnd: (row: Row) => boolean): Generator<Row> {
  for (const row of rows) {
    if (isEnd(row)) return
    yield row
  }
}

const passes =
  ({ source, type, idempotencyKey = null }: Filter) =>
  (log: NewLog) =>
    (source ?? log.source) === log.source &&
    (type ?? log.type) === log.type &&
    (idempotencyKey ?? log.idempotencyKey) === log.idempotencyKey

const shown = ({ rows, resume }: LookedAt<NewLog>) => ({ rows: rows.map(storedLog), resume })

const storedLog = ({ requestHash, payload, ...log }: NewLog): StoredLog => ({
  ...log,
  payload: { ...payload },
})
