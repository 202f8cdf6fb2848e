import { canonical } from '../../json/canonical-json.ts'
import type { RawJson } from '../../shapes/json.ts'
import type { CreatedVersion, NewVersion } from '../../shapes/page.ts'
import { refuse } from '../engine/failures.ts'
import { type Named, requestHashOf, requireSame } from '../engine/keys.ts'
import type { Replayable } from '../engine/result.ts'
import { type IfRevision, requireRevision } from '../engine/revisions.ts'
import { isoTime } from '../engine/times.ts'
import type { Requester } from '../ports/events.ts'
import type { NewVersionRow, PageKey, StoredVersionWithContent } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import type { CreatedByKey, VersionContext, VersionTally } from '../ports/versions.ts'
import type { NewId } from '../ports/world.ts'
import { changePage, type PageDeps, requireActiveGroup } from './change-page.ts'
import { firstWords, nameInGroup } from './first-words.ts'
import type { Edit } from './page-edits.ts'
import { type CurrentPage, planPublication, requirePlaceForSchedule } from './schedules.ts'

const VERSIONS_MAX = 1_000

/** A version to create. Omitted content is that of the newest version; null: none. */
export type VersionToCreate = PageKey &
  Omit<NewVersion, 'content'> &
  IfRevision &
  Requester & {
    readonly content?: RawJson | null | undefined
    readonly idempotencyKey?: string | undefined
  }
type Deps = PageDeps & Needs<'versions'>
/** `replayed`: the same request was already made under this idempotency key, and this is its first answer. */
export type VersionCreation = Replayable<CreatedVersion>

/**
 * Creates a version of a page, in `processing` for a publisher to claim; it is published then, or at `publishAt` if that is
 * in the future. The 1,001st drops the oldest that nothing needs: it is not published, scheduled or `processing`. Its texts
 * are not checked. Refuses `page_group_not_found`, `page_not_found`, `page_group_not_active`, `limit_reached`,
 * `schedule_taken`, `idempotency_key_reused`, `precondition_failed`, and `invalid_request`: the time, or a time although
 * the version will not be published.
 */
export const createVersion =
  (deps: Deps) =>
  (creation: VersionToCreate): Promise<VersionCreation> => {
    // Its revision is checked below: a replay comes after the change that it repeats.
    const key = { ...creation, ifRevision: undefined }
    return changePage(deps, key, {
      recall: (page) => recall(deps.store, creation, page),
      decide: (known, nowMs) => decide(creation, known, nowMs, deps.newId),
    })
  }

type Known = {
  readonly page: CurrentPage
  /** The version that was created under the same idempotency key. */
  readonly earlier: CreatedByKey | null
  /** The newest version, if the new one has its content. */
  readonly newest: StoredVersionWithContent | null
  /** How to name the new version; null: like the newest. */
  readonly naming: VersionContext | null
  /** Null while the page cannot have too many versions. */
  readonly tally: VersionTally | null
}

const recall = async (
  { versions }: Deps['store'],
  creation: VersionToCreate,
  page: CurrentPage,
): Promise<Known> => {
  const { tenantId, pageGroupId, pageId, idempotencyKey, supplementaryContext, content } = creation
  const key = { tenantId, pageGroupId, pageId }
  const latest = { ...key, versionId: page.latest.versionId }
  const earlier = idempotencyKey ? await versions.findByKey({ ...key, idempotencyKey }) : null
  if (earlier) return { page, earlier, newest: null, naming: null, tally: null }
  return {
    page,
    earlier,
    newest: content === undefined ? await versions.find(latest) : null,
    naming: supplementaryContext === undefined ? null : await versions.context(latest),
    tally: page.latest.versionNumber < VERSIONS_MAX ? null : await versions.tally(key),
  }
}

const decide = (
  creation: VersionToCreate,
  { page, earlier, newest, naming, tally }: Known,
  nowMs: number,
  newId: NewId,
): { readonly edit: Edit; readonly answer: VersionCreation } => {
  const { content, publish, publishAt, idempotencyKey = null } = creation
  const { latest, published, computedName } = page
  const requestHash = requestHashIn(creation)
  if (earlier) {
    requireSame(earlier, requestHash, { versionId: earlier.versionId })
    return { edit: null, answer: creationOf(creation, earlier, true) }
  }
  requireRevision(page, creation)
  requireActiveGroup(page)
  const dropped = droppedFor(tally)
  const publication = planPublication(publish, publishAt, nowMs)
  if (publication.publishAt !== null) requirePlaceForSchedule(page, publication.publishAt)
  const { supplementaryContext = latest.supplementaryContext } = creation
  const added: NewVersionRow = {
    versionId: newId('pageversion', latest.versionId),
    versionNumber: latest.versionNumber + 1,
    supplementaryContext,
    computedName: naming
      ? firstWords(supplementaryContext) || nameInGroup(naming.groupTitle, naming.pageNumber)
      : latest.computedName,
    content: content === undefined ? (newest?.content ?? null) : content,
    ...publication,
    idempotencyKey,
    requestHash,
    createdAt: isoTime(nowMs),
  }
  // The page shows the name of its published version, or that of its newest one until there is a published one.
  const edit = { added, dropped, computedName: published === null ? added.computedName : computedName }
  return { edit, answer: creationOf(creation, added, false) }
}

/** The version that makes room for another one; null if there is room. Refuses `limit_reached`. */
const droppedFor = (tally: VersionTally | null): string | null => {
  if (tally === null || tally.count < VERSIONS_MAX) return null
  const detail = 'A page has at most 1,000 versions, and each of these is published, scheduled or processing.'
  return tally.oldestSpare ?? refuse('limit_reached', detail)
}

/** The fields that two requests under one key must share, besides their content. */
type SameRequest = Named<Omit<NewVersion, 'content' | 'idempotencyKey'>>

/** The hash of a request under an idempotency key; null without a key. */
const requestHashIn = (creation: VersionToCreate): string | null => {
  const { idempotencyKey, supplementaryContext, content, publish, publishAt } = creation
  if (idempotencyKey === undefined) return null
  const same: SameRequest = { supplementaryContext, publish, publishAt }
  return requestHashOf(same, content ? canonical(content) : { rawJson: String(content) })
}

const creationOf = (
  { tenantId, pageGroupId, pageId }: PageKey,
  { versionId, versionNumber, createdAt }: CreatedByKey,
  replayed: boolean,
): VersionCreation => ({
  value: { versionId, versionNumber, pageId, pageGroupId, tenantId, createdAt, status: 'processing' },
  replayed,
})
