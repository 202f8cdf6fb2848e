import { DomainFailure } from '../engine/failures.ts'
import { tenantByTenant } from '../engine/tenant-by-tenant.ts'
import { isoTime } from '../engine/times.ts'
import type { PageKey } from '../ports/pages.ts'
import type { DuePage } from '../ports/schedules.ts'
import { bringUpToDate, type ScheduleDeps } from './schedules.ts'

/** Pages of a tenant at a time. */
const PAGES_MAX = 32

type Deps = ScheduleDeps &
  Pick<Parameters<typeof tenantByTenant>[0], 'onError'> & {
    /** Longer than the time between two calls: an earlier due time is waited for. */
    readonly aheadMs: number
    /** Resolves after this time, or when `stop` is aborted. */
    readonly sleep: (ms: number, stop: AbortSignal) => Promise<void>
  }

/**
 * Publishes and unpublishes due pages, tenant by tenant, as soon as the clock says so and never before. Each call is
 * one step. If nothing is due, it waits for the next due time, or until `woken` resolves, and returns false if nothing
 * is due soon. Publishers need no claims: `bringUpToDate` does nothing twice.
 */
export const runSchedules = ({ aheadMs, sleep, onError, ...deps }: Deps) => {
  const { schedules } = deps.store
  let nextMs = Number.POSITIVE_INFINITY

  /** Performs what is due on a page, or ends the schedule of a page that was deleted. */
  const runPage = async (page: PageKey): Promise<void> => {
    await bringUpToDate(deps, page).catch((error) => {
      if (isMissing(error)) return schedules.end(page)
      throw error
    })
  }
  const step = tenantByTenant({
    waiting: async (afterTenantId, max) => {
      const until = isoTime(deps.clock() + aheadMs)
      return [...new Set(await schedules.waiting({ afterTenantId, until, max }))].sort().slice(0, max)
    },
    work: async (tenantId) => {
      const now = deps.clock()
      const found = await schedules.due({ tenantId, until: isoTime(now + aheadMs), max: PAGES_MAX })
      const due = found.filter(({ at }) => Date.parse(at) <= now)
      const later = found.filter(({ at }) => Date.parse(at) > now)
      for (const { at } of later) nextMs = Math.min(nextMs, Date.parse(at))
      await Promise.all(distinctPages(due).map(runPage))
      return due.length > 0
    },
    onError,
    shareLoop: deps.shareLoop,
  })

  return async (stop: AbortSignal, woken: Promise<void>): Promise<boolean> => {
    if (await step(stop)) return true
    const ms = nextMs - deps.clock()
    nextMs = Number.POSITIVE_INFINITY
    if (stop.aborted || ms > aheadMs) return false
    await Promise.race([sleep(Math.max(ms, 0), stop), woken])
    return true
  }
}

/** Each page once: a publication and a withdrawal may be due at the same time. */
const distinctPages = (due: readonly DuePage[]): DuePage[] => [
  ...new Map(due.map((page) => [page.pageId, page])).values(),
]

const isMissing = (error: unknown): boolean =>
  error instanceof DomainFailure && (error.kind === 'page_group_not_found' || error.kind === 'page_not_found')
