import { getProspectLogs } from './activities/get-prospect-log.ts'
import { type GatherOptions, gather } from './engine/gather.ts'
import { manyOf } from './engine/in-order.ts'
import { getPages, keyOfPage } from './pages/get-page.ts'
import { getPageGroup } from './pages/get-page-group.ts'
import { getVersions } from './pages/list-versions.ts'
import type { Needs, Store } from './ports/store.ts'
import { getProspects } from './prospects/get-prospect.ts'
import { getWebhookEndpoint } from './webhooks/webhook-endpoints.ts'

/** Page groups that are read at a time: each may have 4 MiB. */
const GROUPS_MAX = 4

/** The use cases that read one resource. As they gather calls, the data of many events takes one query. */
export const eventReaders = (
  deps: Pick<Needs<keyof Store>, 'store'>,
  optionsOf: (operation: string) => GatherOptions<{ readonly tenantId: string }>,
) => ({
  getProspect: gather(getProspects(deps), optionsOf('getProspect')),
  getProspectLog: gather(getProspectLogs(deps), optionsOf('getProspectLog')),
  /** Sees deleted groups: their last event is that they were deleted. */
  getPageGroup: gather(manyOf(getPageGroup({ ...deps, seesDeleted: true })), {
    ...optionsOf('getPageGroup'),
    listLengthMax: GROUPS_MAX,
  }),
  getPage: gather(getPages(deps), { ...optionsOf('getPage'), dedupeKey: keyOfPage }),
  getVersion: gather(getVersions(deps), optionsOf('getVersion')),
  getWebhookEndpoint: getWebhookEndpoint(deps),
})
