import type { ClaimQuery } from '../../core/ports/versions.ts'
import { compare } from './table.ts'

type Waiting = { readonly tenantId: string; readonly claimableAt: string; readonly attempts: number }

export const claimFrom = <Row extends Waiting>(
  waiting: Iterable<Row>,
  change: (row: Row, fields: Pick<Waiting, 'claimableAt' | 'attempts'>) => Row | null,
  { now, until, horizon, afterTenantId, max }: ClaimQuery,
): Row[] =>
  [...waiting]
    .filter(({ tenantId }) => tenantId > afterTenantId)
    .filter(({ claimableAt }) => claimableAt <= now || claimableAt > horizon)
    .sort((a, b) => compare(a.tenantId, b.tenantId) || compare(a.claimableAt, b.claimableAt))
    .slice(0, max)
    .flatMap((row) => change(row, { claimableAt: until, attempts: row.attempts + 1 }) ?? [])
