import { keyOf } from '../../core/engine/keys.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { StoredEndpoint } from '../../core/ports/webhooks.ts'

/** Deliveries that one step may add: the embedded database adds them while all callers wait. */
export const DELIVERIES_MAX = 1_000
/** How many events to number in one step for this number of endpoints. */
export const eventsAtOnce = (endpoints: number, max: number): number =>
  Math.min(max, Math.ceil(DELIVERIES_MAX / Math.max(endpoints, 1)))

type Subscription = Pick<StoredEndpoint, 'types' | 'sources' | 'logTypes'>
/** What an endpoint's filters compare. */
type Activity = { readonly source: string; readonly type: string }

const LOGGED = 'prospect_log.created'

/**
 * Finds the endpoints that are subscribed to an event: to its type and, for a logged activity that still exists, to the
 * activity's source and type. The activity is read only if an endpoint filters by them. Each filter is parsed once, and
 * matched once for all similar events.
 */
export const subscribedAmong = <Endpoint extends Subscription>(
  endpoints: readonly Endpoint[],
  activityOf: (event: NewEvent) => Activity | undefined | null,
): ((event: NewEvent) => readonly Endpoint[]) => {
  const subscriptions = endpoints.map((endpoint) => ({
    endpoint,
    acceptsSource: acceptsOnly(endpoint.sources),
    acceptsLogType: acceptsOnly(endpoint.logTypes),
  }))
  const isFiltered = endpoints.some(({ sources, logTypes }) => sources ?? logTypes)

  const endpointsFor = (type: NewEvent['type'], activity: Activity | null): Endpoint[] =>
    subscriptions
      .filter(({ endpoint: { types } }) => types === null || types.some((subscribed) => subscribed === type))
      .filter((subscription) => {
        if (type !== LOGGED) return true
        return subscription.acceptsSource(activity?.source) && subscription.acceptsLogType(activity?.type)
      })
      .map(({ endpoint }) => endpoint)

  const known = new Map<string, readonly Endpoint[]>()
  return (event) => {
    const activity = isFiltered && event.type === LOGGED ? (activityOf(event) ?? null) : null
    const key = activity === null ? event.type : keyOf(event.type, activity.source, activity.type)
    const found = known.get(key) ?? endpointsFor(event.type, activity)
    known.set(key, found)
    return found
  }
}

/** Whether a list in JSON has a text. Without a list every text is accepted, even a missing one. */
const acceptsOnly = (list: string | null) => {
  if (list === null) return () => true
  const accepted = new Set<string | undefined>(JSON.parse(list))
  return (text: string | undefined): boolean => accepted.has(text)
}
