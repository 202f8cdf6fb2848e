import type { EventType } from '../../shapes/event.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { PageChange, PageKey, StoredPageWithVersions } from '../ports/pages.ts'
import type { ScheduledVersion } from '../ports/schedules.ts'
import type { Needs } from '../ports/store.ts'
import type { Recorded, Timestamp } from '../ports/world.ts'

/** The fields of a page to change, and the event to emit. Omitted fields keep their values. Null: nothing to change. */
export type Edit =
  | (Partial<Omit<PageChange, keyof PageKey | 'revision' | 'updatedAt'>> & { readonly event?: EventType })
  | null
type EditedPage = { readonly change: PageChange; readonly event: EventType | undefined }

/** Publishes a version. Only versions requested from now on are published automatically. */
export const publication = (
  page: StoredPageWithVersions,
  version: Pick<ScheduledVersion, 'versionId' | 'computedName'>,
  unpublishAt: Timestamp | null,
) =>
  ({
    publishedVersionId: version.versionId,
    automaticAfter: page.latest.versionId,
    computedName: version.computedName,
    unpublishAt,
    publishes: true,
    event: 'page_version.published',
  }) as const

/** Unpublishes a page. */
export const withdrawal = ({ latest }: StoredPageWithVersions) =>
  ({
    publishedVersionId: null,
    automaticAfter: latest.versionId,
    computedName: latest.computedName,
    unpublishAt: null,
    event: 'page.unpublished',
  }) as const

/** Ends the schedule of a version. */
export const unscheduled = ({ versionId }: { readonly versionId: string }, note: string | null = null) => ({
  versionId,
  publishAt: null,
  unpublishAt: null,
  scheduleNote: note,
})

/** Applies an edit to a page as loaded. */
export const editedPage = (
  page: StoredPageWithVersions,
  { event, ...changes }: NonNullable<Edit>,
  now: Timestamp,
): EditedPage => ({
  change: {
    ...page,
    publishedVersionId: page.published?.versionId ?? null,
    added: null,
    dropped: null,
    publishes: false,
    schedule: null,
    ...changes,
    updatedAt: now,
  },
  event,
})

/** Saves the change of a page with its event. */
export const savePage = (
  { store, newId }: Pick<Needs<'pages'>, 'store' | 'newId'>,
  { change, event }: EditedPage,
  sender: Requester & { readonly tenantId: string },
): Promise<Recorded> => {
  const { pageGroupId, pageId, publishes, publishedVersionId, schedule, updatedAt } = change
  const versionId = schedule?.versionId ?? (publishes ? publishedVersionId : null)
  const ids = { pageGroupId, pageId, ...(versionId !== null && { versionId }) }
  return store.pages.change(
    change,
    event ? [newEvent(newId, { type: event, sender, ids, createdAt: updatedAt })] : [],
  )
}
