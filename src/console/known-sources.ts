import type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
import { can, get } from './api.ts'

/** The sources of the last 30 days, with the types of their activities, by name. */
type KnownSources = ReadonlyMap<string, ReadonlySet<string>>

/** Minimum time between two reads. */
const FRESH_MS = 60_000
let read: Promise<KnownSources> = Promise.resolve(new Map())
let readMs = 0

/** Reads which sources sent something lately. None if activities are not counted. */
export const knownSources = (): Promise<KnownSources> => {
  if (can('prospect_logs:read') && Date.now() - readMs >= FRESH_MS) {
    readMs = Date.now()
    read = readSources().catch(() => new Map())
  }
  return read
}

const readSources = async (): Promise<KnownSources> => {
  const { items } = await get<ProspectLogCounts>('/prospect_log_counts', { by: 'day' })
  const sources = new Map<string, Set<string>>()
  for (const { source, type } of items) {
    if (source === null || type === null) continue
    const types = sources.get(source) ?? new Set()
    sources.set(source, types.add(type))
  }
  return sources
}
