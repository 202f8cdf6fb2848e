import type { ProspectLogs, ProspectLogsWant, TimelineWant } from '../../core/ports/prospect-logs.ts'
import { ROWS_LOOKED_AT_MAX } from '../../core/slices.ts'
import { AFTER_ALL_IDS, type LogRow, SHOWN_LOG, storedLog, takeSlice } from '../rows.ts'
import { timelineKey, timeOfKey } from '../timeline-key.ts'
import type { Database } from './open.ts'

const SHOWN = `select ${Object.keys(SHOWN_LOG)} from prospect_logs`
const PASSES = 'source = coalesce(?, source) and type = coalesce(?, type)'
const OWNER = 'select erased_at from prospects where tenant_id = ? and prospect_id = ?'
const FIND = `${SHOWN} where tenant_id = ? and prospect_log_id = ?`
const BY_KEY = `
  ${SHOWN} where tenant_id = ? and source = ? and idempotency_key = ? and type = coalesce(?, type)
    and prospect_log_id >= ? and prospect_log_id < ?`
const LIST_OLDEST = `
  ${SHOWN} where tenant_id = ? and prospect_log_id > ? and prospect_log_id < ? order by prospect_log_id`

// Of a filtered list the index alone says where looking stops.
const LAST = `limit 1 offset ${ROWS_LOOKED_AT_MAX - 1}`
const OF_TENANT = 'where tenant_id = ? and prospect_log_id < ? and prospect_log_id >= ?'
const STOP = `select prospect_log_id as resume from prospect_logs ${OF_TENANT} order by prospect_log_id desc ${LAST}`
const LIST = `${SHOWN} ${OF_TENANT} and ${PASSES} order by prospect_log_id desc`

const OF_KEYS = 'where timeline_key <= ? and timeline_key >= ?'
const STOP_KEY = `select timeline_key as resume from prospect_logs ${OF_KEYS} order by timeline_key desc ${LAST}`
// The plus keeps SQLite from using an index of the tenant.
const TIMELINE = `
  ${SHOWN} ${OF_KEYS} and +tenant_id = ? and prospect_id = ? and occurred_at >= ?
    and (occurred_at, prospect_log_id) < (?, ?) and ${PASSES}
  order by timeline_key desc, occurred_at desc, prospect_log_id desc`

export const sqliteProspectLogs = (database: Database): ProspectLogs => {
  const list = (want: ProspectLogsWant) => {
    const { tenantId, source, type, idempotencyKey, limit } = want
    const [from, before] = [want.fromId ?? '', want.beforeId ?? AFTER_ALL_IDS]
    if (idempotencyKey !== null) {
      const row = database.get<LogRow>(BY_KEY, tenantId, source, idempotencyKey, type, from, before)
      return { rows: row === undefined ? [] : [storedLog(row)], resume: null }
    }
    const resume = isFiltered(want)
      ? (database.get<{ resume: string }>(STOP, tenantId, before, from)?.resume ?? null)
      : null
    const take = (rows: Iterable<LogRow>) => takeSlice(rows, limit).map(storedLog)
    const rows = database.from(take, LIST, tenantId, before, resume ?? from, source, type)
    return { rows, resume: rows.length > limit ? null : resume }
  }

  const timeline = (want: TimelineWant) => {
    const { tenantId, prospectId, source, type, limit } = want
    const owner = database.get<{ erasedAt: string | null }>(OWNER, tenantId, prospectId)
    if (owner === undefined) return 'prospect_not_found'
    if (owner.erasedAt !== null) return 'prospect_erased'
    const since = want.since ?? ''
    const { occurredAt, prospectLogId } = want.before ?? { occurredAt: '9999', prospectLogId: '' }
    const [low, high] = [since || '1970', occurredAt].map((time) => timelineKey(prospectId, time)) as [
      number,
      number,
    ]
    const stop = isFiltered(want) ? database.get<{ resume: number }>(STOP_KEY, high, low)?.resume : undefined
    const take = (rows: Iterable<LogRow>) => takeSlice(rows, limit).map(storedLog)
    const keys = [high, stop ?? low]
    const position = [tenantId, prospectId, since, occurredAt, prospectLogId]
    const rows = database.from(take, TIMELINE, ...keys, ...position, source, type)
    return { rows, resume: rows.length > limit || stop === undefined ? null : timeOfKey(stop) }
  }

  return {
    find: async (wants) =>
      wants.map((want) => {
        const row = database.get<LogRow>(FIND, want.tenantId, want.prospectLogId)
        return row === undefined ? null : storedLog(row)
      }),
    list: async (wants) => wants.map(list),
    timeline: async (wants) => wants.map(timeline),
    listOldest: async ({ tenantId, afterId, beforeId, limit }) => {
      const take = (rows: Iterable<LogRow>) => takeSlice(rows, limit - 1).map(storedLog)
      return database.from(take, LIST_OLDEST, tenantId, afterId, beforeId)
    },
  }
}

const isFiltered = ({ source, type }: Pick<TimelineWant, 'source' | 'type'>) =>
  source !== null || type !== null
