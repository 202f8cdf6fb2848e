import { ROWS_SCANNED_MAX } from '../../core/engine/slices.ts'
import type {
  ProspectLogs,
  ProspectLogsQuery,
  TimelineRowsQuery,
  TimelineSlice,
} from '../../core/ports/prospect-logs.ts'
import { type LogRow, SHOWN_LOG, storedLog } from '../stores/rows.ts'
import { ROWS_SORTED_MAX } from '../stores/take-slice.ts'
import { timelineKey, timeOfKey } from '../stores/timeline-key.ts'
import type { Database } from './open.ts'
import { BEFORE_ID, type Values } from './statements.ts'

const SHOWN = `select ${Object.keys(SHOWN_LOG)} from prospect_logs`
const PASSES = 'source = coalesce(:source, source) and type = coalesce(:type, type)'
const OWNER = `
  select erased_at, merged_into, (
    select group_concat(m.prospect_id, ' ') from merges m indexed by merges_into
    where m.tenant_id = :tenantId and m.into_id = :prospectId and m.status = 'processing'
  ) as unmoved
  from prospects where tenant_id = :tenantId and prospect_id = :prospectId`
const FIND = `${SHOWN} where tenant_id = :tenantId and prospect_log_id = :prospectLogId`
const HAS_KEY = 'tenant_id = :tenantId and source = :source and idempotency_key = :idempotencyKey'
const COUNT_KEYED = `
  select count(*) as logs from (select 1 from prospect_logs where ${HAS_KEY} limit ${ROWS_SORTED_MAX + 1})`
// The plus keeps SQLite from using an index of the tenant.
const BY_KEY = `
  ${SHOWN} where ${HAS_KEY}
    and type = coalesce(:type, type) and +prospect_log_id >= :from and +prospect_log_id < ${BEFORE_ID}
  order by +prospect_log_id desc`
const LIST_OLDEST = `
  ${SHOWN} where tenant_id = :tenantId and prospect_log_id > :afterId and prospect_log_id < :beforeId
  order by prospect_log_id`

// The index alone shows where the scan of a filtered list stops.
const LAST = `limit 1 offset ${ROWS_SCANNED_MAX - 1}`
const OF_TENANT = `where tenant_id = :tenantId and prospect_log_id < ${BEFORE_ID} and prospect_log_id >= :from`
const STOP = `select prospect_log_id as resume from prospect_logs ${OF_TENANT} order by prospect_log_id desc ${LAST}`
const IS_KEYED = '(:idempotencyKey is null or idempotency_key = :idempotencyKey)'
const LIST = `${SHOWN} ${OF_TENANT} and ${PASSES} and ${IS_KEYED} order by prospect_log_id desc`

const OF_KEYS = 'where timeline_key <= :lastKey and timeline_key >= :from'
const STOP_KEY = `select timeline_key as resume from prospect_logs ${OF_KEYS} order by timeline_key desc ${LAST}`
// Rows are sorted without the payloads. The plus keeps SQLite from using an index of the tenant.
const TIMELINE = `
  select ${Object.keys(SHOWN_LOG)} from (
    select rowid as place from prospect_logs
    ${OF_KEYS} and +tenant_id = :tenantId and prospect_id = :prospectId and occurred_at >= :since
      and (occurred_at, prospect_log_id) < (:occurredAt, :prospectLogId) and ${PASSES}
    order by timeline_key desc, occurred_at desc, prospect_log_id desc limit :limit + 1
  ) cross join prospect_logs l on l.rowid = place`

type Owner = Pick<TimelineSlice, 'mergedInto'> & {
  readonly erasedAt: string | null
  /** Ids, separated by spaces; null if there are none. */
  readonly unmoved: string | null
}
type Walk<Position> = Values &
  Pick<TimelineRowsQuery, 'source' | 'type' | 'limit'> & { readonly from: Position }

export const sqliteProspectLogs = (database: Database): ProspectLogs => {
  const walk = <Position>(list: string, stop: string, lookup: Walk<Position>) => {
    const isFiltered = lookup.source !== null || lookup.type !== null
    const stopped = isFiltered ? database.get<{ resume: Position }>(stop, lookup) : null
    const resume = stopped?.resume ?? null
    const rows = database.slice<LogRow>(list, { ...lookup, from: resume ?? lookup.from }).map(storedLog)
    return { rows, resume: rows.length > lookup.limit ? null : resume }
  }

  const list = async (lookup: ProspectLogsQuery) => {
    const wanted = { ...lookup, from: lookup.fromId ?? '' }
    if (lookup.idempotencyKey === null) return walk(LIST, STOP, wanted)
    const keyed = database.get<{ logs: number }>(COUNT_KEYED, wanted)
    if (keyed !== null && keyed.logs > ROWS_SORTED_MAX) return walk(LIST, STOP, wanted)
    return { rows: database.slice<LogRow>(BY_KEY, wanted).map(storedLog), resume: null }
  }

  const timeline = async (lookup: TimelineRowsQuery) => {
    const owner = database.get<Owner>(OWNER, lookup)
    if (owner === null) return 'prospect_not_found'
    if (owner.erasedAt !== null) return 'prospect_erased'
    const since = lookup.since ?? ''
    const before = lookup.before ?? { occurredAt: '9999', prospectLogId: '' }
    const from = timelineKey(lookup.prospectId, since || '1970')
    const lastKey = timelineKey(lookup.prospectId, before.occurredAt)
    const { rows, resume } = walk(TIMELINE, STOP_KEY, { ...lookup, ...before, since, from, lastKey })
    const { mergedInto } = owner
    const unmoved = owner.unmoved?.split(' ') ?? []
    return { rows, resume: resume === null ? null : timeOfKey(resume), mergedInto, unmoved }
  }

  return {
    find: async (lookup) => {
      const row = database.get<LogRow>(FIND, lookup)
      return row && storedLog(row)
    },
    list,
    timeline,
    // A slice reads one row more than its limit.
    listOldest: async (lookup) =>
      database.slice<LogRow>(LIST_OLDEST, { ...lookup, limit: lookup.limit - 1 }).map(storedLog),
  }
}
