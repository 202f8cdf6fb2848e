import { eachTenant } from '../postgres/by-tenant.ts'
import type { Forms } from '../postgres/forms.ts'
import { COUNT_UP, COUNTS, newPageRows, PAGES, VERSIONS } from '../postgres/new-pages.ts'
import { sql, textArray } from '../postgres/sql.ts'
import { camelCase } from '../stores/columns.ts'
import { sortedBy } from '../stores/rows.ts'

/** Citus plans each call: a statement whose tenant is not known yet would go to all machines, or be refused. */
export const PLAN_EACH = { plan_cache_mode: 'force_custom_plan', jit: 'off' } as const

/** Longer lists would take more parameters than a statement can have. Gathered batches are never that long. */
const VALUES_ROWS_MAX = 2_000

/**
 * An `insert … select` that reads another part of its statement, or has `on conflict` or `returning`, needs every node
 * and a two-phase commit. So rows are sent as `values`, without a condition, and a statement that saved only some of
 * them divides by zero: then nothing is saved.
 */
const valuesOf: Forms['inserted'] = (to, rows) =>
  rows.length > VALUES_ROWS_MAX ? to.into(rows) : to.values(rows)

/**
 * Inserts pages, one table after another. If a group is no longer active, the count of active groups is divided by
 * zero: then nothing is saved.
 */
const newPages: Forms['newPages'] = (created) => {
  const { pages, versions, counts } = newPageRows(created)
  const isOne = new Set(counts.map(({ tenantId }) => tenantId)).size === 1
  const isWanted = isOne
    ? sql`g.tenant_id = ${counts[0]?.tenantId ?? null}`
    : sql`g.tenant_id = any (${textArray(counts.map(({ tenantId }) => tenantId))}::text[])
        and g.tenant_id || g.page_group_id
          = any (${textArray(counts.map(({ tenantId, pageGroupId }) => tenantId + pageGroupId))}::text[])`
  const parts = sql`
    added as (
      insert into pages ${PAGES.values(pages)}
    ), versioned as (
      insert into page_versions ${VERSIONS.values(versions)}
    ), counted as (
      insert into page_counts as c ${COUNTS.values(counts)} ${COUNT_UP}
    )`
  const done = sql`(
    select count(*) / (count(*) = ${counts.length}::int)::int from page_groups g
    where ${isWanted} and (g.status || '/' || g.page_group_id) collate "C"
      = any (${textArray(counts.map(({ pageGroupId }) => `active/${pageGroupId}`))}::text[])) as done`
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
  insertedInOrder: (to, rows, order) => valuesOf(to, sortedBy(rows, ...order.map(camelCase))),
  saved: ({ all }) => ({ each: sql`true`, all: required(all) }),
  required,
  newPages,
  andSet: sql`, is_copied = false`,
})
