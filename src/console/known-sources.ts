import type { Hook } from '../shapes/hook.ts'
import type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
import { can, get, type Slice } from './api.ts'

/** The sources that are connected or sent something in the last 30 days, with the types of their activities, by name. */
type KnownSources = ReadonlyMap<string, ReadonlySet<string>>

let read: Promise<KnownSources> = Promise.resolve(new Map())
let readMs = 0

/** The known sources, as they were at most so long ago. Where activities are not counted, only those that are connected. */
export const knownSources = (ageMsMax: number): Promise<KnownSources> => {
  if (Date.now() - readMs >= ageMsMax) {
    readMs = Date.now()
    read = readSources()
  }
  return read
}

const readSources = async (): Promise<KnownSources> => {
  const [hooks, counts] = await Promise.allSettled([
    can('hooks:write') ? get<Slice<Hook>>('/hooks', { limit: 100 }) : null,
    can('prospect_logs:read') ? get<ProspectLogCounts>('/prospect_log_counts', { by: 'day' }) : null,
  ])
  const connected = hooks.status === 'fulfilled' ? (hooks.value?.items ?? []) : []
  const counted = counts.status === 'fulfilled' ? (counts.value?.items ?? []) : []
  const sources = new Map(connected.map(({ source }) => [source, new Set<string>()]))
  for (const { source, type } of counted) {
    if (source === null || type === null) continue
    sources.set(source, (sources.get(source) ?? new Set()).add(type))
  }
  return sources
}
