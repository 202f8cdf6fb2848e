import { keyOf } from '../../core/engine/keys.ts'
import type { NewLog } from '../../core/ports/activities.ts'
import type { ProspectLogs, TimelineRowsQuery } from '../../core/ports/prospect-logs.ts'
import type { Scanned } from '../../core/ports/world.ts'
import { storedLog } from '../stores/rows.ts'
import { scan, takeSlice } from '../stores/take-slice.ts'
import { timelineKey, timeOfKey } from '../stores/timeline-key.ts'
import type { People } from './people.ts'

export const memoryProspectLogs = ({ prospects, logs, merges }: People): ProspectLogs => ({
  find: async (want) => {
    const log = logs.byId.at(want)
    return log === undefined ? null : logOf(log)
  },
  list: async (want) => {
    const { beforeId, fromId, idempotencyKey, limit } = want
    const all = logs.byId.backFrom(want, beforeId, fromId)
    const rows =
      idempotencyKey === null ? all : [...all].filter((log) => log.idempotencyKey === idempotencyKey)
    return shown(scan(rows, limit, passes(want), ({ prospectLogId }) => prospectLogId))
  },
  timeline: async (want) => {
    const { prospectId, since, before, limit } = want
    const owner = prospects.byId.at(want)
    if (owner === undefined) return 'prospect_not_found'
    if (owner.erasedAt !== null) return 'prospect_erased'
    const position = before && keyOf(before.occurredAt, before.prospectLogId)
    const rows = logs.timelines.backFrom(want, position, since)
    const stepOf = ({ occurredAt }: NewLog) => timeOfKey(timelineKey(prospectId, occurredAt))
    const unmoved = merges.byStatus
      .after({ status: 'processing' })
      .filter((merge) => merge.tenantId === want.tenantId && merge.intoId === prospectId)
      .map((merge) => merge.prospectId)
    const { mergedInto } = owner
    return { ...shown(scan(rows, limit, passes(want), stepOf)), mergedInto, unmoved }
  },
  listOldest: async (want) =>
    takeSlice(logs.byId.after(want, want.afterId, want.beforeId, want.limit), want.limit - 1).map(logOf),
})

const passes =
  ({ source, type }: Pick<TimelineRowsQuery, 'source' | 'type'>) =>
  (log: NewLog) =>
    (source ?? log.source) === log.source && (type ?? log.type) === log.type

const shown = ({ rows, resume }: Scanned<NewLog>) => ({ rows: rows.map(logOf), resume })

const logOf = ({ payload, ...log }: NewLog) => storedLog({ ...log, payload: payload.rawJson })
