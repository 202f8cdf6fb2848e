import type { NewEvent } from '../../core/ports/events.ts'
import { camelCase } from '../stores/columns.ts'
import { firstVersionRow, newPageRow } from '../stores/page-rows.ts'
import { sortedBy } from '../stores/rows.ts'
import { eachTenant } from './by-tenant.ts'
import type { Forms } from './forms.ts'
import { COUNT_UP, COUNTS, PAGES, VERSIONS } from './new-pages.ts'
import { subscribers } from './outbox.ts'
import { type Query, sql } from './sql.ts'

/** A statement takes 65,535 parameters. Gathered batches are never that long. */
const VALUES_ROWS_MAX = 2_000

/**
 * An `insert … select` that reads another part of its statement, or has `on conflict` or `returning`, needs every node
 * and a two-phase commit. So such rows are sent as `values`, without a condition, and a statement that saved only some of
 * them divides by zero: then nothing is saved.
 */
const valuesOf: Forms['inserted'] = (to, rows) =>
  rows.length > VALUES_ROWS_MAX ? to.into(rows) : to.values(rows)

type InOrder = Forms['insertedInOrder']
const sorted = (rows: readonly object[], order: readonly string[]) => sortedBy(rows, ...order.map(camelCase))
/**
 * Any other `insert … select` stays on the node of its tenants. Citus plans each row of `values`: for a few rows that is
 * faster than an array for each column, for 30 it takes twice as long, and for 64 four times.
 */
const shortest: Forms['inserted'] = (to, rows) =>
  rows.length > FEW_ROWS_MAX ? to.into(rows) : to.values(rows)
const FEW_ROWS_MAX = 7
const shortestInOrder: InOrder = (to, rows, order) => shortest(to, sorted(rows, order))

/**
 * Inserts a page, one table after another. If its group is no longer active, or has another title, the count of such groups
 * is divided by zero: then nothing is saved.
 */
const newPages: Forms['newPages'] = (page, pageNumber) => {
  const { tenantId, pageGroupId, groupTitle } = page
  const parts = sql`
    added as (
      insert into pages ${PAGES.values([newPageRow(page, pageNumber)])}
    ), versioned as (
      insert into page_versions ${VERSIONS.values([firstVersionRow(page)])}
    ), counted as (
      insert into page_counts as c ${COUNTS.values([{ tenantId, pageGroupId, pagesCount: 1, changes: 1 }])} ${COUNT_UP}
    )`
  const done = sql`(
    select count(*) / (count(*) = 1)::int from page_groups g
    where g.tenant_id = ${tenantId}
      and (g.status || '/' || g.page_group_id) collate "C" = ${`active/${pageGroupId}`}
      and (${groupTitle}::text is null or g.title = ${groupTitle})) as done`
  return { parts, done }
}

/** No function may be called in a statement that Citus plans for the machine of a tenant. */
const required: Forms['required'] = (assumption) => sql`1 / (${assumption})::int = 1`

/**
 * Each tenant lives on one machine, and only a parameter routes a statement there: it names its one tenant for every
 * table that it touches. A list that is written is for tenants of one machine, and sent there.
 */
export const citusForms = (placeOf: Forms['placeOf']): Forms => ({
  ofEach: eachTenant,
  leadOf: ([first]) => first?.tenantId ?? null,
  placeOf,
  pinned: (tenantId) => sql`and l.tenant_id = ${tenantId}`,
  inserted: valuesOf,
  insertedInOrder: shortestInOrder,
  saved: ({ all }) => ({ each: sql`true`, all: required(all) }),
  derivesEvents: false,
  required,
  newPages,
  andSet: sql`, is_copied = false`,
})

/** An insert that finds out which tenants use events would be an `insert … select` that reads another table. */
export const usedOn =
  (query: Query): NonNullable<Forms['used']> =>
  async (events) => {
    if (events.length === 0) return events
    const rows = await query(events[0]?.tenantId)<NewEvent>`${subscribers(events)}`
    const tenantIds = new Set(rows.map(({ tenantId }) => tenantId))
    return events.filter(({ tenantId }) => tenantIds.has(tenantId))
  }
