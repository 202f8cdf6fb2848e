import type { Store } from '../core/ports/store.ts'
import { prospectOf } from '../core/prospects/get-prospect.ts'
import { brandsOf } from '../core/tenants/create-tenant.ts'
import { writeLine } from '../json/write-json.ts'
import type { RawJson } from '../shapes/json.ts'
import { csvLine } from './csv.ts'
import { PROSPECT_COLUMNS } from './import-prospects.ts'

const PAGE_MAX = 200

/**
 * The prospects of a tenant, neither erased nor merged, as JSON lines or CSV, oldest first, a page at a time in
 * constant memory. Each page is one short read; new prospects are exported too. Refuses `not_found`: the tenant.
 */
export async function* exportProspects(
  store: Pick<Store, 'tenants' | 'prospects'>,
  tenantId: string,
  isCsv: boolean,
): AsyncGenerator<RawJson> {
  await brandsOf(store, tenantId)
  if (isCsv) yield { rawJson: csvLine(PROSPECT_COLUMNS) }
  for (let afterId = ''; ; ) {
    const found = await store.prospects.listOldest({ tenantId, afterId, limit: PAGE_MAX })
    const last = found.at(-1)
    if (last === undefined) return
    const shown = found.filter(({ erasedAt, mergedInto }) => erasedAt === null && mergedInto === null)
    const lines = shown
      .map(prospectOf)
      .map((prospect) =>
        isCsv ? csvLine(PROSPECT_COLUMNS.map((column) => prospect[column])) : writeLine(prospect),
      )
    if (lines.length > 0) yield { rawJson: lines.join('\n') }
    afterId = last.prospectId
  }
}
