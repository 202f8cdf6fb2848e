import { keyOf } from '../../core/engine/keys.ts'
import type { NewLog } from '../../core/ports/activities.ts'
import type { ProspectLogs, TimelineRowsQuery } from '../../core/ports/prospect-logs.ts'
import type { Scanned } from '../../core/ports/world.ts'
import { storedLog } from '../stores/rows.ts'
import { scan, takeSlice } from '../stores/take-slice.ts'
import { timelineKey, timeOfKey } from '../stores/timeline-key.ts'
import type { People } from './people.ts'

export const memoryProspectLogs = ({ prospects, logs, merges }: People): ProspectLogs => ({
  find: async (lookup) => {
    const log = logs.byId.at(lookup)
    return log === undefined ? null : logOf(log)
  },
  list: async (lookup) => {
    const { beforeId, fromId, idempotencyKey, limit } = lookup
    const all = logs.byId.backFrom(lookup, beforeId, fromId)
    const rows =
      idempotencyKey === null ? all : [...all].filter((log) => log.idempotencyKey === idempotencyKey)
    return shown(scan(rows, limit, passes(lookup), ({ prospectLogId }) => prospectLogId))
  },
  timeline: async (lookup) => {
    const { prospectId, since, before, limit } = lookup
    const owner = prospects.byId.at(lookup)
    if (owner === undefined) return 'prospect_not_found'
    if (owner.erasedAt !== null) return 'prospect_erased'
    const position = before && keyOf(before.occurredAt, before.prospectLogId)
    const rows = logs.timelines.backFrom(lookup, position, since)
    const stepOf = ({ occurredAt }: NewLog) => timeOfKey(timelineKey(prospectId, occurredAt))
    const unmoved = merges.byStatus
      .after({ status: 'processing' })
      .filter((merge) => merge.tenantId === lookup.tenantId && merge.intoId === prospectId)
      .map((merge) => merge.prospectId)
    const { mergedInto } = owner
    return { ...shown(scan(rows, limit, passes(lookup), stepOf)), mergedInto, unmoved }
  },
  listOldest: async (lookup) =>
    takeSlice(logs.byId.after(lookup, lookup.afterId, lookup.beforeId, lookup.limit), lookup.limit - 1).map(
      logOf,
    ),
})

const passes =
  ({ source, type }: Pick<TimelineRowsQuery, 'source' | 'type'>) =>
  (log: NewLog) =>
    (source ?? log.source) === log.source && (type ?? log.type) === log.type

const shown = ({ rows, resume }: Scanned<NewLog>) => ({ rows: rows.map(logOf), resume })

const logOf = ({ payload, ...log }: NewLog) => storedLog({ ...log, payload: payload.rawJson })
