import type { NewEvent } from '../../core/ports/events.ts'
import type { NewPageRow } from '../../core/ports/pages.ts'
import type { columns, Fragment } from './sql.ts'

export type OfTenant = { readonly tenantId: string }
type Columns = ReturnType<typeof columns>
type Lists = Readonly<Record<string, readonly OfTenant[]>>

/** The tenant of the rows that a statement reads: each wanted row names its tenant, or all are of this one. */
export type Of = {
  readonly tenantId: string | null
  /** Follows `tenant_id =` in a look-up in a `lateral`. */
  readonly tenant: Fragment
  /**
   * Ends such a look-up. If the tenant is a parameter, a limit makes each look-up use its whole key, whatever the
   * planner assumes of the tenant. If the tenant comes with the list, that is so anyway, and a join is faster.
   */
  readonly once: Fragment
}

export type OfEach = <Lookups extends Lists, Row>(
  lookups: Lookups,
  rowsOf: (tenantLookups: Lookups, of: Of) => Promise<readonly Row[]> | readonly Row[],
) => Promise<readonly Row[]>

/** Conditions that a write was saved: `each` on the row of an `event`, `all` on the whole write. */
export type Saved = { readonly each: Fragment; readonly all: Fragment }

/** The forms of statements that a cluster needs. */
export type Forms = {
  /** Reads rows of several tenants. */
  readonly ofEach: OfEach
  /** The tenant whose machine takes a write; null if any does. */
  readonly leadOf: (rows: readonly OfTenant[]) => string | null
  /** A name of the machine of a tenant, whose clock a write is compared with. */
  readonly placeOf: (of: OfTenant) => string
  /** More conditions on rows `l` of a tenant that are found along the index of timelines. */
  readonly pinned: (tenantId: string) => Fragment
  /** The text after `insert into` and a table: these rows, if a condition on other parts of the statement is true. */
  readonly inserted: (to: Columns, rows: readonly object[], condition?: Fragment) => Fragment
  /** The columns by which rows are ordered that are inserted, and locked in this order. */
  readonly insertedInOrder: (to: Columns, rows: readonly object[], order: readonly string[]) => Fragment
  /** The conditions of events, each on its row, and of the whole write, which divides by zero if it is false. */
  readonly saved: (saved: Saved) => Saved
  /** Whether a part that inserts may select from another part. */
  readonly derivesEvents: boolean
  /** Only with `everyEvent`: reads before a write which of its events are needed. Without this, the write finds out. */
  readonly used?: (events: readonly NewEvent[]) => Promise<readonly NewEvent[]>
  /** True if this is; otherwise the statement fails, and nothing is saved. */
  readonly required: (assumption: Fragment) => Fragment
  /** The parts of the statement that saves a new page, and what it answers. */
  readonly newPages: (
    created: NewPageRow,
    pageNumber: number | null,
  ) => {
    readonly parts: Fragment
    readonly done?: Fragment
  }
  /** More columns that a change of an API key or of a hook sets. */
  readonly andSet: Fragment
}
