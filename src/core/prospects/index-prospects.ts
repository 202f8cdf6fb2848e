import { idsSince } from '../engine/id-times.ts'
import { tenantByTenant } from '../engine/tenant-by-tenant.ts'
import { DAY_MS, isoTime, MINUTE_MS } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'

/** The people of a tenant that was not searched for this long are not indexed. */
export const SEARCHED_DAYS_MAX = 31
/** How far the clocks of processes on one database may differ. */
const CLOCKS_APART_MS = MINUTE_MS / 2
/** People are looked at again after this time: longer than any write takes, and than a clock is usually wrong. */
const CHECKED_AFTER_MS = 15 * MINUTE_MS
/** People of a tenant at a time. */
const PEOPLE_MAX = 500

type Deps = Omit<Needs<'searchIndex'>, 'newId'> & Pick<Parameters<typeof tenantByTenant>[0], 'onError'>

/**
 * Indexes people for the search, tenant by tenant, in the order of their ids: soon after their creation, so that creating
 * one does not pay for it. A quarter of an hour later they are looked at again, because some may have been committed late,
 * or have got an early id from a slow clock.
 *
 * A clock that was set back makes ids that come before the indexed ones: everything from the beginning of that day is looked
 * at again.
 */
export const indexProspects = ({ store: { searchIndex }, clock, onError, shareLoop }: Deps) => {
  const indexTenant = async (tenantId: string): Promise<boolean> => {
    const tenant = await searchIndex.find(tenantId)
    if (tenant === null) return false
    const { beforeId, checkBeforeId } = boundsAt(clock())
    if (tenant.position >= beforeId) {
      await searchIndex.rewind(tenantId, firstIdAt(clock() - (clock() % DAY_MS)))
      return true
    }
    const extend = (mark: 'position' | 'checked', before: string) =>
      searchIndex.extend({ tenantId, mark, from: tenant[mark], beforeId: before, max: PEOPLE_MAX })
    const indexed = await extend('position', beforeId)
    return indexed > 0 || (await extend('checked', checkBeforeId)) > 0
  }

  return tenantByTenant({
    waiting: (afterTenantId, max) => {
      const searchedSince = isoTime(clock() - SEARCHED_DAYS_MAX * DAY_MS)
      return searchIndex.waiting({ afterTenantId, searchedSince, ...boundsAt(clock()), max })
    },
    work: indexTenant,
    onError,
    shareLoop,
  })
}

/** Up to where people are indexed, and up to where they are looked at again. */
export const boundsAt = (nowMs: number) => ({
  beforeId: firstIdAt(nowMs + CLOCKS_APART_MS),
  checkBeforeId: firstIdAt(nowMs - CHECKED_AFTER_MS),
})

/** The beginning of the ids of people who are created from a time on. */
const firstIdAt = (ms: number): string => idsSince('prospect', isoTime(ms))
