import { addUsed } from '../../core/counts/count-usage.ts'
import { keyOf } from '../../core/engine/keys.ts'
import { dayOf } from '../../core/engine/times.ts'
import type { Counts, LogCount, UsageSum, Used } from '../../core/ports/counts.ts'
import { matchingCounts, placeOf } from '../stores/count-slices.ts'
import type { People } from './people.ts'
import type { ProspectCountTables } from './prospect-counts.ts'
import { indexBy, tableOf } from './table.ts'

type Count = LogCount & { readonly tenantId: string }
type UsedAt = Used & { readonly at: string }

export const memoryCounts = (
  { logs, counted: tenants, outbox: { registerTable } }: People,
  prospectCounts: Pick<ProspectCountTables, 'add' | 'removeFrom'>,
): Counts => {
  const counts = registerTable(
    'prospect_log_counts',
    tableOf({ byTime: indexBy<Count>(['tenantId', 'unit'], ['at', 'source', 'type']) }),
  )
  const usage = new Map<string, UsedAt>()
  const logsAfter = (tenantId: string, afterId: string, beforeId?: string, max?: number) =>
    logs.byId.after({ tenantId }, afterId, beforeId, max)
  return {
    markRead: async (tenantId, readAt) => {
      if (!tenants.change(tenants.byId.at({ tenantId }), { readAt }))
        tenants.add({ tenantId, position: '', closedTo: '', readAt })
    },
    find: async (tenantId) => {
      const found = tenants.byId.at({ tenantId })
      if (found === undefined) return null
      const { position, closedTo, readAt } = found
      const [next] = logsAfter(tenantId, position, undefined, 1)
      return { position, closedTo, readAt, nextId: next?.prospectLogId ?? null }
    },
    waiting: async ({ afterTenantId, readSince, beforeId, beyondId, max }) =>
      tenants.byId
        .after({}, afterTenantId)
        .filter(({ tenantId, position, closedTo, readAt }) => {
          if (readAt < readSince) return false
          return closedTo > beyondId || logsAfter(tenantId, position, beforeId, 1).length > 0
        })
        .slice(0, max)
        .map(({ tenantId }) => tenantId),
    close: async (tenantId, to, time) => {
      const found = tenants.byId.at({ tenantId })
      // The clock of this process is that of the database.
      if (found === undefined || Date.parse(time) > Date.now()) return false
      if (found.closedTo < to) tenants.change(found, { closedTo: to })
      return true
    },
    tally: async ({ tenantId, afterId, beforeId, max }) => {
      const pairs = Map.groupBy(logsAfter(tenantId, afterId, beforeId, max), ({ source, type }) =>
        keyOf(source, type),
      )
      return [...pairs.values()].map((logs) => {
        const { source = '', type = '', prospectLogId: lastId = '' } = logs.at(-1) ?? {}
        const newProspects = logs.filter(({ createdProspect }) => createdProspect).length
        return { source, type, count: logs.length, newProspects, lastId }
      })
    },
    record: async (change) => {
      const { tenantId, from, to, removeFrom } = change
      const found = tenants.byId.at({ tenantId })
      if (found?.position !== from) return 'overtaken'
      const closedTo = removeFrom === null && to < found.closedTo ? found.closedTo : to
      tenants.change(found, { position: to, closedTo })
      if (removeFrom !== null) {
        for (const count of counts.byTime.all()) {
          if (count.tenantId === tenantId && count.at >= removeFrom) counts.remove(count)
        }
        prospectCounts.removeFrom(tenantId, dayOf(Date.parse(removeFrom)))
        return 'recorded'
      }
      prospectCounts.add(tenantId, change.addProspects, change.addDays)
      for (const count of change.add) {
        const known = counts.byTime.at({ ...count, tenantId })
        const sums = {
          count: count.count + (known?.count ?? 0),
          newProspects: count.newProspects + (known?.newProspects ?? 0),
        }
        if (!counts.change(known, sums)) counts.add({ ...count, tenantId })
      }
      return 'recorded'
    },
    list: async (lookup) => {
      const { at, afterSource, afterType, isFirst } = placeOf(lookup)
      // The key of each later count is greater than this, as no text contains the NUL that separates them.
      const from = isFirst ? at : `${keyOf(at, afterSource, afterType)}\0`
      const found = [...counts.byTime.onFrom(lookup, from, lookup.until).take(lookup.limit)].map(
        ({ tenantId, ...count }, i) => ({ ...count, place: i + 1 }),
      )
      return matchingCounts(found, lookup)
    },
    addUsage: async (at, used, { before, after, max }) => {
      const stale = [...usage].filter(([, { at }]) => at < before || at > after)
      for (const [minute] of stale.slice(0, max)) usage.delete(minute)
      for (const row of used) addUsed(usage, keyOf(at, row.tenantId, row.apiKeyId), { ...row, at })
    },
    sumUsage: async ({ tenantId, since, rowsMax, limit }) => {
      const isWanted = (row: UsedAt) => row.at >= since && row.tenantId === (tenantId ?? row.tenantId)
      const found = [...usage.values()].filter(isWanted).sort((a, b) => (a.at < b.at ? 1 : -1))
      const newest = found.slice(0, rowsMax)
      const sums = new Map<string, UsageSum>()
      const oldest = String(newest.at(-1)?.at)
      for (const { at, ...row } of newest)
        addUsed(sums, keyOf(row.tenantId, row.apiKeyId), { ...row, since: oldest })
      return [...sums.values()].sort((a, b) => b.requests - a.requests).slice(0, limit)
    },
  }
}
