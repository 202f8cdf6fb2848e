import type { ProspectLogs } from '../../core/ports/prospect-logs.ts'
import { SLICE_BYTES_MAX } from '../../core/slices.ts'
import { type LogRow, SHOWN_LOG, storedLog } from '../rows.ts'
import type { Ask } from './connect.ts'
import { columns } from './statements.ts'

const LOGS = columns('l', SHOWN_LOG)

export const postgresOldestLogs = (ask: Ask): ProspectLogs['listOldest'] => {
  return async ({ tenantId, afterId, beforeId, limit }) => {
    const rows = await ask(
      (sql) => sql<LogRow[]>`
        select ${LOGS.selected(sql)}
        from (
          select l.*, sum(coalesce(octet_length(l.email), 0) + octet_length(l.payload::text)) over (
            order by l.prospect_log_id rows between unbounded preceding and 2 preceding
          ) as bytes_before
          from (
            select * from prospect_logs l
            where l.tenant_id = ${tenantId} and l.prospect_log_id > ${afterId} and l.prospect_log_id < ${beforeId}
            order by l.prospect_log_id limit ${limit}
          ) l
        ) l
        where coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
        order by l.prospect_log_id`,
      tenantId,
    )
    return rows.map(storedLog)
  }
}
