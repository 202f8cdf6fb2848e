import { eachTenant } from '../postgres/by-tenant.ts'
import type { Forms } from '../postgres/forms.ts'
import { COUNTS } from '../postgres/new-pages.ts'
import { sql, textArray } from '../postgres/sql.ts'

/** Citus plans each call: a statement whose tenant is not known yet would go to all machines, or be refused. */
export const PLAN_EACH = { plan_cache_mode: 'force_custom_plan', jit: 'off' } as const

/**
 * Each tenant lives on one machine, and only a parameter routes a statement there: it names its one tenant for every
 * table that it touches. A list that is written is for tenants of one machine, and sent there.
 */
export const citusForms = (placeOf: Forms['placeOf']): Forms => ({
  ofEach: eachTenant,
  leadOf: ([first]) => first?.tenantId ?? null,
  placeOf,
  pinned: (tenantId) => sql`and l.tenant_id = ${tenantId}`,
  // Citus refuses a subquery for each row, and takes one for all.
  addedPages: (counts) => sql`
    select tenant_id, page_group_id, case when tenant_id || page_group_id in (
      select g.tenant_id || g.page_group_id from page_groups g
      where g.tenant_id = any (${textArray(counts.map(({ tenantId }) => tenantId))}::text[])
        and (g.status || '/' || g.page_group_id) collate "C"
          = any (${textArray(counts.map(({ pageGroupId }) => `active/${pageGroupId}`))}::text[])
    ) then added.pages_count end, changes
    from ${COUNTS.from(counts)}`,
  andSet: sql`, is_copied = false`,
})
