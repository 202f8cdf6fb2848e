import type { RawJson } from '../../shapes/json.ts'
import type { CreatedPage, NewPage } from '../../shapes/page.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { pageGroupNotFound, refuse } from '../engine/failures.ts'
import { earlierRequests, keyOf, requestHashOf } from '../engine/keys.ts'
import { attemptEach, type Outcome } from '../engine/outcome.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { PageGroupRead } from '../ports/page-groups.ts'
import type { KnownPages, NewPageRow } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'
import type { NewId, Recorded } from '../ports/world.ts'
import { firstWords, nameInGroup } from './first-words.ts'
import type { HandOver } from './hand-over.ts'
import { publicationOf } from './schedules.ts'

export type PageToCreate = Omit<NewPage, 'content' | 'publish'> &
  Requester &
  Pick<NewPageRow, 'tenantId' | 'pageGroupId'> & {
    /** The text of a JSON object. */
    readonly content?: RawJson | undefined
    /** By default true. */
    readonly publish?: boolean | undefined
    readonly idempotencyKey?: string | undefined
  }
/** `replayed`: the same request was already made under this idempotency key, and this is its first answer. */
export type PageCreation = { readonly page: CreatedPage; readonly replayed: boolean }

/**
 * Creates pages, many at once, each with a version 1 in `processing` for a publisher to claim; it is published then, or
 * at `publishAt` if that is in the future, unless `publish` is false. The page has a computed name from the first
 * moment. Its texts are not checked: `createService` does that.
 *
 * Refuses, per page: `page_group_not_found`, `page_group_not_active`, `idempotency_key_reused`, and `invalid_request`:
 * the time, or a time although the version will not be published.
 */
export const createPagesWithVersion = ({ store, clock, newId, handOver }: Deps) => {
  const active = new Set<string>()
  /** Whether a page needs no look-up: the write checks its group again and numbers the page. */
  const isSure = ({ groupKey, words, idempotencyKey }: Named): boolean =>
    idempotencyKey === undefined && words !== '' && active.has(groupKey)

  const recall = async (inputs: readonly Named[]): Promise<KnownPages> => {
    const unsure = inputs.filter((input) => !isSure(input))
    // Each group once, however many pages it gets.
    const groups = byGroup(unsure)
    const assumed = [...byGroup(inputs)]
      .filter(([key]) => !groups.has(key))
      .map(([, input]) => assumedGroup(input))
    if (unsure.length === 0) return { groups: assumed, pages: [] }
    const keys = unsure.flatMap(({ tenantId, pageGroupId, idempotencyKey }) =>
      idempotencyKey === undefined ? [] : [{ tenantId, pageGroupId, idempotencyKey }],
    )
    const known = await store.pages.recall({ groups: [...groups.values()], keys })
    return { ...known, groups: [...known.groups, ...assumed] }
  }

  const record = async (pages: readonly CreatedRow[]): Promise<Recorded> => {
    const save = (pages: readonly CreatedRow[]) =>
      store.pages.record(
        pages,
        pages.map((page) => eventOfPage(newId, page)),
      )
    const recorded = await (handOver?.record(pages, save) ?? save(pages))
    if (active.size >= ACTIVE_MAX) active.clear()
    for (const page of pages)
      if (recorded === 'recorded') active.add(groupKeyOf(page))
      else active.delete(groupKeyOf(page))
    return recorded
  }

  return async (inputs: readonly PageToCreate[]): Promise<readonly Outcome<PageCreation>[]> => {
    const now = isoTime(clock())
    return decideAndSave(inputs.map(withName), {
      recall,
      decide: (inputs, known) => decide(inputs, known, now, newId),
      record,
    })
  }
}

type Deps = Needs<'pages'> & {
  /** To the publisher of this process. */
  readonly handOver?: HandOver | undefined
}

/** Groups that got a page, and are assumed to be active still. */
const ACTIVE_MAX = 10_000
/** A page to create, with values that are needed several times. */
const withName = (input: PageToCreate) => ({
  ...input,
  groupKey: groupKeyOf(input),
  words: firstWords(input.supplementaryContext ?? null),
})
type Named = ReturnType<typeof withName>
const byGroup = (inputs: readonly Named[]) => new Map(inputs.map((input) => [input.groupKey, input]))
const assumedGroup = ({ tenantId, pageGroupId }: PageGroupRead) => {
  return { tenantId, pageGroupId, status: 'active' as const, title: '', pagesCount: Number.NaN }
}

const groupKeyOf = ({ tenantId, pageGroupId }: PageGroupRead) => keyOf(tenantId, pageGroupId)

/** Null if the group was assumed: the store takes the next number. */
const numberOf = (count: number) => (Number.isNaN(count) ? null : count)

/** Decides a list. Pure. A page sees the decisions for those before it in the list. */
const decide = (inputs: readonly Named[], known: KnownPages, now: string, newId: NewId) => {
  const groups = new Map(known.groups.map((group) => [groupKeyOf(group), { ...group }]))
  const earlier = earlierRequests<Created>(
    known.pages.map((page) => [keyOf(page.tenantId, page.pageGroupId, page.idempotencyKey), page]),
    ({ pageId }) => ({ pageId }),
  )
  const rows: CreatedRow[] = []

  const createOne = (input: Named): PageCreation => {
    const { tenantId, pageGroupId, customName = null, supplementaryContext = null } = input
    const { idempotencyKey = null, content, publish = true, publishAt } = input
    const group = groups.get(input.groupKey)
    if (group === undefined) return pageGroupNotFound()

    // Only non-default values are part of the hash: older versions knew neither.
    const times = publishAt === undefined ? [] : [publishAt]
    const fields = [supplementaryContext, customName, ...times, ...(publish ? [] : ['draft'])]
    const key = idempotencyKey === null ? null : keyOf(tenantId, pageGroupId, idempotencyKey)
    const requestHash = key === null ? null : requestHashOf(fields, content)
    const first = earlier.find(key, requestHash)
    if (first !== undefined) return { page: createdPageOf(first), replayed: true }

    if (group.status !== 'active')
      refuse('page_group_not_active', 'The page group is archived and accepts no new pages.')
    const publication = publicationOf(publish, publishAt, Date.parse(now))
    // Last, so that a refused page takes no number.
    const pageNumber = numberOf(++group.pagesCount)
    const row: CreatedRow = {
      tenantId,
      apiKeyId: input.apiKeyId,
      pageGroupId,
      pageId: newId('page'),
      customName,
      computedName: input.words || nameInGroup(group.title, pageNumber),
      pageNumber,
      supplementaryContext,
      content: content ?? null,
      ...publication,
      idempotencyKey,
      requestHash,
      versionId: newId('pageversion'),
      versionNumber: 1,
      createdAt: now,
      updatedAt: now,
    }
    rows.push(row)
    earlier.add(key, row)
    return { page: createdPageOf(row), replayed: false }
  }

  const outcomes = attemptEach(inputs, createOne)
  return { outcomes, changes: rows.length === 0 ? null : rows }
}

type CreatedRow = NewPageRow & Requester
const eventOfPage = (newId: NewId, row: CreatedRow) => {
  const { pageGroupId, pageId, createdAt } = row
  return newEvent(newId, 'page.created', row, { pageGroupId, pageId }, createdAt)
}

/** The fields of a page that the answer shows, new or recalled. */
type Created = Pick<NewPageRow, 'pageId' | 'pageGroupId' | 'tenantId' | 'createdAt' | 'requestHash'>
const createdPageOf = (page: Created): CreatedPage => ({
  pageId: page.pageId,
  pageGroupId: page.pageGroupId,
  tenantId: page.tenantId,
  createdAt: page.createdAt,
  status: 'processing',
})
