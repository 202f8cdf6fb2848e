import type { EventType } from '../shapes/event.ts'
import { untilRecorded } from './decide-and-save.ts'
import { refuse } from './failures.ts'
import { existingPage, getPages, type ReadPage } from './get-page.ts'
import { newEvent } from './new-event.ts'
import type { Requester } from './ports/events.ts'
import type { PageChange, PageWant, StoredPageWithVersions } from './ports/pages.ts'
import type { Needs } from './ports/store.ts'
import { type IfRevision, requireRevision } from './revisions.ts'
import { isoTime } from './times.ts'
import { atOnce, type Turns } from './turns.ts'

/** What a person changes of a page; what is left out stays, and what that is called. Null: nothing, as it is so already. */
type Decision = Partial<
  Pick<PageChange, 'customName' | 'computedName' | 'publishedVersionId' | 'latestVersionId'> &
    Pick<PageChange, 'inActiveGroup' | 'added' | 'publishes'> & { readonly event: EventType }
> | null
type Deps = Needs<'pages'> & Turns

/**
 * The form of every change of a page by hand: load it, decide, save, and decide again if somebody else changed it
 * meanwhile. Refuses `page_group_not_found`, `page_not_found`, `page_group_not_active`, `precondition_failed`.
 */
export const changePage = (
  { store, clock, newId, inTurn = atOnce }: Deps,
  { tenantId, pageGroupId, pageId, apiKeyId, ...want }: PageWant & IfRevision & Requester,
  decide: (page: StoredPageWithVersions) => Decision | Promise<Decision>,
): Promise<'recorded'> =>
  inTurn(pageId, () =>
    untilRecorded(async () => {
      const wanted = { tenantId, pageGroupId, pageId, withoutContent: true }
      const page = existingPage((await store.pages.find([wanted]))[0])
      requireRevision(page.revision, want)
      const decision = await decide(page)
      if (decision === null) return 'recorded'
      if (decision.inActiveGroup) requireActiveGroup(page)
      const { event, ...changes } = decision
      const change: PageChange = {
        tenantId,
        pageGroupId,
        pageId,
        revision: page.revision,
        customName: page.customName,
        computedName: page.computedName,
        publishedVersionId: page.published?.versionId ?? null,
        latestVersionId: page.latest.versionId,
        inActiveGroup: false,
        added: null,
        publishes: false,
        ...changes,
        updatedAt: isoTime(clock()),
      }
      const versionId = change.publishes ? change.publishedVersionId : null
      const ids = { pageGroupId, pageId, ...(versionId !== null && { versionId }) }
      return store.pages.change(change, () =>
        event ? [newEvent(newId, event, { tenantId, apiKeyId }, ids, change.updatedAt)] : [],
      )
    }),
  )

/** Refuses `page_group_not_active`. */
export const requireActiveGroup = ({ groupStatus }: StoredPageWithVersions): void => {
  if (groupStatus !== 'active')
    refuse(
      'page_group_not_active',
      'The page group is archived: it accepts no new versions, and none is published by hand.',
    )
}

/** The page as it is after a change. */
export const readPage = async (deps: Pick<Deps, 'store'>, want: PageWant): Promise<ReadPage> => {
  const { tenantId, pageGroupId, pageId } = want
  const [page] = await getPages(deps)([{ tenantId, pageGroupId, pageId }])
  if (page === undefined || page instanceof Error) throw page
  return page
}
