import type { ClaimQuery } from '../ports/versions.ts'
import type { Clock } from '../ports/world.ts'
import { isoTime } from './times.ts'

/**
 * A row that may not be claimed until later than its lease or rest plus this margin was written by a clock running far
 * ahead: claim it now. The margin exceeds every lease (NAMER_PATIENCE_MS and some seconds), because another process may
 * have longer ones.
 */
const CLOCK_AHEAD_MS_MAX = 15 * 60_000

type Times = {
  readonly clock: Clock
  readonly leaseMs: number
  /** The longest time that anything rests on purpose. */
  readonly restMsMax?: number
}

/**
 * Claims up to this many. Tenants take turns: each claim starts with the tenant after the last one served. `mayBeMore`
 * is false if the last claim left nothing.
 */
export const claimFairly = <Claimed extends { readonly tenantId: string }>(
  source: { claim(query: ClaimQuery): Promise<readonly Claimed[]> },
  { clock, leaseMs, restMsMax = 0 }: Times,
) => {
  let lastTenantId = ''
  let mayBeMore = true
  const claim = async (max: number): Promise<readonly Claimed[]> => {
    const now = clock()
    const horizon = isoTime(now + leaseMs + restMsMax + CLOCK_AHEAD_MS_MAX)
    const claimAfter = (afterTenantId: string) =>
      source.claim({ now: isoTime(now), until: isoTime(now + leaseMs), horizon, afterTenantId, max })
    let coversAllTenants = lastTenantId === ''
    let claimed = await claimAfter(lastTenantId)
    if (claimed.length === 0 && !coversAllTenants) {
      coversAllTenants = true
      claimed = await claimAfter('')
    }
    mayBeMore = !coversAllTenants || claimed.length >= max
    // Fewer rows than requested mean that all tenants after the last one have had their turn: the next claim starts over.
    const tenantIds = claimed.map(({ tenantId }) => tenantId).sort()
    lastTenantId = tenantIds[max - 1] ?? ''
    return claimed
  }
  return { claim, mayBeMore: () => mayBeMore }
}
