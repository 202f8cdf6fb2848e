type OfTenant = { readonly tenantId: string }
type Numbered<Want> = Want & { readonly number: number }

/**
 * Answers wants tenant by tenant, each tenant's by statements of its own: no statement of a list leaves its tenant, so
 * it also runs where tenants live on different machines.
 */
export const byTenant = async <Want extends OfTenant, Row>(
  wants: readonly Want[],
  rowsOf: (tenantId: string, wants: readonly Numbered<Want>[]) => Promise<readonly Row[]>,
): Promise<readonly Row[]> => {
  const numbered = wants.map((want, number) => ({ ...want, number }))
  const tenants = [...Map.groupBy(numbered, ({ tenantId }) => tenantId)]
  const rows = await Promise.all(tenants.map(([tenantId, its]) => rowsOf(tenantId, its)))
  return rows.flat()
}
