import { callListener } from '../engine/call-listener.ts'
import { idsSince } from '../engine/id-times.ts'
import { DAY_MS, dayOf, isoTime } from '../engine/times.ts'
import type { Needs, Store } from '../ports/store.ts'
import type { Tenant } from '../ports/tenants.ts'
import type { Served } from '../ports/world.ts'
import { checkClock } from './check-clock.ts'

const TENANTS_MAX = 100
const DELETE_MAX = 500

type Deps = Omit<Needs<'erasures' | 'events' | 'tenants'>, 'newId'> & {
  /** A small store need not count prospects. */
  readonly store: Partial<Pick<Store, 'prospectCounts'>>
  /** How long logs are kept, unless their tenant overrides it; null: forever. */
  readonly retentionDays: number | null
  /** How long events and their deliveries are kept. */
  readonly eventDaysKept: number
  /** Called for each tenant whose turn failed: its next one is in the next round. */
  readonly onError: (error: unknown) => void
  /** Called when a pause begins, see `checkClock`. */
  readonly onPause: (pause: Served) => void
}

/**
 * Deletes expired rows: blocks of emails, logs and events past their retention, and the counted days of prospects. A round
 * visits all tenants, deletes a short list of each, and goes on with those that have more until nothing is left. Each call
 * takes one step of it, and returns whether there are more: if not, the next call begins a round. A round keeps the time at
 * which it began, and begins only if that can be trusted.
 */
export const deleteExpired = ({ store, clock, retentionDays, eventDaysKept, onError, onPause }: Deps) => {
  /** Tenants to visit, each by the id before it: they are read again, as their retention may have changed. */
  const waiting: { readonly afterId: string; readonly limit: number }[] = []
  let nowMs = 0

  /** Whether a round may begin. */
  const begin = async (): Promise<boolean> => {
    const last = await store.erasures.lastServed()
    nowMs = clock()
    const served = checkClock(last, nowMs)
    await store.erasures.saveClock(served)
    if (served.pausedAt !== null && served.pausedAt !== last?.pausedAt) callListener(() => onPause(served))
    return served.pausedAt === null
  }

  const deleteOf = async ({ tenantId, retentionDays: own }: Tenant): Promise<boolean> => {
    const days = own ?? retentionDays ?? 0
    const keptSince = (days: number) => isoTime(Math.max(0, nowMs - days * DAY_MS))
    const beforeLogId = days === 0 ? null : idsSince('prospectlog', keptSince(days))
    const beforeEventId = idsSince('event', keptSince(eventDaysKept))
    // All logs of the days before this one have expired.
    const beforeDay = days === 0 ? 0 : dayOf(nowMs - days * DAY_MS)
    const { erasures, events, prospectCounts } = store
    const max = DELETE_MAX
    const areMoreLeft = [
      await erasures.expire({ tenantId, now: isoTime(nowMs), beforeLogId, max }),
      await events.expire({ tenantId, beforeEventId, max }),
      await prospectCounts?.expire({ tenantId, before: beforeDay, max }),
    ]
    return areMoreLeft.includes(true)
  }

  return async (stop: AbortSignal): Promise<boolean> => {
    if (stop.aborted) return false
    if (waiting.length === 0 && !(await begin())) return false
    const { afterId, limit } = waiting[0] ?? { afterId: '', limit: TENANTS_MAX }
    const tenants = await store.tenants.list(afterId, limit)
    waiting.shift()
    let previousId = afterId
    for (const tenant of tenants) {
      if (stop.aborted) return false
      const isMoreLeft = await deleteOf(tenant).catch((error) => callListener(() => onError(error)))
      if (isMoreLeft) waiting.push({ afterId: previousId, limit: 1 })
      previousId = tenant.tenantId
    }
    if (tenants.length === TENANTS_MAX) waiting.push({ afterId: previousId, limit })
    return waiting.length > 0
  }
}
