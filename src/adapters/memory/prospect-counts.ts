import { keyOf } from '../../core/engine/keys.ts'
import {
  DAYS_KEPT,
  type DayCount,
  PAGE_PAYLOAD_BYTES_MAX,
  type ProspectCount,
  type ProspectCounts,
  type ProspectDay,
} from '../../core/ports/prospect-counts.ts'
import type { RawJson } from '../../shapes/json.ts'
import type { PageTables } from './page-tables.ts'
import type { People } from './people.ts'
import { indexBy, tableOf } from './table.ts'

type OfTenant = { readonly tenantId: string }
export type ProspectCountTables = ReturnType<typeof memoryProspectCounts>

export const memoryProspectCounts = (
  { logs, prospects, outbox: { registerTable } }: People,
  { pages }: PageTables,
) => {
  const counts = registerTable(
    'prospect_counts',
    tableOf({
      byDay: indexBy<ProspectCount & OfTenant>(['tenantId', 'kind', 'day'], ['name', 'daysSince']),
    }),
  )
  const days = registerTable(
    'prospect_days',
    tableOf({
      byPlace: indexBy<ProspectDay & OfTenant>(['tenantId', 'prospectId', 'kind', 'name'], (row) =>
        textOfDay(row.day),
      ),
      byDay: indexBy<ProspectDay & OfTenant>(['tenantId'], (row) => placeOfDay(row)),
    }),
  )
  const countsOn = (lookup: OfTenant & Pick<ProspectCount, 'kind' | 'day'>) => [
    ...counts.byDay.onFrom(lookup, '', AFTER_ALL_NAMES),
  ]
  const isErased = (tenantId: string, prospectId: string) =>
    prospects.byId.at({ tenantId, prospectId })?.erasedAt !== null

  const port: ProspectCounts = {
    tally: async ({ tenantId, afterId, toId, day }) => {
      const counted = logs.byId
        .after({ tenantId }, afterId, `${toId}!`)
        .filter(({ prospectId }) => !isErased(tenantId, prospectId))
        .flatMap((log) => {
          const pageId = pageIdIn(log.payload)
          const page = pageId !== null && pages.byTenant.at({ tenantId, pageId }) !== undefined
          return [
            { ...log, kind: 'source' as const, name: log.source },
            ...(page ? [{ ...log, kind: 'page' as const, name: pageId }] : []),
          ]
        })
      const places = Map.groupBy(counted, ({ kind, name, prospectId }) => keyOf(kind, name, prospectId))
      return [...places.values()].flatMap((logs) => {
        const [first] = logs
        if (first === undefined) return []
        const { kind, name, prospectId } = first
        const known = days.byPlace.after({ tenantId, prospectId, kind, name })
        return {
          kind,
          name,
          prospectId,
          count: logs.length,
          newProspects: logs.filter(({ createdProspect }) => createdProspect).length,
          lastDay: known.findLast((seen) => seen.day <= day)?.day ?? null,
        }
      })
    },

    namesOn: async (tenantId, day) =>
      (['page', 'source'] as const).flatMap((kind) => {
        const names = new Set(countsOn({ tenantId, kind, day }).map(({ name }) => name))
        return [...names].map((name) => ({ kind, name }))
      }),

    list: async ({ tenantId, kind, since, until, firstDay }) => {
      const found: DayCount[] = []
      for (let day = since; day < until; day++) {
        const names = Map.groupBy(countsOn({ tenantId, kind, day }), ({ name }) => name)
        for (const [name, rows] of names) {
          const first = rows.filter(({ daysSince }) => daysSince > day - (firstDay ?? day))
          found.push({
            day,
            name,
            count: sumOf(rows, 'count'),
            prospects: sumOf(first, 'count'),
            newProspects: sumOf(rows, 'newProspects'),
          })
        }
      }
      return found
    },

    removeOf: async ({ tenantId, prospectId }, max) => {
      const ofTenant = days.byDay.after({ tenantId })
      const gone = ofTenant.filter((row) => row.prospectId === prospectId).slice(0, max)
      gone.forEach(days.remove)
      return gone.length
    },

    expire: async ({ tenantId, before, max }) => {
      const known = days.byDay.after({ tenantId })
      const end = Math.max(before, (known.at(-1)?.day ?? 0) - DAYS_KEPT)
      const old = known.filter(({ day }) => day < end).slice(0, max)
      old.forEach(days.remove)
      return old.length === max
    },
  }

  return {
    port,
    add: (tenantId: string, addCounts: readonly ProspectCount[], addDays: readonly ProspectDay[]): void => {
      for (const count of addCounts) {
        const known = counts.byDay.at({ ...count, tenantId })
        const sums = {
          count: count.count + (known?.count ?? 0),
          newProspects: count.newProspects + (known?.newProspects ?? 0),
        }
        if (!counts.change(known, sums)) counts.add({ ...count, tenantId })
      }
      for (const day of addDays) {
        const isKnown = days.byPlace.at({ ...day, tenantId }) !== undefined
        if (!isKnown && !isErased(tenantId, day.prospectId)) days.add({ ...day, tenantId })
      }
    },
    removeFrom: (tenantId: string, day: number): void => {
      const isLater = (row: OfTenant & { readonly day: number }) =>
        row.tenantId === tenantId && row.day >= day
      counts.all().filter(isLater).forEach(counts.remove)
      days.all().filter(isLater).forEach(days.remove)
    },
  }
}

const AFTER_ALL_NAMES = '\uffff\uffff'
/** Sorts as the number does. */
const textOfDay = (day: number): string => String(day).padStart(8, '0')
const placeOfDay = ({ day, prospectId, kind, name }: ProspectDay): string =>
  keyOf(textOfDay(day), prospectId, kind, name)

const sumOf = (rows: readonly ProspectCount[], member: 'count' | 'newProspects'): number =>
  rows.reduce((sum, row) => sum + row[member], 0)

/** The page that a payload names. */
const pageIdIn = ({ rawJson }: RawJson): string | null => {
  const isSearched = rawJson.includes('"pageId"') && Buffer.byteLength(rawJson) <= PAGE_PAYLOAD_BYTES_MAX
  if (!isSearched) return null
  const { pageId } = JSON.parse(rawJson)
  return typeof pageId === 'string' ? pageId : null
}
