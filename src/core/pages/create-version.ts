import type { RawJson } from '../../shapes/json.ts'
import type { CreatedVersion, NewVersion } from '../../shapes/page.ts'
import { refuse } from '../engine/failures.ts'
import { type Named, requestHashOf, requireSame } from '../engine/keys.ts'
import { isoTime } from '../engine/times.ts'
import type { Requester } from '../ports/events.ts'
import type { NewVersionRow, PageWant } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import type { CreatedByKey } from '../ports/versions.ts'
import { changePage, type PageDeps, requireActiveGroup } from './change-page.ts'
import { firstWords, nameInGroup } from './first-words.ts'
import { publicationOf, requireRoom } from './schedules.ts'

const VERSIONS_MAX = 1_000

/** A version to create. Omitted content is that of the newest version; null: none. */
export type VersionToCreate = PageWant &
  Omit<NewVersion, 'content'> &
  Requester & {
    readonly content?: RawJson | null | undefined
    readonly idempotencyKey?: string | undefined
  }
/** `replayed`: the same request was already made under this idempotency key, and this is its first answer. */
export type VersionCreation = { readonly version: CreatedVersion; readonly replayed: boolean }

/**
 * Creates a version of a page, in `processing` for a publisher to claim; it is published then, or at `publishAt` if
 * that is in the future. Its texts are not checked.
 * Refuses `page_group_not_found`, `page_not_found`, `page_group_not_active`, `limit_reached`, `idempotency_key_reused`,
 * and `invalid_request`: the time, or a time although the version will not be published.
 */
export const createVersion =
  (deps: PageDeps & Needs<'versions'>) =>
  ({ supplementaryContext, content, publish, publishAt, ...input }: VersionToCreate) => {
    const { store, clock, newId } = deps
    const { idempotencyKey = null, ...want } = input
    const same: SameRequest = { supplementaryContext, publish, publishAt }
    const requestHash =
      idempotencyKey === null ? null : requestHashOf(same, content ?? { rawJson: String(content) })

    return changePage<VersionCreation>(deps, want, async (page) => {
      const { latest, published, computedName } = page
      const first = idempotencyKey ? await store.versions.findByKey({ ...want, idempotencyKey }) : null
      if (first) {
        requireSame(first, requestHash, { versionId: first.versionId })
        return { edit: null, answer: creationOf(want, first, true) }
      }
      if (latest.versionNumber >= VERSIONS_MAX) refuse('limit_reached', 'A page has at most 1,000 versions.')
      requireActiveGroup(page)
      const now = clock()
      const publication = publicationOf(publish, publishAt, now)
      if (publication.publishAt !== null) requireRoom(page)
      const newest = content === undefined ? await store.versions.find({ ...want, ...latest }) : null
      const isSame = supplementaryContext === undefined
      const context = isSame ? latest.supplementaryContext : supplementaryContext
      const group = isSame ? null : await store.versions.context({ ...want, ...latest })
      const added: NewVersionRow = {
        versionId: newId('pageversion', latest.versionId),
        versionNumber: latest.versionNumber + 1,
        supplementaryContext: context,
        computedName: group
          ? firstWords(context) || nameInGroup(group.groupTitle, group.pageNumber)
          : latest.computedName,
        content: content === undefined ? (newest?.content ?? null) : content,
        ...publication,
        idempotencyKey,
        requestHash,
        createdAt: isoTime(now),
      }
      // The page shows the name of its published version, or that of its newest one until there is a published one.
      const edit = { added, computedName: published === null ? added.computedName : computedName }
      return { edit, answer: creationOf(want, added, false) }
    })
  }

/** What makes two requests under one key the same, besides their content. */
type SameRequest = Named<Omit<NewVersion, 'content' | 'idempotencyKey'>>

const creationOf = (
  { tenantId, pageGroupId, pageId }: PageWant,
  { versionId, versionNumber, createdAt }: CreatedByKey,
  replayed: boolean,
): VersionCreation => ({
  version: { versionId, versionNumber, pageId, pageGroupId, tenantId, createdAt, status: 'processing' },
  replayed,
})
