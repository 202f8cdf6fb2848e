import type { NewLog } from '../../core/ports/activities.ts'
import type { ProspectLogs } from '../../core/ports/prospect-logs.ts'
import { storedLog, takeSlice } from '../rows.ts'

/** Looks at every log of every tenant: a memory store has few. */
export const memoryOldestLogs = (keptLogs: () => NewLog[]): ProspectLogs['listOldest'] => {
  return async ({ tenantId, afterId, beforeId, limit }) => {
    const isWanted = (log: NewLog) =>
      log.tenantId === tenantId && log.prospectLogId > afterId && log.prospectLogId < beforeId
    const wanted = keptLogs().filter(isWanted)
    wanted.sort((a, b) => (a.prospectLogId < b.prospectLogId ? -1 : 1))
    return takeSlice(wanted, limit - 1).map((log) => storedLog({ ...log, payload: log.payload.rawJson }))
  }
}
