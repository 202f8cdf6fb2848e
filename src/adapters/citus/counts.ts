import { dayOf } from '../../core/engine/times.ts'
import type { CountedTenant, Counts } from '../../core/ports/counts.ts'
import { columns, type Query } from '../postgres/sql.ts'
import { COLUMNS, without } from '../stores/rows.ts'
import type { Send, Transact } from './transaction.ts'

type Added = Extract<Parameters<Counts['record']>[0], { readonly removeFrom: null }>

const LOGS = columns('added', COLUMNS.prospect_log_counts)
const PROSPECTS = columns('prospects', COLUMNS.prospect_counts)
const DAYS = columns('days', without(COLUMNS.prospect_days, 'tenant_id'))

/** The verbs that differ from those of one PostgreSQL. */
export const citusCounts = (query: Query, transact: Transact): Pick<Counts, 'find' | 'close' | 'record'> => ({
  find: async (tenantId) => {
    const [row] = await query(tenantId)<CountedTenant>`
      select v.position, v.closed_to, v.read_at, (
        select min(l.prospect_log_id) from prospect_logs l
        where l.tenant_id = ${tenantId} and l.prospect_log_id > v.position
      ) as next_id
      from counted_tenants v where v.tenant_id = ${tenantId}`
    return row ?? null
  },

  /** Citus refuses a clock in the condition of an update. */
  close: (tenantId, to, time) =>
    transact(tenantId, async (send) => {
      const passed = await send`
        select 1 from counted_tenants v
        where v.tenant_id = ${tenantId} and ${time}::timestamptz <= clock_timestamp()`
      if (passed.length === 0) return false
      const closed = await send`
        update counted_tenants v set closed_to = greatest(v.closed_to, ${to})
        where v.tenant_id = ${tenantId} returning 1`
      return closed.length > 0
    }),

  record: (change) =>
    transact(change.tenantId, async (send) => {
      const { tenantId, from, to } = change
      const staysClosed = change.removeFrom === null
      const moved = await send`
        update counted_tenants v set position = ${to},
          closed_to = case when ${staysClosed}::boolean then greatest(v.closed_to, ${to}) else ${to} end
        where v.tenant_id = ${tenantId} and v.position = ${from} returning 1`
      if (moved.length === 0) return 'overtaken'
      if (change.removeFrom === null) await addCounts(send, change)
      else removeCounts(send, tenantId, change.removeFrom)
      return 'recorded'
    }),
})

/** Prospects are read again: the days of one that was erased meanwhile would stay. */
const addCounts = async (send: Send, { tenantId, add, addProspects, addDays }: Added): Promise<void> => {
  const ofTenant = <Row extends object>(rows: readonly Row[]) => rows.map((row) => ({ ...row, tenantId }))
  if (add.length > 0)
    send`
      insert into prospect_log_counts as c (${LOGS.names}) select ${LOGS.values} from ${LOGS.from(ofTenant(add))}
      on conflict (tenant_id, unit, at, source, type) do update set count = c.count + excluded.count,
        new_prospects = c.new_prospects + excluded.new_prospects`
  if (addProspects.length > 0)
    send`
      insert into prospect_counts as c (${PROSPECTS.names})
      select ${PROSPECTS.values} from ${PROSPECTS.from(ofTenant(addProspects))}
      on conflict (tenant_id, kind, day, name, days_since) do update set count = c.count + excluded.count,
        new_prospects = c.new_prospects + excluded.new_prospects`
  if (addDays.length > 0)
    await send`
      insert into prospect_days (tenant_id, prospect_id, kind, name, day)
      select p.tenant_id, p.prospect_id, days.kind, days.name, days.day
      from ${DAYS.from(addDays)} join prospects p on p.prospect_id = days.prospect_id
      where p.tenant_id = ${tenantId} and p.erased_at is null
      on conflict do nothing`
}

const removeCounts = (send: Send, tenantId: string, from: string): void => {
  const day = dayOf(Date.parse(from))
  send`delete from prospect_log_counts c where c.tenant_id = ${tenantId} and c.at >= ${from}`
  send`delete from prospect_counts c where c.tenant_id = ${tenantId} and c.day >= ${day}`
  send`delete from prospect_days d where d.tenant_id = ${tenantId} and d.day >= ${day}`
}
