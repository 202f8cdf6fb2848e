import type { SliceWant } from '../../core/ports/verbs.ts'
import { AFTER_ALL_IDS } from '../rows.ts'

/** `number` is the want's place in the list. */
type Numbered<Want> = Want & { readonly number: number; readonly beforeId: string; readonly rowsMax: number }

/**
 * Reads one list of rows for each want, in order; null for a want without rows. Each tenant has its own statements: no
 * statement leaves its tenant, so it also runs where tenants live on different machines.
 */
export const listsByTenant = async <Want extends SliceWant, Row extends { readonly want: number }>(
  wants: readonly Want[],
  rowsOf: (tenantId: string, wants: readonly Numbered<Want>[]) => Promise<readonly Row[]>,
): Promise<(Omit<Row, 'want'>[] | null)[]> => {
  const numbered = wants.map((want, number) => ({
    ...want,
    number,
    beforeId: want.beforeId ?? AFTER_ALL_IDS,
    rowsMax: want.limit + 1,
  }))
  const tenants = [...Map.groupBy(numbered, ({ tenantId }) => tenantId)]
  const rows = await Promise.all(tenants.map(([tenantId, its]) => rowsOf(tenantId, its)))
  const lists = Map.groupBy(rows.flat(), ({ want }) => want)
  return wants.map((_, number) => lists.get(number)?.map(({ want, ...row }) => row) ?? null)
}
