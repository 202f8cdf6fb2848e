import type { Hook } from '../shapes/hook.ts'
import type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
import { can, get, type Slice } from './api.ts'
import { isFormHook, isFormType } from './forms.ts'

/** A source, the types of its activities, and whether people fill it in. */
type KnownSource = { readonly types: ReadonlySet<string>; readonly isForm: boolean }
/** The sources that are connected or sent something in the last 30 days, by name. */
type KnownSources = ReadonlyMap<string, KnownSource>

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
  const sources = new Map<string, { types: Set<string>; isForm: boolean }>()
  const known = (name: string) => {
    const source = sources.get(name) ?? { types: new Set(), isForm: false }
    sources.set(name, source)
    return source
  }
  for (const hook of connected) known(hook.source).isForm ||= isFormHook(hook)
  for (const { source, type } of counted) {
    if (source === null || type === null) continue
    known(source).types.add(type)
    known(source).isForm ||= isFormType(type)
  }
  return sources
}
