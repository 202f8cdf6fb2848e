import { AFTER_ALL_IDS } from '../adapters/stores/take-slice.ts'
import { idsSince } from '../core/engine/id-times.ts'
import type { FoundProspect } from '../core/ports/prospects.ts'
import type { Store } from '../core/ports/store.ts'
import type { Timestamp } from '../core/ports/world.ts'
import { prospectOf } from '../core/prospects/get-prospect.ts'
import { brandsOf } from '../core/tenants/create-tenant.ts'
import { writeLine } from '../json/write-json.ts'
import type { RawJson } from '../shapes/json.ts'
import { csvLine } from './csv.ts'
import { PROSPECT_COLUMNS } from './import-prospects.ts'

/** Small at first: on PostgreSQL a page of large payloads is read as a whole before it is cut. */
const FIRST_PAGE = 20
const PAGE_MAX = 200

/** All rows, a page at a time in constant memory. Each page is one short read; rows added meanwhile are read too. */
async function* pagesOf<Row>(read: (last: Row | undefined, limit: number) => Promise<readonly Row[]>) {
  let rows = await read(undefined, FIRST_PAGE)
  for (; rows.length > 0; rows = await read(rows.at(-1), Math.min(2 * rows.length, PAGE_MAX))) yield rows
}

type Export = Readonly<{ tenantId: string; since: Timestamp | null; until: Timestamp | null }>
/**
 * The logs of a tenant as JSON lines, oldest first, that arrived from one time on and before another. Refuses
 * `not_found`: the tenant.
 */
export async function* exportProspectLogs(
  store: Pick<Store, 'tenants' | 'prospectLogs'>,
  { tenantId, since, until }: Export,
): AsyncGenerator<RawJson> {
  await brandsOf(store, tenantId)
  const beforeId = until === null ? AFTER_ALL_IDS : idsSince('prospectlog', until)
  const firstId = since === null ? '' : idsSince('prospectlog', since)
  const pages = pagesOf<{ readonly prospectLogId: string }>((last, limit) =>
    store.prospectLogs.listOldest({ tenantId, afterId: last?.prospectLogId ?? firstId, beforeId, limit }),
  )
  for await (const logs of pages) yield { rawJson: logs.map(writeLine).join('\n') }
}

/**
 * The prospects of a tenant, neither erased nor merged, as JSON lines or CSV, oldest first. Refuses `not_found`: the
 * tenant.
 */
export async function* exportProspects(
  store: Pick<Store, 'tenants' | 'prospects'>,
  tenantId: string,
  isCsv: boolean,
): AsyncGenerator<RawJson> {
  await brandsOf(store, tenantId)
  if (isCsv) yield { rawJson: csvLine(PROSPECT_COLUMNS) }
  const pages = pagesOf<FoundProspect>((last, limit) =>
    store.prospects.listOldest({ tenantId, afterId: last?.prospectId ?? '', limit }),
  )
  for await (const found of pages) {
    const shown = found.filter(({ erasedAt, mergedInto }) => erasedAt === null && mergedInto === null)
    const lines = shown
      .map(prospectOf)
      .map((prospect) =>
        isCsv ? csvLine(PROSPECT_COLUMNS.map((column) => prospect[column])) : writeLine(prospect),
      )
    if (lines.length > 0) yield { rawJson: lines.join('\n') }
  }
}
