import { AFTER_ALL_IDS } from '../adapters/stores/take-slice.ts'
import { idsSince } from '../core/engine/id-times.ts'
import type { Store } from '../core/ports/store.ts'
import type { Timestamp } from '../core/ports/world.ts'
import { brandsOf } from '../core/tenants/create-tenant.ts'
import { writeLine } from '../json/write-json.ts'
import type { RawJson } from '../shapes/json.ts'

/** The tenant whose logs to export, and the range of arrival: from one time on and before another one. */
type Export = Readonly<{ tenantId: string; since: Timestamp | null; until: Timestamp | null }>
/** Small at first: on PostgreSQL a page of large payloads is read as a whole before it is cut. */
const [FIRST_PAGE, PAGE_MAX] = [20, 200]

/**
 * The logs of a tenant as JSON lines, oldest first, a page at a time in constant memory. Each page is one short read;
 * logs that arrive during the export are exported too. Refuses `not_found`: the tenant.
 */
export async function* exportProspectLogs(
  store: Pick<Store, 'tenants' | 'prospectLogs'>,
  { tenantId, since, until }: Export,
): AsyncGenerator<RawJson> {
  await brandsOf(store, tenantId)
  const beforeId = until === null ? AFTER_ALL_IDS : idsSince('prospectlog', until)
  let afterId = since === null ? '' : idsSince('prospectlog', since)
  for (let limit = FIRST_PAGE; ; ) {
    const logs = await store.prospectLogs.listOldest({ tenantId, afterId, beforeId, limit })
    const last = logs.at(-1)
    if (last === undefined) return
    yield { rawJson: logs.map(writeLine).join('\n') }
    afterId = last.prospectLogId
    limit = Math.min(2 * logs.length, PAGE_MAX)
  }
}
