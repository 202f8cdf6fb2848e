import type { NewLog } from '../../core/ports/activities.ts'
import type { StoredEndpoint } from '../../core/ports/webhooks.ts'
import { subscribedAmong } from '../stores/subscribed-endpoints.ts'
import type { Database } from './open.ts'

/** Types are kept as one text: `a b`. */
export type EndpointRow = Omit<StoredEndpoint, 'types'> & { readonly types: string | null }
export const storedEndpoint = <Row extends EndpointRow>({ types, ...row }: Row) => {
  return { ...row, types: (types?.split(' ') ?? null) as StoredEndpoint['types'] }
}
export const endpointRow = ({ types, ...endpoint }: StoredEndpoint) => {
  return { ...endpoint, types: types?.join(' ') ?? null }
}

const ACTIVITY =
  'select source, type from prospect_logs where tenant_id = :tenantId and prospect_log_id = :prospectLogId'
/** Finds those of these endpoints that are subscribed to an event. */
export const subscribedEndpoints = (database: Database, endpoints: readonly EndpointRow[]) =>
  subscribedAmong(endpoints.map(storedEndpoint), ({ tenantId, ids: { prospectLogId = '' } }) =>
    database.get<NewLog>(ACTIVITY, { tenantId, prospectLogId }),
  )
