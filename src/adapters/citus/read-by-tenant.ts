import { asOutcome, type Outcome } from '../../core/engine/outcome.ts'

type OfTenant = { readonly tenantId: string }

/**
 * Reads for each tenant apart, and returns the answers in the order of the lookups. Citus sends a statement to one shard
 * only if it names its one tenant for every table.
 */
export const readByTenant =
  <Lookup extends OfTenant, Found>(
    readAll: (tenantId: string, lookups: readonly Lookup[]) => Promise<readonly Outcome<Found>[]>,
  ) =>
  async (lookups: readonly Lookup[]): Promise<readonly Outcome<Found>[]> => {
    const answers = new Map<Lookup, Outcome<Found>>()
    const readTenant = async ([tenantId, lookups]: readonly [string, readonly Lookup[]]) => {
      const found = await readAll(tenantId, lookups).catch((error) => {
        const outcome = asOutcome(error)
        return lookups.map(() => outcome)
      })
      for (const [i, lookup] of lookups.entries()) answers.set(lookup, found[i] as Outcome<Found>)
    }
    await Promise.all([...Map.groupBy(lookups, ({ tenantId }) => tenantId)].map(readTenant))
    return lookups.map((lookup) => answers.get(lookup) as Outcome<Found>)
  }

/** The tenants of these rows, as the text of an array. */
export const tenantsOf = (rows: readonly OfTenant[]): readonly string[] => [
  ...new Set(rows.map(({ tenantId }) => tenantId)),
]
