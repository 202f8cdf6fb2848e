import { keyOf } from '../engine/keys.ts'
import {
  type CountedBy,
  DAYS_BACK,
  type Day,
  NOT_SINCE,
  type ProspectCount,
  type ProspectDay,
  type ProspectTally,
} from '../ports/prospect-counts.ts'

/** Pages, and sources, that are counted separately in a day. Logs of the others are counted together, without prospects. */
export const NAMES_MAX = 1_000

/**
 * What tallied logs of a day add to its counts. The first log of a prospect on the day counts for the days since the prospect
 * was last there, the others for 0. So those who came since some earlier day for the first time are the logs whose number
 * of days goes back beyond that day: people of any number of days can be summed, each counted once.
 */
export const decideProspectCounts = (
  day: Day,
  known: readonly { readonly kind: CountedBy; readonly name: string }[],
  tallied: readonly ProspectTally[],
): { addProspects: ProspectCount[]; addDays: ProspectDay[] } => {
  const names = { page: new Set<string>(), source: new Set<string>() }
  for (const { kind, name } of known) if (name !== '') names[kind].add(name)
  const counts = new Map<string, ProspectCount>()
  const add = (more: ProspectCount): void => {
    const key = keyOf(more.kind, more.name, String(more.daysSince))
    const sum = counts.get(key)
    const count = more.count + (sum?.count ?? 0)
    const newProspects = more.newProspects + (sum?.newProspects ?? 0)
    if (count > 0) counts.set(key, { ...more, count, newProspects })
  }

  const addDays: ProspectDay[] = []
  for (const { kind, name, prospectId, count, newProspects, lastDay } of tallied) {
    const ofKind = names[kind]
    if (!ofKind.has(name) && ofKind.size === NAMES_MAX) {
      add({ kind, day, name: '', daysSince: 0, count, newProspects })
      continue
    }
    ofKind.add(name)
    if (lastDay === day) {
      add({ kind, day, name, daysSince: 0, count, newProspects })
      continue
    }
    const daysBack = lastDay === null ? NOT_SINCE : day - lastDay
    const daysSince = daysBack > DAYS_BACK ? NOT_SINCE : daysBack
    add({ kind, day, name, daysSince, count: 1, newProspects })
    add({ kind, day, name, daysSince: 0, count: count - 1, newProspects: 0 })
    addDays.push({ kind, day, name, prospectId })
  }
  return { addProspects: [...counts.values()], addDays }
}
