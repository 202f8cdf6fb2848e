import { keyOf, memoized } from '../../core/engine/keys.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { StoredEndpoint } from '../../core/ports/webhooks.ts'

/** Deliveries that one step may add: the embedded database adds them while all callers wait. */
export const DELIVERIES_MAX = 1_000
/** How many events to number for so many endpoints in one step. */
export const eventsAtOnce = (endpoints: number, max: number): number =>
  Math.min(max, Math.ceil(DELIVERIES_MAX / Math.max(endpoints, 1)))

/**
 * Endpoints that take an event: by its type and, of a logged activity that is still there, by its source and
 * type, which only a filter makes be read. Each filter is read once, and matched once for all events that are alike.
 */
export const takersAmong = <Endpoint extends Pick<StoredEndpoint, 'types' | 'sources' | 'logTypes'>>(
  endpoints: readonly Endpoint[],
  logOf: (event: NewEvent) => { readonly source: string; readonly type: string } | undefined | null,
) => {
  const takes = (list: string | null) => {
    const texts = list === null ? null : new Set<string>(JSON.parse(list))
    return (text = '') => texts?.has(text) ?? true
  }
  const all = endpoints.map((endpoint) => {
    return { endpoint, takesSource: takes(endpoint.sources), takesType: takes(endpoint.logTypes) }
  })
  const isFiltered = endpoints.some(({ sources, logTypes }) => sources ?? logTypes)
  const takersOf = memoized((key: string) => {
    const [type, source, logType] = key.split('\0')
    const its = all.filter(({ endpoint: { types } }) => types === null || types.some((one) => one === type))
    const passing = its.filter(({ takesSource, takesType }) => takesSource(source) && takesType(logType))
    return (type === LOGGED ? passing : its).map(({ endpoint }) => endpoint)
  })
  return (event: NewEvent): readonly Endpoint[] => {
    const log = isFiltered && event.type === LOGGED && logOf(event)
    return takersOf(log ? keyOf(LOGGED, log.source, log.type) : event.type)
  }
}
const LOGGED = 'prospect_log.created'
