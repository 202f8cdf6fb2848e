import { AFTER_ALL_IDS } from '../adapters/stores/take-slice.ts'
import { refuse } from '../core/engine/failures.ts'
import { idsSince } from '../core/engine/id-times.ts'
import type { FoundProspect } from '../core/ports/prospects.ts'
import type { Store } from '../core/ports/store.ts'
import type { Timestamp } from '../core/ports/world.ts'
import { prospectOf } from '../core/prospects/get-prospect.ts'
import { brandsOf } from '../core/tenants/create-tenant.ts'
import { writeLine } from '../json/write-json.ts'
import type { RawJson } from '../shapes/json.ts'
import type { Prospect } from '../shapes/prospect.ts'
import { columnOf, PROSPECT_COLUMNS, textsOf } from './attribute-columns.ts'
import { csvLine } from './csv.ts'

/** Small at first: PostgreSQL reads a whole batch of large payloads before it is cut to size. */
const FIRST_BATCH = 20
const BATCH_MAX = 200

/** Yields all rows in batches, in constant memory. Each batch is a short read; rows added in the meantime are included. */
async function* batchesFrom<Row>(read: (last: Row | undefined, limit: number) => Promise<readonly Row[]>) {
  let rows = await read(undefined, FIRST_BATCH)
  while (rows.length > 0) {
    yield rows
    rows = await read(rows.at(-1), Math.min(2 * rows.length, BATCH_MAX))
  }
}

type Export = Readonly<{ tenantId: string; since: Timestamp | null; until: Timestamp | null }>

/**
 * The logs of a tenant that arrived between `since` and `until`, as JSON lines, oldest first. Refuses `not_found` if there
 * is no such tenant.
 */
export async function* exportProspectLogs(
  store: Pick<Store, 'tenants' | 'prospectLogs'>,
  { tenantId, since, until }: Export,
): AsyncGenerator<RawJson> {
  await brandsOf(store, tenantId)
  const beforeId = until === null ? AFTER_ALL_IDS : idsSince('prospectlog', until)
  const firstId = since === null ? '' : idsSince('prospectlog', since)
  const batches = batchesFrom<{ readonly prospectLogId: string }>((last, limit) =>
    store.prospectLogs.listOldest({ tenantId, afterId: last?.prospectLogId ?? firstId, beforeId, limit }),
  )
  for await (const logs of batches) yield { rawJson: logs.map(writeLine).join('\n') }
}

/**
 * The prospects of a tenant, except erased and merged ones, as JSON lines or CSV with a column for each attribute, oldest
 * first. Refuses `not_found` if
 * there is no such tenant.
 */
export async function* exportProspects(
  store: Pick<Store, 'tenants' | 'prospects'>,
  tenantId: string,
  isCsv: boolean,
): AsyncGenerator<RawJson> {
  await brandsOf(store, tenantId)
  const attributeNames = isCsv ? await attributeNamesOf(store, tenantId) : []
  if (isCsv) yield { rawJson: csvLine([...PROSPECT_COLUMNS, ...attributeNames.map(columnOf)]) }
  const toCsv = (prospect: Prospect): string => {
    const texts = textsOf(prospect.attributes)
    const attributes = attributeNames.map((name) => texts.get(name) ?? null)
    return csvLine([...PROSPECT_COLUMNS.map((column) => prospect[column]), ...attributes])
  }
  for await (const prospects of prospectsOf(store, tenantId))
    yield { rawJson: prospects.map(isCsv ? toCsv : writeLine).join('\n') }
}

/** The prospects of a tenant that are neither erased nor merged, in batches. */
async function* prospectsOf({ prospects }: Pick<Store, 'prospects'>, tenantId: string) {
  const batches = batchesFrom<FoundProspect>((last, limit) =>
    prospects.listOldest({ tenantId, afterId: last?.prospectId ?? '', limit }),
  )
  for await (const found of batches) {
    const living = found.filter(({ erasedAt, mergedInto }) => erasedAt === null && mergedInto === null)
    if (living.length > 0) yield living.map(prospectOf)
  }
}

/** A spreadsheet is not meant for more. */
const ATTRIBUTE_COLUMNS_MAX = 1_000

/**
 * The names of all attributes, in the order in which people have them: the first line of CSV names them. What is added while
 * the rest is exported has no column. Refuses `limit_reached`.
 */
const attributeNamesOf = async (store: Pick<Store, 'prospects'>, tenantId: string): Promise<string[]> => {
  const names = new Set<string>()
  for await (const prospects of prospectsOf(store, tenantId)) {
    for (const { attributes } of prospects) for (const name of textsOf(attributes).keys()) names.add(name)
    if (names.size > ATTRIBUTE_COLUMNS_MAX)
      refuse(
        'limit_reached',
        `People have more than ${ATTRIBUTE_COLUMNS_MAX} different attributes: export JSON lines.`,
      )
  }
  return [...names]
}
