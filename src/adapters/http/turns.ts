import { DomainFailure } from '../../core/failures.ts'
import { createShares } from './shares.ts'

type Limits = { readonly atOnceMax: number; readonly waitMsMax: number }
type Waiting = {
  readonly enter: () => void
  readonly refuse: (why: DomainFailure) => void
  readonly since: number
}

const LOOK_EVERY_MS = 200

/**
 * Lets in so many requests at once, divided among tenants; the others wait, and tenants take turns. What is done between
 * two looks at the network is bounded by that, so a tenant with a thousand callers does not slow down one with a single
 * caller by a thousand. Who has waited too long is refused with `unavailable`.
 */
export const createTurns = ({ atOnceMax, waitMsMax }: Limits) => {
  const inside = createShares(atOnceMax)
  /** In order of whose turn it is. */
  const lines = new Map<string, Waiting[]>()
  let looking: NodeJS.Timeout | undefined

  const letNextIn = () => {
    for (const [tenantId, line] of lines) {
      if (!inside.take(tenantId, 1)) continue
      const first = line.shift()
      lines.delete(tenantId)
      if (line.length > 0) lines.set(tenantId, line)
      first?.enter()
      return
    }
  }
  const refuseLate = () => {
    const late = performance.now() - waitMsMax
    for (const [tenantId, line] of lines) {
      while (line[0] !== undefined && line[0].since < late) line.shift()?.refuse(waitedTooLong())
      if (line.length === 0) lines.delete(tenantId)
    }
    if (lines.size > 0) return
    clearInterval(looking)
    looking = undefined
  }

  return {
    /** Nothing to wait for, or what to wait for. Whoever is let in must `leave`. */
    enter: (tenantId: string): Promise<void> | undefined => {
      if (inside.take(tenantId, 1)) return undefined
      looking ??= setInterval(refuseLate, LOOK_EVERY_MS).unref()
      return new Promise((enter, refuse) => {
        const line = lines.get(tenantId) ?? []
        line.push({ enter, refuse, since: performance.now() })
        lines.set(tenantId, line)
      })
    },
    leave: (tenantId: string): void => {
      inside.giveBack(tenantId, 1)
      letNextIn()
    },
  }
}

const waitedTooLong = () =>
  new DomainFailure('unavailable', 'Too many requests of this tenant are under way.', { retryAfterS: 1 })
