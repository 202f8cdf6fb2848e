import { type OfEach, together } from './by-tenant.ts'
import type { Count } from './new-pages.ts'
import { addedToActive } from './new-pages.ts'
import { type Fragment, nothing } from './sql.ts'

/** The few forms that a store over this one may replace. */
export type Forms = {
  /** Reads rows of several tenants. */
  readonly ofEach: OfEach
  /** The tenant whose machine takes a write; null if any does. */
  readonly leadOf: (rows: readonly OfTenant[]) => string | null
  /** A name of the machine of a tenant, whose clock a write is compared with. */
  readonly placeOf: (of: OfTenant) => string
  /** More conditions on rows `l` of a tenant that are found along the index of timelines. */
  readonly pinned: (tenantId: string) => Fragment
  /** The rows that are added to the counts of pages. */
  readonly addedPages: (counts: readonly Count[]) => Fragment
  /** More columns that a change of an API key or of a hook sets. */
  readonly andSet: Fragment
}
type OfTenant = { readonly tenantId: string }

export const FORMS: Forms = {
  ofEach: together,
  leadOf: () => null,
  placeOf: () => '',
  pinned: () => nothing,
  addedPages: addedToActive,
  andSet: nothing,
}
