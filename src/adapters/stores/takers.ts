import { keyOf, memoized } from '../../core/engine/keys.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { StoredEndpoint } from '../../core/ports/webhooks.ts'

/** Deliveries that one step may add: the embedded database adds them while all callers wait. */
export const DELIVERIES_MAX = 1_000
/** How many events to number in one step for this number of endpoints. */
export const eventsAtOnce = (endpoints: number, max: number): number =>
  Math.min(max, Math.ceil(DELIVERIES_MAX / Math.max(endpoints, 1)))

/**
 * Endpoints that take an event: by its type and, for a logged activity that still exists, by the activity's source and
 * type, which are read only if there is a filter. Each filter is parsed once, and matched once for all similar events.
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
    const takers = all.filter(
      ({ endpoint: { types } }) => types === null || types.some((one) => one === type),
    )
    const passing = takers.filter(({ takesSource, takesType }) => takesSource(source) && takesType(logType))
    return (type === LOGGED ? passing : takers).map(({ endpoint }) => endpoint)
  })
  return (event: NewEvent): readonly Endpoint[] => {
    const log = isFiltered && event.type === LOGGED && logOf(event)
    return takersOf(log ? keyOf(LOGGED, log.source, log.type) : event.type)
  }
}
const LOGGED = 'prospect_log.created'
