import type { ProspectLogs } from '../../core/ports/prospect-logs.ts'
import { type LogRow, SHOWN_LOG, storedLog, takeSlice } from '../rows.ts'
import type { Database } from './open.ts'

const LIST_OLDEST = `
  select ${Object.keys(SHOWN_LOG)} from prospect_logs
  where tenant_id = ? and prospect_log_id > ? and prospect_log_id < ?
  order by prospect_log_id`

export const sqliteOldestLogs = (database: Database): ProspectLogs['listOldest'] => {
  return async ({ tenantId, afterId, beforeId, limit }) => {
    const take = (rows: Iterable<LogRow>) => takeSlice(rows, limit - 1).map(storedLog)
    return database.from(take, LIST_OLDEST, tenantId, afterId, beforeId)
  }
}
