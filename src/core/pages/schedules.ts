import { ATTEMPTS_MAX, gaveUp } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import { DAY_MS, isoTime, MINUTE_MS } from '../engine/times.ts'
import type { PageKey, StoredPageWithVersions } from '../ports/pages.ts'
import { SCHEDULED_MAX, type ScheduledVersion } from '../ports/schedules.ts'
import type { Needs } from '../ports/store.ts'
import type { Timestamp } from '../ports/world.ts'
import { loadPage } from './get-page.ts'
import { type Edit, editedPage, publication, savePage, unscheduled, withdrawal } from './page-edits.ts'

const AHEAD_MS_MAX = 731 * DAY_MS
const ARCHIVED = 'The page group was archived when this version was to be published.'
const OVER =
  'The time at which the page was to be unpublished again had passed before this version could be published.'

export type ScheduleDeps = Needs<'pages' | 'schedules'>
/** A page on which nothing is due, with the versions that are scheduled. */
export type CurrentPage = StoredPageWithVersions & { readonly scheduled: readonly ScheduledVersion[] }

/**
 * Performs everything that is due on a page, in the order of the scheduled times, and returns the page. Publishers call
 * this at a due time, and so does every change of a page: later actions count as later, even if the publishers are late.
 * Several callers may do it at once: one of those that loaded the same revision saves, and the others load again. Refuses
 * as `loadPage`, and `unavailable` after too many conflicting writes.
 */
export const bringUpToDate = async (deps: ScheduleDeps, key: PageKey): Promise<CurrentPage> => {
  // Saved actions are not counted: each one ends a schedule, and a page has a bounded number of schedules.
  let conflicts = 0
  while (conflicts < ATTEMPTS_MAX) {
    const page = await loadPage(deps.store, key)
    const scheduled = await deps.store.schedules.ofPage(page)
    const now = isoTime(deps.clock())
    const due = dueOf(page, scheduled, now)
    if (due === null) return { ...page, scheduled }
    const recorded = await savePage(deps, editedPage(page, due, now), { tenantId: page.tenantId })
    if (recorded === 'overtaken') conflicts++
  }
  return gaveUp()
}

/** The first due action. For a publication and a withdrawal at the same time: the publication, which cancels the other. */
const dueOf = (
  page: StoredPageWithVersions,
  scheduled: readonly ScheduledVersion[],
  now: Timestamp,
): Edit => {
  const next = scheduled.find(({ status }) => status !== 'processing')
  const { unpublishAt } = page
  if (unpublishAt !== null && unpublishAt <= now) {
    const publicationComesFirst = next !== undefined && next.publishAt <= unpublishAt
    if (!publicationComesFirst) return page.published === null ? skipUnpublishing(page) : withdrawal(page)
  }
  if (next === undefined || next.publishAt > now) return null
  if (page.groupStatus !== 'active')
    return { schedule: unscheduled(next, ARCHIVED), event: 'page_version.ready' }
  if (next.unpublishAt !== null && next.unpublishAt <= now) return skipPublication(page, next)
  return publication(page, next, next.unpublishAt)
}

/** The page was to be unpublished, and nothing is published: versions requested before are not published any more. */
const skipUnpublishing = ({ latest }: StoredPageWithVersions): Edit => ({
  unpublishAt: null,
  automaticAfter: latest.versionId,
})

/**
 * A window that is over is not opened. What would have followed is done: a version that is still published is withdrawn, as
 * of the end of that window, and versions requested before are not published any more.
 */
const skipPublication = (page: StoredPageWithVersions, version: ScheduledVersion): Edit => ({
  schedule: unscheduled(version, OVER),
  unpublishAt: page.published === null ? null : version.unpublishAt,
  automaticAfter: page.latest.versionId,
  event: 'page_version.skipped',
})

/**
 * Plans the publication of a new version: its time, null for none, and whether its publisher publishes it as soon as it is
 * ready. Refuses `invalid_request`: the time, or a time although the version will not be published.
 */
export const planPublication = (publish: boolean, requestedAt: Timestamp | undefined, nowMs: number) => {
  if (!publish && requestedAt !== undefined) {
    const errors = [{ detail: 'must not be given if publish is false', pointer: '/publishAt' }]
    refuse('invalid_request', 'A version that is not to be published has no `publishAt`.', { errors })
  }
  const publishAt = futureTime(requestedAt, nowMs, 'publishAt')
  return { publish: publish && publishAt === null, publishAt }
}

/** The time if it is in the future, else null. Refuses `invalid_request` if it is more than two years ahead. */
export const futureTime = (
  time: Timestamp | null | undefined,
  nowMs: number,
  field: 'publishAt' | 'unpublishAt',
): Timestamp | null => {
  if (!time || Date.parse(time) <= nowMs) return null
  if (Date.parse(time) <= nowMs + AHEAD_MS_MAX) return time
  const errors = [{ detail: 'must be at most two years ahead', pointer: `/${field}` }]
  return refuse('invalid_request', `\`${field}\` is more than two years ahead.`, { errors })
}

/**
 * Plans when a page will be unpublished; null means never. Refuses `invalid_request` unless that is in the future and
 * after its publication. Without `publishAt`, the page is or will be published at once.
 */
export const planUnpublishing = (
  requestedAt: Timestamp | null | undefined,
  nowMs: number,
  publishAt: Timestamp | null = null,
): Timestamp | null => {
  if (!requestedAt) return null
  const unpublishAt = futureTime(requestedAt, nowMs, 'unpublishAt')
  const isAfterPublication = publishAt === null || requestedAt > publishAt
  if (unpublishAt !== null && isAfterPublication) return unpublishAt
  const errors = [{ detail: 'must be in the future, and after the publication', pointer: '/unpublishAt' }]
  return refuse('invalid_request', '`unpublishAt` is past, or not after the publication.', { errors })
}

/**
 * Refuses `schedule_taken` if another version of the page is scheduled for the same minute, and `limit_reached` if the page
 * has no room for another scheduled version. One that is scheduled keeps its place.
 */
export const requirePlaceForSchedule = (
  { scheduled }: CurrentPage,
  publishAt: Timestamp,
  versionId?: string,
): void => {
  const others = scheduled.filter((version) => version.versionId !== versionId)
  const rival = others.find((other) => minuteOf(other.publishAt) === minuteOf(publishAt))
  if (rival !== undefined) {
    const detail = 'Another version of the page is scheduled for the same minute.'
    refuse('schedule_taken', detail, { versionId: rival.versionId })
  }
  if (others.length >= SCHEDULED_MAX)
    refuse('limit_reached', `A page has at most ${SCHEDULED_MAX} scheduled versions.`)
}

const minuteOf = (time: Timestamp): number => Math.floor(Date.parse(time) / MINUTE_MS)
