import type { ClaimWant } from '../../core/ports/versions.ts'

type Waiting = { claimableAt: string; attempts: number }

/** Claims some of these rows. `waitingOf` answers the part of a row that a claim changes. */
export const claimFrom = <Row extends { readonly tenantId: string }>(
  rows: Iterable<Row>,
  waitingOf: (row: Row) => Waiting,
  { now, until, horizon, afterTenantId, max }: ClaimWant,
): Row[] => {
  const isDue = ({ claimableAt }: Waiting) => claimableAt <= now || claimableAt > horizon
  const due = [...rows].filter((row) => row.tenantId > afterTenantId && isDue(waitingOf(row)))
  due.sort(
    (a, b) => compare(a.tenantId, b.tenantId) || compare(waitingOf(a).claimableAt, waitingOf(b).claimableAt),
  )
  const claimed = due.slice(0, max)
  for (const waiting of claimed.map(waitingOf)) {
    waiting.claimableAt = until
    waiting.attempts++
  }
  return claimed
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
