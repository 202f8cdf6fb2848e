import { type GatherOptions, gather } from '../adapters/stores/gather.ts'
import { readEach } from '../adapters/stores/read-each.ts'
import { getProspectLog } from '../core/activities/get-prospect-log.ts'
import type { EventReaders } from '../core/events/event-data.ts'
import { getPage } from '../core/pages/get-page.ts'
import { getPageGroup } from '../core/pages/get-page-group.ts'
import { getVersion } from '../core/pages/get-version.ts'
import type { Needs, Store } from '../core/ports/store.ts'
import { readProspect } from '../core/prospects/get-prospect.ts'
import { getWebhookEndpoint } from '../core/webhooks/get-webhook-endpoint.ts'

type OfTenant = { readonly tenantId: string }
/** Page groups that are read at a time: each may have 4 MiB. */
const GROUPS_MAX = 4

/**
 * The use cases that read the resource behind an event. They gather calls, so that only some of the resources behind many
 * events are in memory at a time: each may be as large as a request body.
 */
export const eventReaders = (
  deps: Pick<Needs<keyof Store>, 'store'>,
  options: GatherOptions<OfTenant>,
): EventReaders => {
  const gathered = <Query extends OfTenant, Answer>(
    read: (query: Query) => Promise<Answer>,
    listLengthMax = options.listLengthMax,
  ) => gather(readEach(read), { ...options, listLengthMax })
  return {
    getProspect: gathered(readProspect(deps)),
    getProspectLog: gathered(getProspectLog(deps)),
    // Sees deleted groups: their last event is that they were deleted.
    getPageGroup: gathered(getPageGroup({ ...deps, seesDeleted: true }), GROUPS_MAX),
    getPage: gathered(getPage(deps)),
    getVersion: gathered(getVersion(deps)),
    getWebhookEndpoint: getWebhookEndpoint(deps),
  }
}
