import type { ShareLoop } from '../ports/world.ts'
import { callListener } from './call-listener.ts'
import { atOnce } from './share-loop.ts'

/** Tenants in progress at a time. The others follow soon. */
const TENANTS_MAX = 8

type Work = {
  /** Waiting tenants: at most `max`, the first after this id. */
  readonly waiting: (afterTenantId: string, max: number) => Promise<readonly string[]>
  /** Returns whether it did anything. */
  readonly work: (tenantId: string) => Promise<boolean>
  /** Called for each tenant whose turn failed: its next one is in the next round. */
  readonly onError: (error: unknown) => void
  readonly shareLoop?: ShareLoop | undefined
}

/** Runs work tenant by tenant. Each call takes one step, and returns whether there may be more to do. */
export const tenantByTenant = ({ waiting, work, onError, shareLoop = atOnce }: Work) => {
  let lastTenantId = ''
  /** Whether this round did any work. */
  let didWork = false

  const workFor = (tenantId: string): Promise<boolean> =>
    work(tenantId).catch((error) => {
      callListener(() => onError(error))
      return false
    })

  return async (stop: AbortSignal): Promise<boolean> => {
    if (stop.aborted) return false
    if (lastTenantId === '') didWork = false
    const tenantIds = await waiting(lastTenantId, TENANTS_MAX)
    lastTenantId = tenantIds[TENANTS_MAX - 1] ?? ''
    const results: Promise<boolean>[] = []
    for (const tenantId of tenantIds) {
      // The embedded database works while all callers wait: after some milliseconds they get a turn.
      await shareLoop(tenantId, true)
      results.push(workFor(tenantId))
    }
    didWork ||= (await Promise.all(results)).includes(true)
    return didWork || lastTenantId !== ''
  }
}
