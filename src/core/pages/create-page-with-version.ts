import { canonical } from '../../json/canonical-json.ts'
import type { RawJson } from '../../shapes/json.ts'
import type { CreatedPage, NewPage } from '../../shapes/page.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { pageGroupNotFound, refuse } from '../engine/failures.ts'
import { type Named, requestHashOf, requireSame } from '../engine/keys.ts'
import type { Replayable } from '../engine/result.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { KnownForNewPage, NewPageRow, PagesToCreate } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import type { NewId, Timestamp } from '../ports/world.ts'
import { firstWords, oneLine } from './first-words.ts'
import { planPublication } from './schedules.ts'
import { requireFreeSlug } from './slugs.ts'

export type PageToCreate = Omit<NewPage, 'content' | 'publish'> &
  Requester &
  Pick<NewPageRow, 'tenantId' | 'pageGroupId'> & {
    /** The text of a JSON object. */
    readonly content?: RawJson | undefined
    /** By default true. */
    readonly publish?: boolean | undefined
    readonly idempotencyKey?: string | undefined
  }
type Deps = Omit<Needs<never>, 'store'> & { readonly store: { readonly pages: PagesToCreate } }
/** A page that was created. */
export type PageCreation = Replayable<CreatedPage>

/**
 * Creates a page with a version 1 in `processing` for a publisher to claim; it is published then, or at `publishAt` if
 * that is in the future, unless `publish` is false. The page has a computed name from the first moment. Its texts are
 * not checked: `createService` does that.
 *
 * Refuses `page_group_not_found`, `page_group_not_active`, `slug_taken`, `idempotency_key_reused`, and `invalid_request`:
 * the time, or a time although the version will not be published.
 */
export const createPageWithVersion =
  ({ store, clock, newId }: Deps) =>
  (input: PageToCreate): Promise<PageCreation> => {
    const { tenantId, pageGroupId, idempotencyKey, slug, supplementaryContext = null } = input
    const words = firstWords(supplementaryContext)
    const lookup = { tenantId, pageGroupId, idempotencyKey, slug }
    return decideAndSave({
      recall: (wasOvertaken) => store.pages.recall({ ...lookup, wasOvertaken }),
      decide: (known) => decide(input, words, known, isoTime(clock()), newId),
      record: (row) => store.pages.record(row, [eventOf(row, newId)]),
    })
  }

type CreatedRow = NewPageRow & Requester

const decide = (
  input: PageToCreate,
  words: string,
  { group, page: replayedPage, slugOwnerId }: KnownForNewPage,
  now: Timestamp,
  newId: NewId,
): { readonly answer: PageCreation; readonly change: CreatedRow | null } => {
  if (group === null) return pageGroupNotFound()
  const requestHash = requestHashIn(input)
  if (replayedPage !== null) {
    requireSame(replayedPage, requestHash, { pageId: replayedPage.pageId })
    return { answer: { value: createdPageOf(replayedPage), replayed: true }, change: null }
  }
  if (group.status !== 'active')
    refuse('page_group_not_active', 'The page group is archived and accepts no new pages.')
  requireFreeSlug(slugOwnerId)
  const { publish = true, publishAt } = input
  const row: CreatedRow = {
    tenantId: input.tenantId,
    apiKeyId: input.apiKeyId,
    pageGroupId: input.pageGroupId,
    pageId: newId('page'),
    customName: input.customName ?? null,
    slug: input.slug ?? null,
    computedName: words || oneLine(group.title),
    groupTitle: words === '' ? group.title : null,
    supplementaryContext: input.supplementaryContext ?? null,
    content: input.content ?? null,
    ...planPublication(publish, publishAt, Date.parse(now)),
    idempotencyKey: input.idempotencyKey ?? null,
    requestHash,
    versionId: newId('pageversion'),
    versionNumber: 1,
    createdAt: now,
    updatedAt: now,
  }
  return { answer: { value: createdPageOf(row), replayed: false }, change: row }
}

/** The fields that two requests under one key must share. */
type SameRequest = Named<Omit<NewPage, 'content' | 'idempotencyKey'>>

/** The hash of a request under an idempotency key; null without a key. */
const requestHashIn = (input: PageToCreate): string | null => {
  if (input.idempotencyKey === undefined) return null
  const { supplementaryContext, customName, slug, publish = true, publishAt } = input
  const same: SameRequest = { supplementaryContext, customName, slug, publish, publishAt }
  return requestHashOf(same, input.content && canonical(input.content))
}

const eventOf = (row: CreatedRow, newId: NewId) => {
  const { pageGroupId, pageId, createdAt } = row
  return newEvent(newId, { type: 'page.created', sender: row, ids: { pageGroupId, pageId }, createdAt })
}

/** The fields of a page that the answer shows, new or recalled. */
const createdPageOf = (
  page: Pick<NewPageRow, 'pageId' | 'pageGroupId' | 'tenantId' | 'createdAt'>,
): CreatedPage => ({
  pageId: page.pageId,
  pageGroupId: page.pageGroupId,
  tenantId: page.tenantId,
  createdAt: page.createdAt,
  status: 'processing',
})
