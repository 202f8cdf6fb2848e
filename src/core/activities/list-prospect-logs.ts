import type { ProspectLogQuery } from '../../shapes/prospect-log.ts'
import { refuse } from '../engine/failures.ts'
import { idsSince } from '../engine/id-times.ts'
import { keyOf, sha256 } from '../engine/keys.ts'
import { sliceOf } from '../engine/slices.ts'
import type { ProspectLogsQuery } from '../ports/prospect-logs.ts'
import type { Needs } from '../ports/store.ts'
import type { RowsQuery } from '../ports/world.ts'

/** Which slice of the activities of a tenant to list. */
export type ProspectLogListing = ProspectLogQuery & { readonly tenantId: string }

/**
 * Lists a tenant's activities, newest first in the order of arrival. With a source and an idempotency key: those that
 * arrived under a key with that text.
 * Refuses `invalid_cursor`, and `invalid_request`: an idempotency key without its source.
 */
export const listProspectLogs = ({ store }: Pick<Needs<'prospectLogs'>, 'store'>) =>
  sliceOf({
    nameOf: (listing: ProspectLogListing) => `prospect_logs?${filterOf(listing)}`,
    find: async (listing) => store.prospectLogs.list(queryOf(listing)),
    positionOf: ({ prospectLogId }) => prospectLogId,
    itemOf: (log) => log,
  })

/** Ids begin with their time of creation, so time ranges are ranges of ids. */
const queryOf = (listing: ProspectLogListing & RowsQuery): ProspectLogsQuery => {
  const { tenantId, limit, beforeId, since, until } = listing
  const { source = null, type = null, idempotencyKey = null } = listing
  if (idempotencyKey !== null && source === null)
    refuse('invalid_request', 'An idempotency key belongs to its source.', {
      errors: [{ detail: 'is required with idempotencyKey', parameter: 'source' }],
    })
  const untilId = until === undefined ? null : idsSince('prospectlog', until)
  return {
    tenantId,
    limit,
    source,
    type,
    idempotencyKey,
    beforeId: earlier(beforeId, untilId),
    fromId: since === undefined ? null : idsSince('prospectlog', since),
  }
}

const earlier = (a: string | null, b: string | null): string | null => {
  if (a === null || b === null) return a ?? b
  return a < b ? a : b
}

/** Marks the cursors of a filter; empty without one. */
export const filterOf = (query: Partial<ProspectLogQuery>): string => {
  const filter = [query.source, query.type, query.since, query.until, query.idempotencyKey]
  return filter.some((text) => text !== undefined) ? sha256(keyOf(...filter.map((text) => text ?? ''))) : ''
}
