import { keyOf } from '../../core/engine/keys.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { StoredEndpoint } from '../../core/ports/webhooks.ts'

type Filtering = Pick<StoredEndpoint, 'types' | 'sources' | 'logTypes'>
type Logged = { readonly source: string; readonly type: string }

/** Deliveries that one step may add: the embedded database adds them while all callers wait. */
export const DELIVERIES_MAX = 1_000
/** How many events to number for so many endpoints in one step. */
export const eventsAtOnce = (endpoints: number, max: number): number =>
  Math.min(max, Math.ceil(DELIVERIES_MAX / Math.max(endpoints, 1)))

/**
 * Those of the endpoints that take an event: by its type and, of a logged activity that is still there, by its source and
 * type, which only a filter makes be read. Each filter is read once, and matched once for all events that are alike.
 */
export const takersAmong = <Endpoint extends Filtering>(
  endpoints: readonly Endpoint[],
  logOf: (event: NewEvent) => Logged | undefined | null,
) => {
  const setOf = (list: string | null) => (list === null ? null : new Set<string>(JSON.parse(list)))
  const all = endpoints.map((endpoint) => ({
    ...{ endpoint, types: endpoint.types },
    ...{ sources: setOf(endpoint.sources), logTypes: setOf(endpoint.logTypes) },
  }))
  const isFiltered = endpoints.some(({ sources, logTypes }) => sources ?? logTypes)
  const known = new Map<string, readonly Endpoint[]>()

  const matching = (type: NewEvent['type'], { source, type: logType }: Logged) => {
    const isLogged = type === 'prospect_log.created'
    const takes = ({ types, sources, logTypes }: (typeof all)[number]) =>
      (types?.includes(type) ?? true) &&
      (!isLogged || ((sources?.has(source) ?? true) && (logTypes?.has(logType) ?? true)))
    return all.filter(takes).map(({ endpoint }) => endpoint)
  }
  return (event: NewEvent): readonly Endpoint[] => {
    const isRead = isFiltered && event.type === 'prospect_log.created'
    const log = (isRead && logOf(event)) || { source: '', type: '' }
    const key = keyOf(event.type, log.source, log.type)
    const takers = known.get(key) ?? matching(event.type, log)
    known.set(key, takers)
    return takers
  }
}
